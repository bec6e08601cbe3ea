"""What bytes of no known protocol look like."""

import zipfile
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirelens.codecs.file_kinds import HEAD, looks_like


def zipped() -> bytes:
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo("a"), "b")  # of a fixed date: it is part of the test's name
    return out.getvalue()


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image"),
        (b"\x7fELF\x02\x01\x01", "an ELF program"),
        (bytes.fromhex("cafebabe00000041"), "a Java class file"),
        (bytes.fromhex("cafebabe00000002"), "a Mach-O program"),
        (bytes.fromhex("aced000573720001"), "Java serialization"),
        (bytes.fromhex("16030100c8010000c40303"), "TLS"),
        (bytes.fromhex("1603010000"), ""),
        (bytes.fromhex("1f8b0800000000000003"), "gzip"),
        (zipped(), "a zip archive"),
        (b"%PDF-1.7\n", "a PDF document"),
        (b'{"a": 1}', "JSON"),
        (b'\xef\xbb\xbf[{"a": 1}]', "JSON"),
        (b'<?xml version="1.0"?>', "XML"),
        (b"<note>a</note>", "XML"),
        ("Grüße aus dem Text\n".encode(), "text"),
        ("ü".encode() * HEAD, "text"),
        (b"x" + "ü".encode() * HEAD, "text"),
        (b"\x10\x10\0\x04MQTT\x04\x02", "MQTT"),
        (b"\0" * 64, "zeros"),
        (b"", ""),
        (b"ab\0c", ""),
        (b"\xff\xfe\xfd", ""),
    ],
)
def test_what_it_looks_like(start: bytes, kind: str) -> None:
    assert looks_like(start) == kind


@given(st.binary(max_size=600))
def test_only_the_head_counts(data: bytes) -> None:
    assert looks_like(data) == looks_like(data[:HEAD])
