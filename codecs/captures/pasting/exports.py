"""Packets as TShark exports them: JSON (-T json, jsonraw, ek), PDML, named columns (-T fields), -V with -x.

Each becomes a capture file. If the export has whole frames (-x), they are taken; otherwise packets of TCP
and UDP are made from addresses, ports, numbers and payload. A text that clearly is such an export but has no
bytes is refused, with the options that give them.
"""

import struct
from collections.abc import Iterator
from datetime import UTC, datetime
from ipaddress import ip_address
from json import JSONDecodeError, JSONDecoder
from struct import Struct
from typing import Final

from wirelens.codecs.captures.pasting.packets import capture_of
from wirelens.codecs.captures.pasting.patterns import lazy_pattern
from wirelens.codecs.captures.pasting.rows import PACKETS
from wirelens.codecs.captures.pasting.source import Pasted, Source

FRAME: Final = "frame_raw"
TIME: Final = "frame.time_epoch"
PAYLOADS: Final = ("tcp.payload", "udp.payload", "data.data", "data")
_FIELDS: Final = (
    TIME,
    "frame.protocols",
    "ip.src",
    "ip.dst",
    "ipv6.src",
    "ipv6.dst",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.seq",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.flags",
    "tcp.len",
    "udp.srcport",
    "udp.dstport",
    "udp.length",
    *PAYLOADS,
)
_BYTES: Final = frozenset([FRAME, *PAYLOADS])

_TCP: Final = Struct(">HHIIBBHHH")
_UDP: Final = Struct(">HHHH")
_IPV4: Final = Struct(">BBHHHBBH")
_IPV6: Final = Struct(">IHBB")
FIN: Final = 1
PUSH_ACK: Final = 0x18

_START: Final = lazy_pattern(r'\s*(?:\[\s*\{\s*"_index"\s*:|\{\s*"index"\s*:\s*\{|\{\s*"timestamp"\s*:)')
_SPACE: Final = lazy_pattern(r"[\s,]*")
_NO_XML: Final = lazy_pattern(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]"
)  # no characters of XML
_NAME: Final = lazy_pattern(r"_?[a-z][a-z0-9_]*(?:\.[A-Za-z0-9_]+)+|data")
_HEX: Final = lazy_pattern(r"(?:[0-9A-Fa-f]{2}:?)*")
_DETAIL: Final = lazy_pattern(r"Frame \d+: \d+ bytes on wire \(\d+ bits\), (\d+) bytes captured.*")
_EPOCH: Final = lazy_pattern(r"\s+(?:Epoch Arrival |Epoch )Time: (\d+\.\d+)(?: seconds)?")
_DETAIL_ROW: Final = lazy_pattern(r"([0-9a-f]{4,8})  ((?:[0-9a-f]{2} ){0,15}[0-9a-f]{2})(?: .*)?")
_DETAIL_BUFFER: Final = lazy_pattern(r"([A-Z][\w -]*) \(\d+ bytes\):")
_ONE_LINE: Final = lazy_pattern(
    r"\s*\d+\s+[\d.]+\s+\S+\s+(?:→|->)\s+\S+\s+\S.*"
    r"|(?:\d\d:\d\d:\d\d|\d{9,10})\.\d+ IP6? \S+\.\d+ > \S+\.\d+: .*"
)

# The wanted fields of a packet by name; the last one if a name comes several times
Packet = dict[str, str]


class _Pairs(list[tuple[str, object]]):
    """A JSON object with all its members: TShark writes a layer that comes twice under the same name."""


def _names() -> dict[str, str]:
    """The fields by each name that they have: `tcp.len`, `tcp_tcp_len` of -T ek, `tcp_len` of it with -e."""
    found = {FRAME: FRAME}
    for name in _FIELDS:
        flat = name.replace(".", "_")
        found[name] = found[flat] = name
        found[f"{name.split('.')[0]}_{flat}"] = name
    return found


_NAMES: Final = _names()


def read_export(source: Source) -> Pasted | None:
    """An export of TShark as a capture; None for other texts. Raises PastedError if bytes are missing."""
    text = source.text
    if _START.match(text):
        return _capture(source, _json_packets(source))
    if text.startswith(("<?xml", "<pdml", "<!--")) and "<pdml" in text[:4096]:
        return _capture(source, _pdml_packets(source))
    if text.startswith(("<?xml", "<psml")) and "<psml" in text[:4096]:
        raise _no_bytes(source, "PSML does not include the bytes of packets")
    if _DETAIL.fullmatch(source.lines[0]):
        return _details(source)
    return _columns(source)


def refuse_listing(source: Source) -> Pasted | None:
    """Raise PastedError for lines that list packets without their bytes; None for any other text."""
    lines = [line for line in source.lines[:20] if line.strip()]
    if lines and all(_ONE_LINE.fullmatch(line) for line in lines):
        raise _no_bytes(source, "a list of packets does not include their bytes")
    return None


def _no_bytes(source: Source, what: str) -> Exception:
    return source.error("pasted-cut", 0, f"{what}: print them with -x, or give the capture file itself")


def _json_packets(source: Source) -> Iterator[Packet]:
    text = source.text
    decoder = JSONDecoder(object_pairs_hook=_Pairs)
    at = _SPACE.match(text)
    position = at.end() if at else 0
    closing = text[position] == "["
    position += closing
    while True:
        at = _SPACE.match(text, position)
        position = at.end() if at else position
        if position >= len(text):
            if closing:
                raise source.error("pasted-cut", len(text), "the list of packets does not end")
            return
        if closing and text[position] == "]" and not text[position + 1 :].strip():
            return
        try:
            value, position = decoder.raw_decode(text, position)
        except (JSONDecodeError, RecursionError) as error:
            place = error.pos if isinstance(error, JSONDecodeError) else position
            raise source.error("pasted-damaged", place, "the JSON of this packet is damaged") from None
        packet = _flat(value)
        if packet is not None:
            yield packet


def _flat(value: object) -> Packet | None:
    """The wanted fields of a packet's JSON, in whatever layer they are; None if it is not a packet."""
    layered = False
    packet: Packet = {}
    stack: list[Iterator[tuple[str, object]]] = [iter(value if isinstance(value, _Pairs) else ())]
    while stack:
        member = next(stack[-1], None)
        if member is None:
            stack.pop()
            continue
        name, inner = member
        layered = layered or name == "layers"
        if isinstance(inner, _Pairs):
            stack.append(iter(inner))
            continue
        known = _NAMES.get(name)
        if isinstance(inner, list):
            if inner and isinstance(inner[0], _Pairs):
                stack.append(iter([("", one) for one in inner]))
                continue
            texts = [one for one in inner if isinstance(one, str)]
            inner = texts[-1] if texts else ""
        if known is not None and isinstance(inner, str):
            packet[known] = inner
    return packet if layered else None


class _Pdml:
    """Takes the wanted fields of packets from the elements of PDML, in whatever layer they are."""

    def __init__(self) -> None:
        self.packets: list[Packet] = []
        self.ended = False

    def start(self, element: str, attributes: dict[str, str]) -> None:
        if element == "packet":
            self.packets.append({})
        elif element == "field" and self.packets:
            name = _NAMES.get(attributes.get("name", ""))
            value = None if name is None else attributes.get("value" if name in _BYTES else "show")
            if name is not None and value is not None:
                self.packets[-1][name] = value

    def end(self, element: str) -> None:
        self.ended = element == "pdml"

    def refuse(self, *_: object) -> None:
        """A document type: what it declares could expand without bounds, and TShark writes none."""
        from xml.parsers.expat import ExpatError

        raise ExpatError("a document type is not part of PDML")


def _pdml_packets(source: Source) -> Iterator[Packet]:
    """The packets of a PDML document; raises PastedError if its XML is cut or damaged."""
    from xml.parsers.expat import ExpatError, ParserCreate, errors  # few texts are XML

    cut = {errors.codes[text] for text in (errors.XML_ERROR_NO_ELEMENTS, errors.XML_ERROR_UNCLOSED_TOKEN)}
    document = _Pdml()
    parser = ParserCreate("utf-8")
    parser.StartElementHandler = document.start
    parser.EndElementHandler = document.end
    parser.StartDoctypeDeclHandler = document.refuse
    data = _NO_XML.sub("\ufffd", source.text).encode()
    try:
        parser.Parse(data, True)
    except ExpatError as error:
        if not document.ended:  # what follows the document does not matter
            if getattr(error, "code", 0) in cut:
                raise source.error("pasted-cut", len(source.text), "the PDML does not end") from None
            place = len(data[: parser.CurrentByteIndex].decode(errors="ignore"))
            raise source.error("pasted-damaged", place, f"the PDML is damaged: {error}") from None
    return iter(document.packets)


def _details(source: Source) -> Pasted | None:
    """-V with -x: the meaning of each field, then the bytes."""
    frames: list[tuple[bytes, int | None]] = []
    rows: list[str] = []
    missing: list[str] = []
    missing_at: list[int] = []
    claimed = -1
    title = 0
    time: int | None = None
    skipping = False

    def finish() -> None:
        data = bytes.fromhex("".join(rows))
        if data and len(data) == claimed:
            frames.append((data, time))
        elif data and not missing:
            missing.append(f"{claimed} bytes by this line, but {len(data)} in the rows")
            missing_at.append(title)

    for index, line in enumerate(source.lines):
        found = _DETAIL.fullmatch(line)
        if found:
            finish()
            rows.clear()
            claimed, title, time, skipping = int(found[1]), index, None, False
        elif (row := _DETAIL_ROW.fullmatch(line)) and not skipping:
            if int(row[1], 16) != sum(len(each) + 1 for each in rows) // 3:
                raise source.error_in(index, 0, "pasted-damaged", "the offset does not fit the rows before")
            rows.append(row[2])
        elif buffer := _DETAIL_BUFFER.fullmatch(line):
            skipping = buffer[1] != "Frame"
        elif time is None and (epoch := _EPOCH.fullmatch(line)):
            time = _time(epoch[1])
    finish()
    if not frames:  # the rows of a data layer are not a frame
        raise _no_bytes(source, "these details of packets do not include their bytes")
    if missing:
        raise source.error_in(missing_at[0], 0, "pasted-damaged", missing[0])
    capture = capture_of(frames)
    return None if capture is None else Pasted(capture, PACKETS)


def _columns(source: Source) -> Pasted | None:
    """-T fields: columns with their names in the first line; without the names they are refused."""
    head = source.lines[0]
    if len(head) > 4096 and "\t" not in head:
        return None
    for separator in ("\t", ";", "|", ","):
        names = [_unquoted(name) for name in head.split(separator)]
        if any(name in PAYLOADS for name in names) and all(_NAME.fullmatch(name) for name in names):
            if len(names) > 1 or names[0] != "data":
                return _capture(source, _column_packets(source, separator, names))
    if "\t" in head:
        count = head.count("\t")
        last = [line.rsplit("\t", 1)[1] for line in source.lines if line.count("\t") == count]
        numbered = len(source.lines) == 1 and head.partition("\t")[0].strip().isdigit()
        if len(last) == len(source.lines) and all(_HEX.fullmatch(cell) for cell in last) and not numbered:
            if any(len(cell) >= 32 for cell in last):
                text = (
                    "columns without names: with -E header=y, and the fields ip.src, ip.dst, tcp.srcport,"
                    " tcp.dstport and tcp.payload, they are a capture"
                )
                raise source.error("pasted-several", 0, text)
    return None


def _column_packets(source: Source, separator: str, names: list[str]) -> Iterator[Packet]:
    for index, line in enumerate(source.lines[1:], 1):
        if not line.strip("\r\n"):
            continue
        cells = line.split(separator)
        if len(cells) != len(names):
            text = f"{len(cells)} columns where the first line names {len(names)}"
            raise source.error_in(index, 0, "pasted-damaged", text)
        packet: Packet = {}
        for name, cell in zip(names, cells, strict=True):
            known = _NAMES.get(name)
            value = _unquoted(cell).rsplit(",", 1)[-1]
            if known is not None and value:
                packet[known] = value
        yield packet


def _unquoted(cell: str) -> str:
    return cell[1:-1] if len(cell) > 1 and cell[0] == cell[-1] and cell[0] in "\"'" else cell


def _capture(source: Source, packets: Iterator[Packet]) -> Pasted | None:
    """A capture file of the packets that have bytes."""
    frames: list[tuple[bytes, int | None]] = []
    payloads: list[bytes] = []
    sent: dict[tuple[str, ...], int] = {}  # the next sequence number of a direction, for packets without
    for packet in packets:
        whole = _octets(packet.get(FRAME, ""))
        if not whole:
            whole = _made(packet, sent)
        if whole:
            frames.append((whole, _time(packet.get(TIME, ""))))
            continue
        payload = _payload(packet)
        if payload:
            payloads.append(payload)
    if payloads and not frames:
        if len(payloads) == 1:
            return Pasted(payloads[0], "json")
        text = "payloads without addresses and ports: export ip.src, ip.dst and the ports too, or with -x"
        raise source.error("pasted-several", 0, text)
    capture = capture_of(frames) if frames else None
    if capture is None:
        raise _no_bytes(source, "the export does not include the bytes of IP packets")
    return Pasted(capture, PACKETS)


def _made(packet: Packet, sent: dict[tuple[str, ...], int]) -> bytes:
    """The IP packet that the fields describe; empty if they do not suffice."""
    if "icmp" in packet.get("frame.protocols", ""):
        return b""  # the addresses may be those of the packet that it reports
    try:
        version = "ip" if "ip.src" in packet else "ipv6"
        source = ip_address(packet.get(f"{version}.src", "")).packed
        destination = ip_address(packet.get(f"{version}.dst", "")).packed
        transport = "tcp" if "tcp.srcport" in packet else "udp"
        ports = int(packet[f"{transport}.srcport"]), int(packet[f"{transport}.dstport"])
        payload = _payload(packet)
        if transport == "tcp":
            length = max(int(packet.get("tcp.len", "0")), len(payload))
            way = (packet[f"{version}.src"], packet[f"{version}.dst"], str(ports))
            number = packet.get("tcp.seq_raw") or packet.get("tcp.seq")
            sequence = int(number) if number else sent.get(way, 1)
            flags = int(packet["tcp.flags"], 0) & 0xFF if "tcp.flags" in packet else PUSH_ACK
            sent[way] = sequence + length + (flags & FIN) + (flags >> 1 & 1)  # SYN and FIN count
            words = (sequence & 0xFFFFFFFF, int(packet.get("tcp.ack_raw", "0")) & 0xFFFFFFFF)
            body = _TCP.pack(*ports, *words, 0x50, flags, 0, 0, 0) + payload
            length += 20
        else:
            length = max(int(packet.get("udp.length", "0")), 8 + len(payload))
            body = _UDP.pack(*ports, length, 0) + payload
    except (ValueError, KeyError, struct.error):  # a field that is missing, or has no room
        return b""
    protocol = 6 if transport == "tcp" else 17
    if len(source) != len(destination) or length > 0xFFFF - 40:
        return b""
    if len(source) == 4:
        return _IPV4.pack(0x45, 0, 20 + length, 0, 0, 64, protocol, 0) + source + destination + body
    return _IPV6.pack(0x60000000, length, protocol, 64) + source + destination + body


def _payload(packet: Packet) -> bytes:
    for name in PAYLOADS:
        data = _octets(packet.get(name, ""))
        if data:
            return data
    return b""


def _octets(text: str) -> bytes:
    """The bytes of hex digits, with or without colons; empty for anything else."""
    return bytes.fromhex(text.replace(":", "")) if _HEX.fullmatch(text) else b""


def _time(text: str) -> int | None:
    """Microseconds since 1970 of a time in seconds, or as ISO 8601; None for anything else."""
    seconds, _, fraction = text.partition(".")
    if seconds.isdecimal() and (fraction.isdecimal() or not fraction):
        whole = int(seconds[:12])
        return whole * 1_000_000 + int(f"{fraction:0<6}"[:6]) if whole < 1 << 32 else None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0, min(round(moment.timestamp() * 1_000_000), 0xFFFFFFFF * 1_000_000))
