"""A frame for people: command and summary, its part in a conversation, what its numbers mean."""

from typing import Final

from wirelens.codecs import tape as t
from wirelens.codecs.codec import CallFacts, Exchange
from wirelens.codecs.magline import vocabulary as v
from wirelens.codecs.node import Node
from wirelens.codecs.words import count

SPECIFIED_KINDS: Final = tuple(v.COMMANDS.values())
DEPLOYED_KINDS: Final = tuple(v.DEPLOYED_COMMANDS.values())

# What a frame with the deployed head does.
_ACTIONS: Final[dict[int, str]] = {
    v.OLD_SYN: "the client opens; ACK answers",
    v.OLD_ACK: "the server accepts the SYN",
    v.SESSION_REQ: "the client asks for a session",
    v.SESSION_RSP: "the server gives a session",
    v.CONFIRM: "confirmed",
    v.ERROR_MSG: "error",
    v.DISCONN_REQ: "the client asks to disconnect",
    v.DISCARD: "the server discards the session",
    v.KNOT_CONN_REQ: "the knot connects with its access key",
    v.KNOT_CONN_RSP: "the knot is accepted",
    v.KNOT_AGENT_ARRIVE_REQ: "an agent arrives",
    v.KNOT_AGENT_ARRIVE_RSP: "the knot takes the agent",
    v.KNOT_AGENT_QUIT: "the agent quits",
    v.KNOT_DISCARD_AGENT: "the knot discards the agent",
}
# What the conversation makes of a message: see Codec.context
FIRST: Final = "first"
AGAIN: Final = "again"
REFUSAL: Final = "refusal"
FAILURE: Final = "failure"
AFTER_REFUSAL: Final = "after refusal"
_OPENINGS: Final = {
    FIRST: "the client opens a session",
    AGAIN: "the client asks for a session again, as after a break",
}
# Its role and key in a conversation; the key "agent" is followed by the agent's id.
_EXCHANGES: Final[dict[int, tuple[str, str]]] = {
    v.OLD_SYN: ("request", "connection"),
    v.OLD_ACK: ("reply", "connection"),
    v.SESSION_REQ: ("request", "session"),
    v.SESSION_RSP: ("reply", "session"),
    v.KNOT_CONN_REQ: ("request", "knot"),
    v.KNOT_CONN_RSP: ("reply", "knot"),
    v.KNOT_AGENT_ARRIVE_REQ: ("request", "agent"),
    v.KNOT_AGENT_ARRIVE_RSP: ("reply", "agent"),
}


def kind(root: Node) -> str:
    """The command's name."""
    cmd = root.member("cmd")
    return "frame" if cmd is None else cmd.shown


def specified_context(root: Node, before: str | None, answered: str) -> str:
    """See Codec.context: the place of SYN, ERR and FIN in the course of the connection."""
    cmd = root.number_of("cmd")
    if cmd == v.SYN and before is not None:
        return AGAIN if before else FIRST
    if cmd == v.ERR and answered:
        return REFUSAL if answered == "connection" else FAILURE
    return AFTER_REFUSAL if cmd == v.FIN and before == REFUSAL else ""


def specified_summary(root: Node, context: str = "") -> str:
    """The command, its sequence number, and its part in the course of the connection."""
    cmd = root.number_of("cmd")
    seq = root.number_of("seq")
    body = root.member("body")
    if body is None:
        return kind(root)
    frame = f"{kind(root)} seq {seq}"
    if any(part.kind == t.FAULT for part in body):
        return f"{frame}: the body is cut, {_size(body, 'data')}"
    if cmd == v.SYN:
        widths = f"random {_size(body, 'random')}, key {_size(body, 'public_key')}"
        action = _OPENINGS.get(context, "the client opens, or resumes after a break")
        return f"{frame}: {action} ({widths}); ACK answers, or ERR and FIN"
    if cmd == v.ACK:
        return f"{frame}: the server accepts the SYN (sealed session id, {_size(body, 'sealed')})"
    if cmd == v.ERR:
        numbers = f"business {body.number_of('business_cmd')}, error {body.number_of('error')}"
        if context == REFUSAL:
            return f"{frame}: {numbers}; refuses the session, and FIN follows"
        if context == FAILURE:
            return f"{frame}: {numbers}; answers REQ with seq {seq}"
        return f"{frame}: {numbers}; answers REQ with seq {seq}, or refuses SYN, and FIN follows"
    if cmd == v.PIN:
        return f"{frame}: ping {body.number_of('ping')}; PON answers"
    if cmd == v.PON:
        return f"{frame}: pong {body.number_of('ping')}"
    if cmd == v.FIN:
        when = " after refusing the session" if context == AFTER_REFUSAL else ""
        return f"{frame}: the sender ends the connection{when}, reason {body.number_of('reason')}"
    if v.REQ <= cmd <= v.PSH:
        frame += f": business {body.number_of('business_cmd')}, {_size(body, 'data')}"
        if cmd == v.REQ:
            return f"{frame}; REP with seq {seq} answers"
        return f"{frame}; answers REQ with seq {seq}" if cmd == v.REP else f"{frame}; pushed, no answer"
    return f"{frame}: {_size(body, 'data')}"


def specified_annotation(node: Node) -> str:
    """What keys and sealed parts are."""
    name = node.field.name
    if name == "sealed":
        return "AES(K + session id)"
    if name == "hmac":
        size = len(node.content)
        return "" if size == v.CODE_SIZE else f"{size} of 16 bytes"
    if name == "public_key" and len(node.content) == v.KEY_SIZE:
        return "X25519"
    if name == "byte_order":
        return "by evidence: the text leaves it open"
    return ""


def specified_exchange(root: Node) -> Exchange:
    """REP or ERR answers the REQ with its Seq, ACK or ERR the SYN, PON the PIN with its number."""
    cmd = root.number_of("cmd")
    body = root.member("body")
    if cmd == v.SYN:
        return Exchange("request", "connection")
    if cmd == v.ACK:
        return Exchange("reply", "connection")
    if cmd == v.ERR:
        return Exchange("reply", "connection", first_key=f"seq {root.number_of('seq')}")
    if cmd == v.REQ or cmd == v.REP:
        return Exchange("request" if cmd == v.REQ else "reply", f"seq {root.number_of('seq')}")
    if (cmd == v.PIN or cmd == v.PON) and body is not None and body.member("ping") is not None:
        return Exchange("request" if cmd == v.PIN else "reply", f"ping {body.number_of('ping')}")
    return Exchange("")


def specified_call(root: Node) -> CallFacts:
    """The business command of a REQ, of other requests the frame's command; the number of an ERR."""
    cmd = root.number_of("cmd")
    body = root.member("body")
    number = str(root.number_of("seq"))
    if body is None:
        return CallFacts(id=number)
    if cmd == v.REQ:
        business = body.member("business_cmd")
        return CallFacts(method=kind(root) if business is None else str(business.number), id=number)
    if cmd == v.PIN or cmd == v.PON:
        return CallFacts(method=kind(root) if cmd == v.PIN else "", id=str(body.number_of("ping")))
    if cmd == v.SYN:
        return CallFacts(method=kind(root), id=number)
    if cmd == v.ERR:
        error = body.member("error")
        return CallFacts(status="" if error is None else error.shown, failed=True, id=number)
    return CallFacts(id=number)


def deployed_summary(root: Node) -> str:
    """The command, its sequence number, and its part in the course of the connection."""
    body = root.member("body")
    frame = f"{kind(root)} seq {root.number_of('seq')}"
    if body is None:
        return frame
    action = _ACTIONS.get(root.number_of("cmd"), "")
    agent = _agent(body)
    if agent is not None:
        action += f", agent 0x{agent.number:08x}"
    errno = body.member("errno")
    if errno is not None and errno.kind == t.INTEGER:
        action += f", errno {errno.number}"
    status = body.member("status")
    if status is not None:
        action += f" ({v.STATUSES.get(status.number, f'status {status.number}')})"
    if body.member("payload") is not None:
        action += f", {_size(body, 'payload')}"
    return f"{frame}: {action.removeprefix(', ')}" if action else frame


def deployed_annotation(node: Node) -> str:
    """Who writes a version, what a status refers to, an agent's id in hex."""
    name = node.field.name
    if name == "version" and node.parent is not None and node.parent.parent is None:
        return {v.GO_VERSION: "Go", v.C_VERSION: "C client"}.get(node.number, "")
    if name == "status":
        return v.STATUSES.get(node.number, "")
    if name in ("agent_id", "AgentID"):
        return f"0x{node.number:08x}"
    return ""


def deployed_exchange(root: Node) -> Exchange:
    """SYN and ACK, session request and response, the knot's requests and responses."""
    cmd = root.number_of("cmd")
    body = root.member("body")
    role, key = _EXCHANGES.get(cmd, ("", ""))
    if body is None:
        return Exchange(role, key)
    if key == "agent":
        return Exchange(role, f"agent {body.number_of('AgentID')}")
    if cmd == v.ERROR_MSG:
        status = body.number_of("status")
        if status in (1, 2):
            return Exchange("reply", "connection" if status == 1 else "session")
    return Exchange(role, key)


def deployed_call(root: Node) -> CallFacts:
    """The command of a request; the errno of a reply."""
    exchange = deployed_exchange(root)
    kind_of_key, _, agent = exchange.key.partition(" ")
    number = agent if kind_of_key == "agent" and agent else str(root.number_of("seq"))
    if exchange.role == "request":
        return CallFacts(method=kind(root), id=number)
    body = root.member("body")
    errno = None if body is None else body.member("errno")
    if errno is None or errno.kind == t.FAULT:
        return CallFacts(id=number, failed=root.number_of("cmd") == v.ERROR_MSG)
    return CallFacts(status=errno.shown, failed=errno.number != 0, id=number)


def _agent(body: Node) -> Node | None:
    """An agent's id: of the fixed layout, or of protobuf."""
    agent = body.member("agent_id")
    return body.member("AgentID") if agent is None else agent


def _size(part: Node, name: str) -> str:
    """The size of a member: "16 bytes"."""
    return count(len(part.content_of(name)), "byte")
