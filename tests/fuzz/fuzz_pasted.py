"""Pasted text, in the form that is recognised and in each form that can be asked for (the first byte)."""

from base64 import b32encode, b64encode
from binascii import b2a_qp, b2a_uu
from collections.abc import Iterator
from urllib.parse import quote

import fuzzing

from wirelens.codecs.captures.pasting import FORMS, PastedError, pasted

NAMES = [*(["auto"] * 8), *FORMS]
DATA = bytes.fromhex("4802005243076f72646572733730 48656c6c6f da bb c2 00 ff 0a")


def try_one(data: bytes) -> None:
    if not data:
        return
    text = data[1:]
    try:
        found = pasted(text, NAMES[data[0] % len(NAMES)])
    except PastedError as error:
        fuzzing.check_error(error, text)
        return
    assert found.form in FORMS
    assert len(found.data) <= 16 * len(text) + 64, "more bytes than the text can stand for"


def seeds() -> Iterator[bytes]:
    for path in sorted(fuzzing.ROOT.glob("examples/*.xxd")):
        yield b"\0" + path.read_bytes()
    for text in written(DATA):
        yield from (bytes([index]) + text.encode() for index in range(7, len(NAMES)))


def written(data: bytes) -> Iterator[str]:
    """The bytes in forms that people paste."""
    digits = data.hex()
    base64 = b64encode(data).decode()
    yield from (digits, data.hex(" "), data.hex(":"), f"0x{digits}", f"{len(data)} {digits}", str(data))
    yield from (f"b'{digits}'", base64, f"data:;base64,{base64}", b32encode(data).decode(), quote(data))
    yield from (
        str(list(data)),
        ", ".join(f"0x{one:02x}" for one in data),
        " ".join(f"{one:03o}" for one in data),
    )
    yield " ".join(f"{one:08b}" for one in data)
    shown = "".join(chr(one) if 32 <= one < 127 else "." for one in data)
    yield f"0000  {data[:16].hex(' ')}  |{shown[:16]}|\n"
    yield f"00000000: {data[:16].hex(' ', 2)}  ....\n00000010: {data[16:].hex(' ', 2)}  ..\n0000001a\n"
    yield f"<Buffer {data.hex(' ')}>"
    yield f'{{"payload": "{base64}"}}'
    yield f"payload: !!binary |\n  {base64}\n"
    yield "echo -ne '" + "".join(f"\\x{one:02x}" for one in data) + "' | nc h 1"
    yield 'write(3, "' + "".join(f"\\{one:o}" for one in data) + f'", {len(data)}) = {len(data)}'
    yield "byte[] a = {" + ", ".join(f"(byte) 0x{one:02X}" for one in data) + "};"
    yield "char a[] =\n" + "\n".join(f'  "\\x{one:02x}\\n"' for one in data) + ";"
    yield b2a_uu(data).decode().join(("begin 644 a\n", "`\nend\n"))
    yield b2a_qp(data).decode()
    yield f"12:00:00.000001 IP 10.0.0.1.1 > 10.0.0.2.2: Flags [P.]\n\t0x0000:  {data[:16].hex(' ', 2)}\n"
    yield f"log: see\n```\n{data.hex(' ')}\n```\nend"
