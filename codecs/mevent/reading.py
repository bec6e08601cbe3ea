"""A message for people: kind and summary, its part in a conversation, what codes and flags mean."""

from typing import Final

from wirelens.codecs.call_words import error_line
from wirelens.codecs.codec import CallFacts, Exchange
from wirelens.codecs.mevent import hdf
from wirelens.codecs.mevent import vocabulary as v
from wirelens.codecs.node import Node
from wirelens.codecs.words import count

SHOWN_NAMES: Final = 6  # names of variables in a summary


def kind(root: Node) -> str:
    """ "request" or "reply"."""
    return "reply" if root.member("request") is None else "request"


def summary(root: Node) -> str:
    """Id, plugin, command and flags; or id, code and the error's message; then the data's names."""
    request = root.member("request")
    if request is not None:
        flags = request.number_of("flags")
        command = request.number_of("command")
        parts = [f"REQUEST #{request.number_of('id')}", request.shown_of("plugin")]
        parts.append(f"command {command}" + (f" {v.COMMANDS[command]}" if command in v.COMMANDS else ""))
        if flags:
            parts.append(flags_meaning(flags))
        if not flags & v.FLAG_SYNC:
            parts.append("(async)")
        parts.extend(_data(request))
        return " ".join(parts)
    reply = root.member("reply")
    if reply is None:
        return "message"
    code = reply.number_of("code")
    parts = [f"REPLY #{reply.number_of('id')}", str(v.signed_code(code)), code_name(code)]
    error_code = reply.number_of("error_code")
    if error_code:
        parts.append(f"error code {error_code} {code_name(error_code)}")
    parts.extend(_data(reply))
    return " ".join(part for part in parts if part)


def annotate(node: Node) -> str:
    """Names of commands, flags and reply codes."""
    name = node.field.name
    parent = node.parent
    if parent is None or parent.field.name not in ("request", "reply"):
        return ""
    number = node.number
    if name == "command":
        return command_meaning(number)
    if name == "flags":
        meaning = flags_meaning(number)
        if not number & v.FLAG_SYNC:
            meaning += ": no reply expected (typed era: REP_OK at once)"
        return meaning
    if name in ("code", "error_code"):
        return code_meaning(number)
    if name == "eof" and not number:
        return "no end marker"
    return ""


def command_meaning(command: int) -> str:
    """What a command is, also of 2009; above the system's own numbers, that it is the plugin's."""
    name = v.COMMANDS.get(command, "")
    if not name and command in v.COMMANDS_2009:
        name = f"{v.COMMANDS_2009[command]} in 2009; since then the plugin's own"
    if command > v.MAX_SYSTEM_COMMAND:
        name = "the plugin's own"
    return name


def exchange(root: Node) -> Exchange:
    """Requests and replies pair by id; the typed era numbers all with 1, so those pair in order.

    An asynchronous request has no reply; the typed era confirms it at once.
    """
    request = root.member("request")
    if request is not None:
        message_id = request.number_of("id")
        key = "" if message_id == 1 else str(message_id)
        return Exchange("request", key, oneway=not request.number_of("flags") & v.FLAG_SYNC)
    reply = root.member("reply")
    if reply is None:
        return Exchange("")
    message_id = reply.number_of("id")
    code = reply.number_of("code")
    typed = code == v.TYPED_OK or v.TYPED_ERROR <= code < v.REP_OK or v.TYPED_APP <= code < v.FIRST_ERROR
    return Exchange("reply", "" if message_id == 1 else str(message_id), answers_all=typed)


def call(root: Node) -> CallFacts:
    """Plugin and command of a request; code and error of a reply."""
    request = root.member("request")
    if request is not None:
        command = request.number_of("command")
        name = v.COMMANDS.get(command) or str(command)
        oneway = not request.number_of("flags") & v.FLAG_SYNC
        return CallFacts(request.shown_of("plugin"), name, id=str(request.number_of("id")), oneway=oneway)
    reply = root.member("reply")
    if reply is None:
        return CallFacts()
    code = reply.number_of("code")
    variables = reply.member("variables")
    message = "" if variables is None else _error_message(variables)
    failed = message != "" or reply.number_of("error_code") != 0 or _is_error(code)
    return CallFacts(
        status=code_name(code) or str(v.signed_code(code)),
        exception=error_line(message),
        failed=failed,
        id=str(reply.number_of("id")),
    )


def _is_error(code: int) -> bool:
    """Whether a reply code is an error in each era that has it; the application's own codes are not."""
    return (0 < code < v.REP_OK and code != v.TYPED_OK) or code >> 31 != 0


def _error_message(variables: Node) -> str:
    """The error's message among a reply's variables; empty if there is none."""
    for variable in variables:
        tree = variable.member("hdf")
        if tree is None:
            if variable.shown_of("name") == "errmsg":
                return variable.shown_of("value")
            continue
        text = hdf.lookup(tree, "Output.errmsg")
        if text is not None:
            return text.shown
    return ""


def _numbered(code: int, first: int) -> str:
    """The name of a code in an era that counts errors from `first`; empty if none."""
    return v.ERRORS[code - first] if first <= code < first + len(v.ERRORS) else ""


def code_name(code: int) -> str:
    """The short name of a reply code; two if ClearSilver's version decides; empty if none."""
    if 13 <= code <= 24:
        names = [name for name in (_numbered(code, 13), _numbered(code, 14)) if name]
        return " or ".join(names)
    if code in (v.REP_OK, v.TYPED_OK):
        return "REP_OK"
    if _numbered(code, v.TYPED_ERROR):
        return _numbered(code, v.TYPED_ERROR)
    if 25 <= code < v.REP_OK:
        return "REP_ERR_APP"
    return ""


def code_meaning(code: int) -> str:
    """What a reply code means in each era that used it.

    Since 2010 the numbers are assigned at run time, after ClearSilver's own errors: from 13 with 0.10.5,
    from 14 (as in the text) with its trunk. The typed era of 2009 and 2010 counted from 512.
    """
    meanings: list[str] = []
    if code >> 31:
        meanings.append(f"{v.signed_code(code)} in signed numbers")
    if _numbered(code, 13):
        meanings.append(f"{_numbered(code, 13)} with ClearSilver 0.10.5")
    if _numbered(code, 14):
        meanings.append(f"{_numbered(code, 14)} with its trunk, as in the text")
    if 1 <= code < 13:
        meanings.append("an error of ClearSilver itself")
    if code == v.TYPED_OK:
        meanings.append("REP_OK of the typed era")
    if _numbered(code, v.TYPED_ERROR):
        meanings.append(f"{_numbered(code, v.TYPED_ERROR)} of the typed era")
    if 25 <= code < v.REP_OK:
        meanings.append("REP_ERR_APP, the application's own")
    if code == v.REP_OK:
        meanings.append("REP_OK")
    elif v.REP_OK < code < 1 << 31:
        meanings.append("REP_OK with the application's number")
    if v.TYPED_APP <= code < v.FIRST_ERROR:
        meanings.append("REP_ERR_APP of the typed era")
    if v.FIRST_ERROR <= code <= v.LAST_ERROR:
        meanings.append("a system code of May 2009")
    return "; or ".join(meanings)


def flags_meaning(flags: int) -> str:
    """The names of the flags that are set."""
    names = [name for bit, name in ((1, "CACHE_ONLY"), (2, "SYNC")) if flags & bit]
    if flags & ~3:
        names.append(f"0x{flags & ~3:x}")
    return "|".join(names) or "NONE"


def _data(part: Node) -> list[str]:
    """The names of a message's variables for its summary, an error's message first."""
    variables = part.member("variables")
    if variables is None:
        return []
    names: list[str] = []
    message = ""
    for variable in variables:
        tree = variable.member("hdf")
        if tree is None:
            name = variable.shown_of("name")
            if name == "errmsg":
                message = variable.shown_of("value")
            else:
                names.append(name)
            continue
        text = hdf.lookup(tree, "Output.errmsg")
        if text is not None:
            message = text.shown
            trace = hdf.lookup(tree, "Output.errtrace")
            if trace is not None:
                names.append(f"errtrace {count(len(trace.shown.splitlines()), 'line')}")
            continue
        names.extend(item.shown_of("name") for item in tree.first(SHOWN_NAMES + 1))
    parts: list[str] = []
    if message:
        parts.append(f'"{message}"')
    if names:
        parts.append("(" + ", ".join(names[:SHOWN_NAMES]) + (", …" if len(names) > SHOWN_NAMES else "") + ")")
    return parts
