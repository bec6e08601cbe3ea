"""Which container a capture file is, by its first bytes.

Imports nothing of the project, so that a command can look at its input before any reader is loaded.
"""

from typing import Final

SNIFF_LENGTH: Final = 40  # bytes that decide which container it is
SURE_LENGTH: Final = 12  # bytes after which one that is READABLE will be no other
PACKED_HEAD: Final = 1 << 20  # bytes; the largest block of bzip2 is 900 kB

READABLE: Final = ("pcap", "pcapng", "snoop")

# Containers that are recognised and refused, with their names.
UNSUPPORTED: Final[dict[str, str]] = {
    "netmon": "Microsoft Network Monitor",
    "ngsniffer": "Sniffer (DOS)",
    "netxray": "Sniffer (Windows) or NetXRay",
    "5views": "Accellent 5Views",
    "k12": "Tektronix K12",
    "btsnoop": "Bluetooth snoop",
    "iptrace": "AIX iptrace",
    "observer": "Network Instruments Observer",
    "visual": "Visual Networks",
    "eyesdn": "EyeSDN",
}

# Compressions, with their names.
COMPRESSIONS: Final[dict[str, str]] = {
    "gzip": "gzip",
    "xz": "xz",
    "bz2": "bzip2",
    "zstd": "Zstandard",
    "lz4": "LZ4",
}

GZIP: Final = b"\x1f\x8b"
COMPRESSION_MAGICS: Final[tuple[tuple[bytes, str], ...]] = (
    (GZIP + b"\x08", "gzip"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x04\x22\x4d\x18", "lz4"),
    *[(b"BZh%d" % level + block, "bz2") for level in range(1, 10) for block in (b"1AY&SY", b"\x17rE8P\x90")],
)
PCAPNG: Final = b"\n\r\r\n"
MAGICS: Final[tuple[tuple[bytes, str], ...]] = (
    (b"\xd4\xc3\xb2\xa1", "pcap"),
    (b"\xa1\xb2\xc3\xd4", "pcap"),
    (b"\x4d\x3c\xb2\xa1", "pcap"),
    (b"\xa1\xb2\x3c\x4d", "pcap"),
    (b"\x34\xcd\xb2\xa1", "pcap"),
    (b"\xa1\xb2\xcd\x34", "pcap"),
    (b"\xac\x01\x00\x1c", "pcap"),
    (b"\x1c\x00\x01\xac", "pcap"),
    (b"\xab\x01\x00\x1c", "pcap"),
    (b"\x1c\x00\x01\xab", "pcap"),
    (b"snoop\0\0\0", "snoop"),
    (b"RTSS", "netmon"),
    (b"GMBU", "netmon"),
    (b"TRSNIFF data    \x1a", "ngsniffer"),
    (b"XCP\0", "netxray"),
    (b"\xaa\xaa\xaa\xaa\x20\x00\x00\x00", "5views"),
    (b"+---------+---------------+----------+", "k12"),
    (b"\x00\x00\x02\x00\x12\x05\x00\x10", "k12"),
    (b"btsnoop\0", "btsnoop"),
    (b"iptrace 1.0", "iptrace"),
    (b"iptrace 2.0", "iptrace"),
    (b"ObserverPktBuffer", "observer"),
    (b"\x05VNF", "visual"),
    (b"EyeSDN", "eyesdn"),
)

# The first two bytes of all containers: an input that starts with none of them is not a capture.
STARTS: Final[tuple[bytes, ...]] = tuple({PCAPNG[:2]: "", **{magic[:2]: name for magic, name in MAGICS}})


def sniff(head: bytes) -> str:
    """Name the container that begins with `head` (its first SNIFF_LENGTH bytes, or all there are).

    READABLE ones can be read, those of COMPRESSIONS have to be unpacked first, the keys of UNSUPPORTED are
    refused; "" is not a capture.
    """
    compression = compression_of(head)
    if compression:
        return compression
    if head[:4] == PCAPNG:
        order = head[8:12]
        if order in (b"\x1a\x2b\x3c\x4d", b"\x4d\x3c\x2b\x1a") or len(head) < 12:
            return "pcapng"
        return ""
    for magic, name in MAGICS:
        if head.startswith(magic):
            return name
    return ""


def compression_of(head: bytes) -> str:
    """The key of COMPRESSIONS of a file that begins with `head`, or "" for a file that is not compressed."""
    for magic, name in COMPRESSION_MAGICS:
        if head.startswith(magic):
            return name
    return ""


def may_be_compressed(head: bytes) -> bool:
    """Whether `head`, too short to be recognised, may be the beginning of a compressed file."""
    return any(len(head) < len(magic) and magic.startswith(head) for magic, _ in COMPRESSION_MAGICS)


def head_size(head: bytes, usual: int) -> int:
    """How many bytes of a file show its first packet: `usual`, or more if `head` begins large blocks."""
    return PACKED_HEAD if compression_of(head) in ("xz", "bz2", "zstd", "lz4") else usual


def unsupported(container: str) -> str:
    """The name of a container that is refused, or of a compression that cannot be unpacked here, else ""."""
    return UNSUPPORTED.get(container) or COMPRESSIONS.get(container, "")
