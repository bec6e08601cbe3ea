"""Dumps in rows: an offset, words in some radix, perhaps the same bytes as text."""

from collections.abc import Iterator
from typing import Final

from wirelens.codecs.captures.pasting.cutting import Part, split_parts
from wirelens.codecs.captures.pasting.dump import Dump
from wirelens.codecs.captures.pasting.packets import capture_of, is_no_frame, time_of
from wirelens.codecs.captures.pasting.source import Pasted, Source

PACKETS: Final = "packets"  # the form of a text that is read as a capture: its bytes are a pcap file


def read_rows(source: Source, forced: str = "") -> Pasted | None:
    """A dump in rows with offsets. `forced`: "dump", "dump-le" (words little-endian), "client", "server",
    "packets".
    """
    parts = split_parts(source)
    if parts is None:
        return None
    if not parts:
        return None
    if forced in ("client", "server"):
        side = "=>" if forced == "client" else "<="
        parts = [part for part in parts if part.side == side]
        if not parts:
            raise source.error("pasted-mismatch", 0, f"the text has no rows of the {forced}'s side")
    sides = {part.side for part in parts}
    if len(sides) > 1:
        other = next(part for part in parts if part.side != parts[0].side)
        raise source.error_in(
            other.rows[0].index,
            0,
            "pasted-several",
            "the text holds both directions of a conversation: choose the form `client` or `server`",
        )
    packets = forced == PACKETS or (not forced and (len(parts) > 1 or parts[0].title != ""))
    if packets and not parts[0].side:
        found = [(part, _frame(source, part)) for part in parts if not is_no_frame(part.title)]
        frames = [(frame, time_of(part.head)) for part, frame in found if frame is not None]
        if not forced and any(frame is None and not part.title for part, frame in found):
            frames = []
        capture = capture_of(frames)
        if capture is not None:
            return Pasted(capture, PACKETS)
    if forced == PACKETS:
        return None
    if len(parts) > 1 and not parts[0].side:
        text = f"the text holds {len(parts)} dumps, and not of IP packets: paste one"
        raise source.error_in(parts[1].rows[0].index, 0, "pasted-several", text)
    data = bytearray()
    form = "dump"
    for part in parts:
        result = Dump(source, part, forced).read()
        if result is None:
            return None
        data += result[0]
        form = result[1] if form == "dump" else form
    return Pasted(bytes(data), forced or form)


def _frame(source: Source, part: Part) -> bytes | None:
    result = Dump(source, part, "").read()
    return None if result is None else result[0]


def iter_forms() -> Iterator[tuple[str, str]]:
    """Names of the forms of this module, each with one line of help."""
    yield "dump", "rows of offset and words, as xxd, hexdump, od, tcpdump, Wireshark and debuggers print"
    yield "dump-le", "the same, words being little-endian numbers"
    yield PACKETS, "packets as tcpdump -x and tshark -x print, or as TShark exports them: read as a capture"
    yield "client", "a dump of both directions: the side without indent, or sent"
    yield "server", "a dump of both directions: the indented side, or received"
    yield "text-column", "hex without offsets, the same bytes as text next to or after it"
