"""wirelens: detect, decode, show and encode the messages of binary RPC protocols.

    import wirelens

    for record in wirelens.decode(data):                 # bytes, bytearray, memoryview or mmap
        print(record.protocol, record.offset, record.summary)
        print(record.root["body"]["method"].value)       # Node: a view of one part of the message

    wirelens.detect(data).protocol                       # "unknown" if no protocol has enough evidence
    wirelens.encode(wirelens.decode(data)) == data       # nothing is lost

A stream that arrives in chunks goes through a `Decoder`. `dumps` and `loads` are the notation's JSON text, of
any nesting. `conversations` gives the messages of a capture, paired, `calls` its calls; `captures` reads
capture files and pasted text. Every error is a `WirelensError`.

This package is interpreted and loads its parts on first use; `wirelens.codecs` holds the same functions
without the conversions of arguments.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from mmap import mmap

    from wirelens.codecs import captures
    from wirelens.codecs.call import Call
    from wirelens.codecs.calls import Calls
    from wirelens.codecs.captures import Reader
    from wirelens.codecs.captures.pasting import PastedError
    from wirelens.codecs.codes import Note
    from wirelens.codecs.conversations import Conversations, Message
    from wirelens.codecs.cursor import DecodeError
    from wirelens.codecs.detection import Candidate, Detection
    from wirelens.codecs.errors import EncodeError, UnknownProtocolError, WirelensError
    from wirelens.codecs.json_text import JsonTextError
    from wirelens.codecs.node import Json, Node
    from wirelens.codecs.record import Record

    Bytes = bytes | bytearray | memoryview | mmap

    __version__: str

__all__ = [
    "Call",
    "Candidate",
    "DecodeError",
    "Decoder",
    "Detection",
    "EncodeError",
    "JsonTextError",
    "Node",
    "Note",
    "PastedError",
    "Record",
    "UnknownProtocolError",
    "WirelensError",
    "__version__",
    "calls",
    "captures",
    "conversations",
    "decode",
    "detect",
    "dumps",
    "encode",
    "encode_text",
    "loads",
]

_HOMES = {
    "Call": "codecs.call",
    "Candidate": "codecs.detection",
    "DecodeError": "codecs.cursor",
    "Detection": "codecs.detection",
    "EncodeError": "codecs.errors",
    "JsonTextError": "codecs.json_text",
    "Node": "codecs.node",
    "Note": "codecs.codes",
    "PastedError": "codecs.captures.pasting",
    "Record": "codecs.record",
    "UnknownProtocolError": "codecs.errors",
    "WirelensError": "codecs.errors",
}


def decode(data: Bytes, protocol: str | None = None) -> list[Record]:
    """Decode a whole input.

    Args:
        data: the bytes. They are copied unless they are of type bytes.
        protocol: the id of a protocol, as `wirelens protocols` lists them. None detects it.

    Returns:
        The records, in order; together they cover every byte of the input. Bytes that do not decode are
        records with an `error`; without enough evidence for any protocol there is one record of protocol
        "unknown".

    Raises:
        UnknownProtocolError: `protocol` is not the id of a protocol.
    """
    from wirelens.codecs.decoder import decode as run

    return run(_bytes_of(data), protocol)


def detect(data: Bytes, other: Bytes = b"", final: bool = True) -> Detection:
    """Find out which protocol the bytes are of.

    Args:
        data: the start of a stream, or all of it. The first 128 KiB count.
        other: the start of the opposite direction of the same connection, if there is one.
        final: whether nothing follows `data`. If not, evidence that depends on the end does not count.

    Returns:
        A Detection: `protocol` ("unknown" if none has enough evidence), `equal` (protocols under which the
        bytes have the same meaning), `candidates` (with evidence in bits and reasons), `reason`.
    """
    from wirelens.codecs.detection import detect as run

    return run(_bytes_of(data), _bytes_of(other), final)


def encode(records: Record | Json | Iterable[Record | Json], protocol: str | None = None) -> bytes:
    """Encode records, or the notation's JSON, to bytes.

    Args:
        records: a record or several, each a `Record` or an object of the notation as `loads` gives it. An
            object with the key "protocol" is a record, any other a bare message.
        protocol: the protocol of bare messages.

    Returns:
        The bytes. For records from `decode` they are the bytes that were decoded.

    Raises:
        EncodeError: the JSON does not describe a message; `path` is the place in it.
        UnknownProtocolError: a protocol's id is not known.
    """
    from wirelens.codecs.encoder import encode as run

    return run(records, protocol)


def encode_text(text: str, protocol: str | None = None) -> bytes:
    """Encode the notation's JSON text to bytes, as `encode(loads(text), protocol)` does.

    Usual values of Hessian 2.0, in the order in which `Record.json_text` shows them, are written as they are
    read, without objects for them, which is several times as fast.

    Args:
        text: one JSON value: a record, a message, or an array of them.
        protocol: the protocol of bare messages.

    Returns:
        The bytes.

    Raises:
        JsonTextError: the text is not JSON, or repeats a name in one object; has line, column and offset.
        EncodeError: the JSON does not describe a message; `path` is the place in it.
        UnknownProtocolError: a protocol's id is not known.
    """
    from wirelens.codecs.encoder import encode_text as run

    return run(text, protocol)


def conversations(chunks: Iterable[Bytes], protocol: str | None = None) -> Iterator[Message]:
    """Decode a capture: its messages in capture order, requests paired with their replies.

    Args:
        chunks: the bytes of a capture file (pcap, pcapng or snoop, gzipped or not) in chunks of any size, or
            of several, one after the other.
        protocol: the id of a protocol. None detects it for each direction of each flow.

    Returns:
        The messages, as the commands show them, each as soon as it is complete; bytes of other protocols are
        left out. A message has `record`, `flow`, `direction` (0: from the client), `time_us` (microseconds
        since 1970, of the packet that completed it), `packets` (their numbers), `pair` (the same text for a
        request and its replies, "" without a counterpart) and `latency_us` (None for all but replies).

    Raises:
        UnknownProtocolError: `protocol` is not the id of a protocol.
    """
    from wirelens.codecs.captures import Reader
    from wirelens.codecs.conversations import Conversations

    if protocol is not None:
        from wirelens.codecs import registry

        registry.entry(protocol)
    return _messages(Reader(), Conversations(protocol), chunks)


def calls(chunks: Iterable[Bytes], protocol: str | None = None) -> Iterator[Call]:
    """The calls of a capture: each request with what came of it.

    Args:
        chunks: the bytes of a capture file, as for `conversations`.
        protocol: the id of a protocol. None detects it for each direction of each flow.

    Returns:
        The calls, each as soon as it is finished: answered, or its connection or the capture has ended. Its
        member `call` is its number in the order of requests, which is that of `wirelens calls`. Durations
        are integers of microseconds, in `to_json()` seconds; None and "" stand for what is unknown.

    Raises:
        UnknownProtocolError: `protocol` is not the id of a protocol.
    """
    from wirelens.codecs.calls import Calls
    from wirelens.codecs.captures import Reader
    from wirelens.codecs.conversations import Conversations

    if protocol is not None:
        from wirelens.codecs import registry

        registry.entry(protocol)
    reader = Reader()
    reader.assembler.observe()
    return _calls(reader, Conversations(protocol, sources=False), Calls(), chunks)


def dumps(value: Json) -> str:
    """JSON text of Python objects, on one line, of any nesting; lone surrogates are escaped."""
    from wirelens.codecs.json_text import dumps as run

    return run(value)


def loads(text: str) -> Json:
    """Python objects of a JSON text, of any nesting.

    Raises:
        JsonTextError: the text is not JSON, or repeats a name in one object; has line, column and offset.
    """
    from wirelens.codecs.json_text import loads as run

    return run(text)


class Decoder:
    """Decodes a stream that arrives in chunks; keeps at most one incomplete message.

    The same bytes give the same records in chunks of any size.
    """

    def __init__(self, protocol: str | None = None, base: int = 0, other: Bytes = b"") -> None:
        """Start a stream.

        Args:
            protocol: the id of a protocol. None detects it once, from the first bytes.
            base: the offset of the stream's first byte, in bytes; records count from it.
            other: the start of the opposite direction, as a help for detection.

        Raises:
            UnknownProtocolError: `protocol` is not the id of a protocol.
        """
        from wirelens.codecs.decoder import Decoder as Native

        self._decoder = Native(protocol, base, _bytes_of(other))

    @property
    def protocol(self) -> str:
        """The protocol in use; "unknown" until it is detected, or if it is not."""
        return self._decoder.protocol

    @property
    def detection(self) -> Detection | None:
        """The Detection that was used; None before it, or if the protocol was given."""
        return self._decoder.detection

    def feed(self, chunk: Bytes) -> list[Record]:
        """Take the next bytes. Returns the records that they complete."""
        return self._decoder.feed(_bytes_of(chunk))

    def gap(self, size: int) -> list[Record]:
        """Note that `size` bytes of the stream are missing here. Returns the records of what came before."""
        return self._decoder.gap(size)

    def close(self, last: Bytes = b"") -> list[Record]:
        """End the stream, after the bytes `last`. Returns the records of what is left."""
        return self._decoder.close(_bytes_of(last))

    def __repr__(self) -> str:
        return f"<Decoder {self.protocol}>"


def _messages(reader: Reader, conversing: Conversations, chunks: Iterable[Bytes]) -> Iterator[Message]:
    from wirelens.codecs.conversations import known_messages

    for chunk in chunks:
        for pieces in reader.steps(_bytes_of(chunk)):
            yield from known_messages(conversing.feed(pieces))
    yield from known_messages(conversing.feed(reader.close()))
    yield from known_messages(conversing.close())


def _calls(
    reader: Reader, conversing: Conversations, following: Calls, chunks: Iterable[Bytes]
) -> Iterator[Call]:
    for chunk in chunks:
        for pieces in reader.steps(_bytes_of(chunk)):
            yield from following.feed(conversing.feed(pieces), pieces)
    pieces = reader.close()
    yield from following.feed(conversing.feed(pieces), pieces)
    yield from following.close(conversing.close())


def _bytes_of(data: Bytes) -> bytes:
    return data if isinstance(data, bytes) else bytes(memoryview(data))


def __getattr__(name: str) -> object:
    value: object
    if name == "captures":
        value = import_module("wirelens.codecs.captures")
    elif name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            value = version("wirelens")
        except PackageNotFoundError:  # the files as they are, not installed
            value = "unknown"
    elif name in _HOMES:
        value = getattr(import_module(f"wirelens.{_HOMES[name]}"), name)
        _document(name, value)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _document(name: str, value: object) -> None:
    """Give a class that is compiled the documentation that compiling dropped."""
    if isinstance(value, type) and not value.__doc__:
        from wirelens.reference import CLASSES

        value.__doc__ = CLASSES[name]
