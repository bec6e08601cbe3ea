"""The documentation of the classes that are compiled: compiling drops docstrings."""

CLASSES = {
    "Call": """A request and what came of it; "" or None where something is unknown, _us in microseconds.

    call         its number, from 1, in the order of requests
    protocol, service, method    as the protocol names them
    outcome      "ok", "error", "unanswered", "one-way" or "cancelled"
    status, exception            the status by name; the exception's class, or the error's text
    late         whether it was answered after the client's timeout; None without one, or unanswered
    timed_out    whether it was unanswered for longer than that
    timeout_us, waited_us        the client's timeout; how long an unanswered request was waited for
    client, server, flow, file, point    endpoints, number of the flow, where it was captured
    id, trace    the protocol's id; the id of a distributed trace
    sent_us, answered_us         when request and reply were complete, since 1970
    latency_us   the time between
    request_bytes, response_bytes, request_packets, response_packets, resent_bytes
    request_messages, response_messages  how many messages went each way, of calls that are streams
    open_calls   the other calls that were open on the connection when it was sent
    to_json()    all of these as in `wirelens calls --format jsonl`, as Python objects
    json_bytes() the same as JSON text on one line, in UTF-8
    """,
    "Record": """One message, or a stretch of bytes that is not one.

    protocol     the protocol's id, or "unknown"
    offset       where it starts, in bytes from the start of the input (of its direction, in a capture)
    length       its size in bytes
    kind         what sort of message it is, in one word; "error" or "opaque" if it is not a message
    summary      the message in one line
    root         its tree, a Node; None if it did not decode
    partial      the tree of the part that decoded, with or without an error
    error        a DecodeError, or None
    raw          the bytes of a record with an error, else b""
    notes        legal or tolerated oddities, the most severe first
    damaged      whether any part of it did not decode
    source       where it came from, as the notation has it; None if that is not known
    to_json(plain=False)    the notation, as Python objects; plain is the reading form
    json_text(plain=False)  the notation, as text on one line
    json_bytes(plain=False) the same in UTF-8
    json_parts(plain=False) the same in parts of a MiB or somewhat more, for large messages
    Record.from_json(obj)   the record that the notation's JSON describes; raises EncodeError
    """,
    "Node": """One node of a message: a light view that holds no data of its own.

    name         the member's or field's name, or the position as digits; "" for a root
    kind         one of the kinds of wirelens.codecs.tape; kind_name is the same in a word
    value        None, bool, int, float, str, bytes or an inner error; None for containers
    span         (start, end) in the input, in bytes, end exclusive
    path         its place, as in "body.arguments[0].name"
    raw          its bytes
    type_name    the class of an object, the type of a list or map, or None
    wire         the notation's "$wire", None for the usual form
    children     its shown parts, in stream order; of a map keys and values alternate
    parts()      its parts, hidden ones of the layout included
    node[name]   the child of that name, of a map the value under that key; KeyError
    node[3]      the child at that position; IndexError
    get(name, default=None)  like node[name], or the default
    len(node), iter(node)    its children
    """,
    "Note": """A legal or tolerated oddity: code, offset (absolute, in bytes), text.

    `wirelens protocols --codes` lists the codes.
    """,
    "Candidate": """A protocol with some evidence: protocol, bits, reasons, settle, asked.

    bits is the evidence, asked how much would be enough, settle what more input would settle.
    """,
    "Detection": """What detection found: protocol, equal, candidates, reason, margin, code.

    protocol is "unknown" if no candidate has enough evidence; reason then states why.
    """,
    "WirelensError": "The base class of every error that wirelens raises for its input.",
    "DecodeError": """Bytes that do not decode: code, offset (absolute, in bytes), text, needed.

    incomplete (needed is not 0) means that more input may complete the message.
    """,
    "EncodeError": "JSON that does not describe a message: path (the place in it) and text.",
    "JsonTextError": "Text that is not JSON: text, line and column (from 1), offset (from 0, in characters).",
    "PastedError": "Pasted text that is a known form but damaged, cut or ambiguous: line, column, text.",
    "UnknownProtocolError": "A protocol id that is not in the registry; the text lists those that are.",
}
