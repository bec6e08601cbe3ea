"""Several packets in one text, as tcpdump -x and tshark -x print them: a capture file of them.

The frames begin with the link's header or, as tcpdump -x omits that, with IP's: all frames together decide.
Times come from the line before the rows: with a date, or else counted from 1970. Source of the output:
draft-ietf-opsawg-pcap sections 4 and 5.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from struct import Struct
from typing import Final

from wirelens.codecs.captures.pasting.patterns import lazy_pattern

ETHERNET: Final = 1
RAW: Final = 101
COOKED: Final = 113
COOKED2: Final = 276
MPLS: Final = 219
NULL: Final = 0

_FILE: Final = Struct("<IHHIIII")
_RECORD: Final = Struct("<IIII")
_SNAP: Final = 1 << 18
PADDING: Final = 64  # a frame has fewer bytes after the IP packet: padding, a checksum
_SAMPLE: Final = 500  # at most this many frames decide on the link type

_TIME: Final = lazy_pattern(
    r"""\s*(?:\d{1,9}[ ]{1,9})?
    (?:(?P<date>\d{4}-\d\d-\d\d)[ ])?
    (?:(?P<clock>\d\d:\d\d:\d\d)|(?P<seconds>\d{1,10}))[.](?P<fraction>\d{1,9})[ ]""",
    re.X,
)
# tcpdump -ttt and -ttttt: the time since the previous packet, or since the first; it is unknown which
_SINCE: Final = lazy_pattern(r"\s+\d\d:\d\d:\d\d\.\d")
_NO_FRAME: Final = lazy_pattern(r"(?:Reassembled|Decrypted|Uncompressed|De-chunked|Entire|Segment)\b")

_ETHERTYPES: Final = frozenset([0x0800, 0x86DD, 0x8100, 0x88A8, 0x8847, 0x8864])
_IP4: Final = 0x0800
_IP6: Final = 0x86DD
_PROTOCOLS: Final = frozenset([0, 1, 2, 4, 6, 17, 41, 43, 44, 47, 50, 51, 58, 60, 89, 103, 132])
_TYPE_AT: Final = {
    ETHERNET: (12, 14),
    COOKED: (14, 16),
    COOKED2: (0, 20),
}  # EtherType's offset, header's size


def is_no_frame(title: str) -> bool:
    """Whether the rows below `title` are not a frame but what TShark made of several."""
    return _NO_FRAME.match(title.strip()) is not None


def time_of(head: str) -> int | None:
    """Microseconds since 1970 that the line before a packet states; None if it states none."""
    match = _TIME.match(head)
    if match is None or _SINCE.match(head):
        return None
    fraction = int(f"{match['fraction']:0<9}") // 1000
    if match["clock"] is None:
        return min(int(match["seconds"]), 0xFFFFFFFF) * 1_000_000 + fraction
    hours, minutes, seconds = map(int, match["clock"].split(":"))
    whole = hours * 3600 + minutes * 60 + seconds
    if match["date"]:
        try:
            whole += int(datetime.fromisoformat(match["date"]).replace(tzinfo=UTC).timestamp())
        except ValueError:
            return None
    return whole * 1_000_000 + fraction if 0 <= whole < 1 << 32 else None


def capture_of(frames: Sequence[tuple[bytes, int | None]]) -> bytes | None:
    """A pcap file of frames, each with its time in microseconds; None if most of them are not IP packets.

    A day without a date begins again after midnight. The length in a packet's IP header gives what the
    capture cut from its end.
    """
    link = _link_type([frame for frame, _ in frames[:_SAMPLE]])
    if link is None:
        return None
    out = [_FILE.pack(0xA1B2C3D4, 2, 4, 0, 0, _SNAP, link)]
    day = before = 0
    for frame, time in frames:
        time_us = time or 0
        if time is not None and time < 86_400_000_000:
            if time_us + day < before - 43_200_000_000:
                day += 86_400_000_000
            time_us += day
            before = time_us
        out.append(
            _RECORD.pack(time_us // 1_000_000, time_us % 1_000_000, len(frame), _original(link, frame))
        )
        out.append(frame)
    return b"".join(out)


def _link_type(frames: Sequence[bytes]) -> int | None:
    """The link type under which most frames are packets of IP."""
    votes = dict.fromkeys((RAW, ETHERNET, COOKED, COOKED2, NULL, MPLS), 0)
    for frame in frames:
        for link in votes:
            votes[link] += _fits(link, frame)
    best = max(votes, key=lambda link: votes[link])
    return best if votes[best] * 2 > len(frames) else None


def _fits(link: int, frame: bytes) -> bool:
    at = _ip_start(link, frame)
    if at < 0:
        return False
    if link in _TYPE_AT and _word(frame, _TYPE_AT[link][0]) not in (_IP4, _IP6):
        return True  # tags and labels; others look after them
    return _is_ip(frame, at)


def _ip_start(link: int, frame: bytes) -> int:
    """Where IP begins in a frame of a link type; -1 where it cannot be of that type."""
    if link == RAW:
        return 0 if frame else -1
    if link == NULL:
        family = int.from_bytes(frame[:4], "little"), int.from_bytes(frame[:4], "big")
        return 4 if len(frame) > 4 and any(one in (2, 10, 24, 28, 30) for one in family) else -1
    if link == MPLS:
        at = 4
        while at + 1 < len(frame) and frame[at - 2] & 1 == 0:
            at += 4
        return at if at < len(frame) else -1
    place, size = _TYPE_AT[link]
    if len(frame) <= size or (link == COOKED and _word(frame, 0) > 4):
        return -1
    return size if _word(frame, place) in _ETHERTYPES else -1


def _word(frame: bytes, at: int) -> int:
    return int.from_bytes(frame[at : at + 2], "big")


def _is_ip(frame: bytes, at: int) -> bool:
    """RFC 791 section 3.1, RFC 8200 section 3: version, a length that can be, a protocol that is."""
    room = len(frame) - at
    version = frame[at] >> 4
    if version == 4 and room >= 20:
        head = (frame[at] & 15) * 4
        length = _word(frame, at + 2)
        return 20 <= head <= (length or room) and _can_be(room, length, frame[at + 9])
    if version == 6 and room >= 40:
        length = _word(frame, at + 4)
        return _can_be(room, 40 + length if length else 0, frame[at + 6])
    return False


def _can_be(room: int, length: int, protocol: int) -> bool:
    """Whether a packet of `length` bytes, 0 if unknown, has this protocol in it; there are `room` bytes."""
    if length > room or not length:  # cut, or left to the network card: text and other data would pass too
        return protocol in (6, 17)
    return room - length < PADDING and protocol in _PROTOCOLS


def _original(link: int, frame: bytes) -> int:
    """Bytes that the packet had on the wire, as its IP header states, if that is more than there are."""
    at = _ip_start(link, frame)
    if at < 0 or not _is_ip(frame, at):
        return len(frame)
    length = _word(frame, at + 2) if frame[at] >> 4 == 4 else 40 + _word(frame, at + 4)
    return max(len(frame), at + length)
