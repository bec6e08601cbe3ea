"""What bytes of no known protocol look like, by how they start.

Sources: the formats' own specifications, and the table of magic numbers that file(1) reads.
"""

from typing import Final

HEAD: Final = 512  # bytes that are looked at
TEXT: Final = "text"
_LEAST_TEXT: Final = 4  # bytes

# How files start, and what they are called, in the order of the test.
_STARTS: Final[tuple[tuple[bytes, str], ...]] = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"\x7fELF", "an ELF program"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O program"),
    (b"\xce\xfa\xed\xfe", "a Mach-O program"),
    (b"dex\n", "a Dalvik class file"),
    (b"\0asm\x01\0\0\0", "a WebAssembly module"),
    (b"\xac\xed\0\x05", "Java serialization"),
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "a zip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x1f\x8b\x08", "gzip"),
    (b"\xfd7zXZ\0", "xz"),
    (b"BZh", "bzip2"),
    (b"\x28\xb5\x2f\xfd", "Zstandard"),
    (b"\x04\x22\x4d\x18", "LZ4"),
    (b"%PDF-", "a PDF document"),
    (b"%!PS", "a PostScript document"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
    (b"Obj\x01", "an Avro file"),
    (b"ORC", "an ORC file"),
    (b"ARROW1\0\0", "an Arrow file"),
    (b"\xd9\xd9\xf7", "CBOR"),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/2"),
    (b"SSH-", "SSH"),
    (b"AMQP\0", "AMQP"),
    (b"JDWP-Handshake", "Java's debug protocol"),
    (b"JRMI", "Java RMI"),
    (b"OggS", "an Ogg file"),
    (b"ID3", "an MP3 file"),
    (b"fLaC", "a FLAC file"),
    (b"\x80\x01\0", "Thrift"),
    (b"<!DOCTYPE html", "HTML"),
    (b"<html", "HTML"),
    (b"<?xml", "XML"),
    (b"#!", "a script"),
    (b"-----BEGIN ", "PEM"),
)


def looks_like(head: bytes) -> str:
    """What the first bytes of a file or stream look like, with its article; "" for nothing that is known."""
    head = head[:HEAD]
    for start, name in _STARTS:
        if head.startswith(start):
            return name
    return _by_fields(head) or _as_text(head)


def _by_fields(head: bytes) -> str:
    """Formats that are known by more than their first bytes."""
    if head[:4] == b"\xca\xfe\xba\xbe" and len(head) >= 8:
        # a Java class has its version here (45 and more), a Mach-O program the number of its parts
        return "a Java class file" if head[7] >= 45 else "a Mach-O program"
    if head[:4] == b"RIFF" and head[8:12] in (b"WEBP", b"WAVE", b"AVI "):
        return {b"WEBP": "a WebP image", b"WAVE": "a WAV file", b"AVI ": "an AVI file"}[head[8:12]]
    if head[4:8] == b"ftyp":
        return "an MP4 file"
    if head[:2] == b"MZ" and len(head) >= 64 and head[2:] != b"\0" * (len(head) - 2):
        return "a Windows program"
    if len(head) >= 5 and 20 <= head[0] <= 23 and head[1] == 3 and head[2] <= 4:
        # TLS: type, version, and a length of at most 2^14 + 2048 bytes (RFC 8446, 5.1)
        return "TLS" if 0 < head[3] << 8 | head[4] <= (1 << 14) + 2048 else ""
    if len(head) >= 2 and head[0] == 0x80 and 2 <= head[1] <= 5:
        return "a Python pickle"
    if head[:1] == b"\x10" and b"\0\x04MQTT" in head[2:10]:
        return "MQTT"
    if len(head) >= 16 and not any(head):
        return "zeros"
    return ""


def _as_text(head: bytes) -> str:
    """JSON, XML or other text in UTF-8; "" for anything else."""
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3 or len(head) < HEAD:
            return ""
        text = head[: error.start].decode()
    if len(text) < _LEAST_TEXT or any(ord(char) < 32 and char not in "\t\n\r\f\x1b" for char in text):
        return ""
    start = text.removeprefix("\ufeff").lstrip()
    if start[:1] in ("{", "[") and '"' in start:
        return "JSON"
    if start[:1] == "<" and start[1:2].isalpha() and ">" in start:
        return "XML"
    return TEXT
