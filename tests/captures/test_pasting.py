"""Pasted text becomes bytes: every form rendered here and read back, real samples, real tools, damage."""

import base64
import contextlib
import json
import pickle
import random
import re
import shutil
import string
import subprocess
import sys
import time
import tracemalloc
import urllib.parse
from collections.abc import Callable
from pathlib import Path

import pytest
from dumps import DUMPS, WORD_DUMPS, canonical, follow, netty, rows, spaced, wireshark, wireshark_bare, xxd
from hypothesis import example, given
from hypothesis import strategies as st
from properties import examples

from wirelens.codecs.captures.pasting import FORMS, Pasted, PastedError, pasted
from wirelens.codecs.captures.pasting.source import source_of
from wirelens.codecs.captures.pasting.strings import read_strings
from wirelens.codecs.codes import CODES

pytestmark = pytest.mark.once  # this part is never compiled

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
FORMS_FOLDER = SHARED / "captures" / "forms"
CASES = SHARED / "cases"

# ---- renderers: each takes octets and gives the text that a tool would print for them


def c_escapes(data: bytes) -> str:
    named = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}
    return '"' + "".join(named.get(b) or (chr(b) if 0x20 <= b < 0x7F else f"\\x{b:02x}") for b in data) + '"'


def c_array(data: bytes) -> str:
    lines = ["  " + ", ".join(f"0x{b:02x}" for b in row) for _, row in rows(data, 12)]
    return (
        "unsigned char data[] = {\n"
        + ",\n".join(lines)
        + "\n};\nunsigned int data_len = "
        + f"{len(data)};\n"
    )


def signed(data: bytes) -> str:
    return ", ".join(str(b - 256 if b > 127 else b) for b in data)


def wrapped(text: str, width: int) -> str:
    return "\n".join(text[i : i + width] for i in range(0, len(text), width))


def uuencoded(data: bytes) -> str:
    import binascii

    body = "".join(binascii.b2a_uu(row, backtick=True).decode() for _, row in rows(data, 45))
    return "begin 644 payload\n" + body + "`\nend\n"


def yaml_binary(data: bytes) -> str:
    body = "\n".join("      " + line for line in wrapped(base64.b64encode(data).decode(), 76).split("\n"))
    return f"packets:\n  - packet: 4\n    peer: 0\n    timestamp: 1.5\n    data: !!binary |\n{body}\n"


def octals(data: bytes) -> str:
    return "".join(f"\\{b:03o}" for b in data)


def inspected(data: bytes) -> str:
    return f"<Buffer {spaced(data)}>"


LITERALS: dict[str, Callable[[bytes], str]] = {
    "xxd -i": c_array,
    "c array": lambda data: "{ " + ", ".join(f"0x{b:02X}" for b in data) + " }",
    "go": lambda data: "[]byte{\n\t" + ", ".join(f"0x{b:02x}" for b in data) + ",\n}",
    "go %#v": lambda data: "[]byte{" + ", ".join(f"0x{b:x}" for b in data) + "}",
    "java toString": lambda data: f"[{signed(data)}]",
    "java new": lambda data: f"byte[] b = new byte[]{{{signed(data)}}};",
    "java casts": lambda data: "new byte[] {" + ", ".join(f"(byte) 0x{b:02x}" for b in data) + "}",
    "kotlin": lambda data: f"byteArrayOf({signed(data)})",
    "csharp": lambda data: (
        f"byte[] x = new byte[{len(data)}] {{ " + ", ".join(f"0x{b:02X}" for b in data) + " };"
    ),
    "rust": lambda data: (
        "&[" + ", ".join(f"b'{chr(b)}'" if chr(b).isalnum() and b < 128 else f"0x{b:02x}" for b in data) + "]"
    ),
    "rust vec": lambda data: "vec![" + ", ".join(f"{b}u8" for b in data) + "]",
    "python list": lambda data: str(list(data)),
    "python bytes()": lambda data: f"bytes({list(data)})",
    "js array": lambda data: f"const x = new Uint8Array({list(data)});",
    "js inspect": lambda data: f"Uint8Array({len(data)}) [\n  " + ", ".join(map(str, data)) + "\n]",
    "erlang": lambda data: "<<" + ",".join(map(str, data)) + ">>",
    "buffer": inspected,
    "buffer json": lambda data: json.dumps({"type": "Buffer", "data": list(data)}),
    "buffer from": lambda data: f"Buffer.from('{data.hex()}', 'hex')",
    "fromhex": lambda data: f'bytes.fromhex("{spaced(data)}")',
    "template": lambda data: "{{hex_decode('" + data.hex() + "')}}",
    "mysql": lambda data: f"x'{data.hex()}'",
    "all \\x": lambda data: '"' + "".join(f"\\x{b:02X}" for b in data) + '"',
    "bare \\x": lambda data: "".join(f"\\x{b:02x}" for b in data),
    "octal": lambda data: '"' + "".join(f"\\{b:03o}" for b in data) + '"',
    "c in pieces": lambda data: "\n".join(
        '"' + "".join(f"\\x{b:02x}" for b in row) + '"' for _, row in rows(data)
    ),
    "python repr": repr,
    "echo": lambda data: 'echo -ne "' + "".join(f"\\x{b:02x}" for b in data) + '" | nc 127.0.0.1 20880',
    "printf": lambda data: "printf '" + "".join(f"\\{b:03o}" for b in data) + "' > file",
    "strace": lambda data: 'write(3, "' + octals(data) + f'", {len(data)}) = {len(data)}',
    "yaml": yaml_binary,
    "uuencode": uuencoded,
    "percent": lambda data: "".join(f"%{b:02X}" for b in data) if len(data) > 2 else "",
    "0x list": lambda data: " ".join(f"0x{b:02x}" for b in data),
    "h suffix": lambda data: " ".join(f"{b:02X}h" for b in data) if len(data) > 1 else "",
}
BARE: dict[str, Callable[[bytes], str]] = {
    "plain": bytes.hex,
    "upper": lambda data: data.hex().upper(),
    "0x whole": lambda data: "0x" + data.hex(),
    "pairs": spaced,
    "pairs, wrapped": lambda data: "\n".join(spaced(row).upper() for _, row in rows(data)),
    "groups of 2": lambda data: spaced(data, " ", 2),
    "groups of 4": lambda data: spaced(data, " ", 4),
    "colons": lambda data: spaced(data, ":"),
    "dashes": lambda data: spaced(data, "-").upper(),
    "xxd -p": lambda data: wrapped(data.hex(), 60),
    "base64": lambda data: base64.b64encode(data).decode(),
    "base64, wrapped": lambda data: wrapped(base64.b64encode(data).decode(), 76),
    "base64url": lambda data: base64.urlsafe_b64encode(data).decode().rstrip("="),
    "base32": lambda data: base64.b32encode(data).decode(),
    "decimal": lambda data: " ".join(map(str, data)),
    "signed": signed,
}

RANDOM = random.Random(7)
PAYLOADS = {
    **{f"random {n}": RANDOM.randbytes(n) for n in (1, 15, 16, 17, 255, 300)},
    **{
        f"text like hex {n}": (b"deadbeef 00 ff cafe|babe >< ab cd " * 12)[:n] for n in (15, 16, 17, 255, 300)
    },
    **{f"all FF {n}": b"\xff" * n for n in (1, 15, 16, 17, 255, 300)},
    **{f"zeros {n}": bytes(n) for n in (16, 17, 300)},
    **{f"digits {n}": (b"0123456789" * 30)[:n] for n in (16, 17, 300)},
    **{f"blanks {n}": b" " * n for n in (16, 17)},
    "message": bytes.fromhex("dabbe2000000000000000001000000014e"),
}


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("form", [*DUMPS, *LITERALS])
def test_proving_form_gives_its_bytes(form: str, payload: str) -> None:
    data = PAYLOADS[payload]
    text = {**DUMPS, **LITERALS}[form](data)
    if not text:
        pytest.skip("the form needs more bytes")
    if form == "python repr" and "\\" not in text:
        assert pasted(text).data == data
        return
    if form == "xxd -b" and len(data) == 1 and data in (b"\0", b"\xff"):
        pytest.skip("one word of eight equal digits")
    assert pasted(text).data == data
    assert pasted(text).form in FORMS


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("form", [*BARE, *WORD_DUMPS])
def test_weak_form_gives_its_bytes_or_is_refused(form: str, payload: str) -> None:
    data = PAYLOADS[payload]
    text = {**BARE, **WORD_DUMPS}[form](data)
    if len(data) == 1 and form in ("decimal", "signed"):
        pytest.skip("one number is read as hex")
    found = outcome(text)
    if isinstance(found, PastedError):
        assert found.code in ("pasted-ambiguous", "pasted-cut")
        assert not payload.startswith(("random 2", "random 3", "message"))
        return
    if found.form == "raw":
        assert not payload.startswith(("random 2", "random 3", "message"))
        return
    assert found.data == data


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xfe", bytes(range(256))])
def test_forced_form_reads_what_auto_would_not(data: bytes) -> None:
    if data:
        assert pasted(base64.b64encode(data), "base64").data == data
        assert pasted(" ".join(map(str, data)), "decimal").data == data
    assert pasted(spaced(data), "hex").data == data
    assert pasted(data, "raw").data == data


# ------------------------------------------------------------------------------------ real samples


def _form_files() -> list[dict[str, str]]:
    manifest = FORMS_FOLDER / "manifest.json"
    return json.loads(manifest.read_text()) if manifest.exists() else []


@pytest.mark.skipif(not FORMS_FOLDER.exists(), reason="the shared samples are not here")
def test_forms_folder() -> None:
    wrong = []
    for entry in _form_files():
        text = (FORMS_FOLDER / entry["file"]).read_bytes()
        want = (FORMS_FOLDER / entry["payload_file"]).read_bytes()
        found = outcome(text)
        if isinstance(found, PastedError):
            assert b"more bytes" in text
            assert found.code == "pasted-cut"
            assert found.head == want[:50]
        elif found.data != want:
            wrong.append(entry["file"])
    assert not wrong


@pytest.mark.skipif(not CASES.exists(), reason="the shared cases are not here")
def test_cases() -> None:
    dumps = {
        "iteye-1108422",
        "796t-hessian-user",
        "dubbofinder-java",
        "dubbofinder-escaped",
        "nuclei-mobileiron",
        "hessian-client-comment",
        "protobuf-net-671",
        "uoproxy-6",
        "tcpdump-1387",
        "windivert-249",
        "so-52688418",
        "wireshark-31004",
        "analytics-base64-hessian",
        "scapy-2257",
    }
    for case in json.loads((CASES / "cases.json").read_text()):
        text = (CASES / f"{case['id']}.txt").read_bytes()
        if case["id"] in dumps:
            assert pasted(text).data.hex() == case["payload_hex"], case["id"]
            continue
        found = outcome(text)
        if isinstance(found, PastedError):
            # Bytes with ellipses between them, and an escaped text that ends in one.
            assert case["id"] in ("haomeiwen-dubbo", "dubbo-go-hessian2-129")
            assert found.code == "pasted-cut"
        else:
            assert found.form == "raw", case["id"]
            assert found.data == text


# --------------------------------------------------------------------------------------- real tools

TOOLS = [
    "xxd",
    "xxd -g1",
    "xxd -g4",
    "xxd -g8",
    "xxd -g3",
    "xxd -g0",
    "xxd -b",
    "xxd -c 7",
    "xxd -c 32 -g 4",
    "xxd -e",
    "xxd -e -g2",
    "xxd -u",
    "xxd -a",
    "xxd -p",
    "xxd -p -c 10",
    "xxd -i",
    "xxd -o 4096",
    "hexdump",
    "hexdump -C",
    "hexdump -x",
    "hexdump -d",
    "hexdump -o",
    "hexdump -b",
    "hexdump -c",
    "hexdump -v",
    "hexdump -Cv",
    "od",
    "od -c",
    "od -x",
    "od -b",
    *(
        f"od -A{a} -t {t}"
        for a in "oxd"
        for t in (
            "x1",
            "x1z",
            "x2",
            "x4",
            "x8",
            "x4z",
            "o1",
            "o2",
            "o4",
            "u1",
            "d1",
            "u2",
            "d2",
            "u4",
            "d4",
            "c",
        )
    ),
    "od -Ax -w8 -tx1",
    "od -Ax -w3 -tx1z",
    "od -An -v -tx1",
]


@pytest.mark.parametrize("command", TOOLS)
def test_real_tool(command: str) -> None:
    tool = command.split()
    if not shutil.which(tool[0]):
        pytest.skip(f"{tool[0]} is not installed")
    read = 0
    mixed = bytes(100) + RANDOM.randbytes(20) + bytes(300)
    for data in [*PAYLOADS.values(), mixed]:
        text = subprocess.run(tool, input=data, stdout=subprocess.PIPE, check=True).stdout
        found = outcome(text)
        if isinstance(found, PastedError):
            assert found.code in ("pasted-ambiguous", "pasted-cut", "pasted-damaged")
            continue
        if found.form == "raw":
            assert len(data) < 3
            continue
        assert found.data == data
        read += 1
    assert read * 2 > len(PAYLOADS)


@pytest.mark.parametrize("size", [2, 4, 8])
def test_octal_words_without_offsets(size: int) -> None:
    """`od -An -to4`: not hex, though every digit is one; a last word that may be padded is refused."""
    digits = {2: 6, 4: 11, 8: 22}[size]
    data = bytes(range(101, 125))
    octal = [f"{int.from_bytes(data[i : i + size], 'little'):0{digits}o}" for i in range(0, 24, size)]
    text = "".join(" " + " ".join(octal[i : i + 4]) + "\n" for i in range(0, len(octal), 4))
    assert pasted(text) == Pasted(data, "octal")
    cut = text.replace(octal[-1], f"{5:0{digits}o}")
    assert broken(cut).code == "pasted-cut"
    assert broken(text.replace(octal[1], octal[1][:-1] + "9"), "octal").code == "pasted-damaged"


@pytest.mark.parametrize(
    "text",
    [
        " 3ffd 3ceb 5092 97b7\n",
        " 3ceb3ffd 97b75092\n",
        " 97b750923ceb3ffd 97b750923ceb3ffd\n",
        " 10932295209482665981\n",
        " 14774159121605621427           2477808132\n",
        "   6   e   0   8   4   9   7   c\n",
        " 0000000000000070535732\n",
        " 00000035732\n",
    ],
)
def test_numbers_without_offsets_that_hex_may_be(text: str) -> None:
    assert broken(text).code == "pasted-ambiguous"


def test_capture_in_tcpdump_words() -> None:
    text = (
        "\t0x0000:  490c 6209 6923 34e8 efd3 a7bf 4ec0 fd3b  I.b.i#4.....N..;\n"
        "\t0x0010:  43e0 0b2b 2b2b 2b                        C..++++\n"
    )
    assert pasted(text).data.hex() == "490c6209692334e8efd3a7bf4ec0fd3b43e00b2b2b2b2b"


# ------------------------------------------------------------------------------------------- damage


def outcome(text: str | bytes, form: str = "auto") -> Pasted | PastedError:
    """What `pasted` gives or raises."""
    try:
        return pasted(text, form)
    except PastedError as error:
        return error


def broken(text: str, form: str = "auto") -> PastedError:
    with pytest.raises(PastedError) as caught:
        pasted(text, form)
    assert caught.value.code in CODES
    return caught.value


MESSAGE = bytes(range(16)) + b"Hello, binary world, cafe 00 ff!" + bytes(range(200, 230))


@pytest.mark.parametrize("form", [name for name in DUMPS if name not in ("xxd -b",)])
def test_dropped_row_is_found(form: str) -> None:
    text = DUMPS[form](MESSAGE)
    lines = text.split("\n")
    body = [
        i
        for i, line in enumerate(lines)
        if (
            re.search(r"[0-9a-fA-F]{2}[ \t][0-9a-fA-F0x]{2}|[0-9a-f]{4} [0-9a-f]{4}", line)
            and not re.search(r"00 01 02 03.* 0F|IP 10", line, re.I)
        )
        or ("00 01 02 03" in line and "0000" in line)
    ]
    for index in body[1:-1]:
        error = broken("\n".join(lines[:index] + lines[index + 1 :]))
        assert error.code in ("pasted-damaged", "pasted-cut")
        assert abs(error.line - index - 1) <= 1


@pytest.mark.once
@pytest.mark.parametrize("form", [*DUMPS, *WORD_DUMPS])
def test_changed_digit_never_passes_unless_a_digit_of_the_bytes(form: str) -> None:
    text = {**DUMPS, **WORD_DUMPS}[form](MESSAGE)
    for index in range(0, len(text), 3):
        if text[index] == "\n":
            continue
        mutated = text[:index] + text[index + 1 :]
        try:
            found = pasted(mutated)
        except PastedError:
            continue
        # A character less never changes the bytes in silence.
        assert found.form == "raw" or found.data == MESSAGE, (index, mutated)


def test_error_places() -> None:
    lines = xxd(MESSAGE, 1).split("\n")
    lines[2] = lines[2].replace("00000020", "00000021")
    error = broken("\n".join(lines))
    assert (error.code, error.line) in (("pasted-damaged", 2), ("pasted-damaged", 3))
    lines = wireshark(MESSAGE).split("\n")
    lines[1] = lines[1].replace("48 65", "48 5")
    assert broken("\n".join(lines)).line == 2
    assert broken("da bb e2 00 0 00 00 01").column == 13
    assert broken("> da bb e2 00\n> 00 0 00 01").column == 6
    assert broken("\x1b[31mda bb\x1b[0m e2 00 0 00 00 01").column == 22
    assert broken("{0xda, 0xbb, 0xzz, 0x00, 0x01}").column == 14
    assert broken("[218, 187, 226, 300, 0, 0, 0, 0, 0]").column == 17
    assert broken("<Buffer da bb e2 ... 14 more bytes>").head == b"\xda\xbb\xe2"
    assert broken("0xdabbe2000").text.startswith("an odd number")


def test_text_column_that_disagrees_is_refused() -> None:
    text = canonical(MESSAGE).replace("|Hello,", "|Jello,")
    error = broken(text)
    assert (error.code, error.line) == ("pasted-damaged", 2)


def test_repeated_rows() -> None:
    text = "00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|\n*\n00000100\n"
    assert pasted(text).data == bytes(256)
    assert broken(text.replace("00000100", "00000108")).line == 3
    assert broken(text.replace("00000100", "7fffffff0")).code == "pasted-limit"
    assert broken("\n".join(text.split("\n")[:2])).code == "pasted-cut"
    assert broken("da bb e2 00\n*\nda bb e2 01").code == "pasted-cut"


def test_several_packets_and_directions() -> None:
    assert broken(wireshark(MESSAGE) + "\n" + wireshark(MESSAGE)).code == "pasted-several"
    client, server = follow(MESSAGE), "".join("    " + line + "\n" for line in follow(b"answer").splitlines())
    assert broken(client + server).code == "pasted-several"
    assert pasted(client + server, "client").data == MESSAGE
    assert pasted(client + server, "server").data == b"answer"


@pytest.mark.parametrize(
    "text",
    [
        "10 20 30 40",
        "10, 20, 30, 40",
        "0x00e2bbda, 0x00000001",
        '"\\0\\0\\0\\20hello"',
        '"\\u00da\\u00bb"',
        '"\\xdabbe200"',
        "00000000: dabbe200 00000001 00000002 00000003\n",
    ],
)
def test_ambiguous(text: str) -> None:
    error = broken(text)
    assert error.code == "pasted-ambiguous"
    assert " and as " in error.text


def test_forced_settles_what_is_ambiguous() -> None:
    assert pasted("10 20 30 40", "hex").data == b"\x10\x20\x30\x40"
    assert pasted("10 20 30 40", "decimal").data == bytes([10, 20, 30, 40])
    assert pasted('"\\0\\20"', "escapes-octal").data == b"\0\x10"
    assert pasted('"\\0\\20"', "escapes-decimal").data == b"\0\x14"
    assert pasted('"\\u00da"', "escapes-latin1").data == b"\xda"
    assert pasted('"\\u00da"', "escapes-utf8").data == "Ú".encode()
    words = "00000000: dabbe200 00000001 00000002 00000003\n"
    assert pasted(words, "dump").data.startswith(b"\xda\xbb\xe2\0")
    assert pasted(words, "dump-le").data.startswith(b"\0\xe2\xbb\xda")
    assert broken("hello", "dump").code == "pasted-mismatch"
    assert broken("hello", "hex").code == "pasted-damaged"
    with pytest.raises(ValueError, match="no such form"):
        pasted("hello", "nonsense")


# --------------------------------------------------------------------------------- what stands around


@pytest.mark.parametrize(
    "around",
    [
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\n\n" + text + "\n\n",
        lambda text: "\n".join(line + "   " for line in text.split("\n")),
        lambda text: "\n".join("> " + line for line in text.strip("\n").split("\n")),
        lambda text: "Hello,\n\n```text\n" + text.strip("\n") + "\n```\nthanks\n",
        lambda text: "\n".join("    " + line for line in text.strip("\n").split("\n")),
        lambda text: "\n".join(f"\x1b[32m{line}\x1b[0m" for line in text.strip("\n").split("\n")),
        lambda text: text.replace(" ", "\u00a0"),
    ],
)
@pytest.mark.parametrize("form", ["hexdump -C", "xxd", "wireshark", "pairs, wrapped", "hexdump", "xxd -p"])
def test_mail_and_terminals_do_not_matter(form: str, around: Callable[[str], str]) -> None:
    text = around({**DUMPS, **BARE, **WORD_DUMPS}[form](MESSAGE))
    assert pasted(text).data == MESSAGE
    if not text.startswith("\ufeff"):
        assert pasted(text.encode("utf-16")).data == MESSAGE


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "hello",
        "password",
        "The quick brown fox jumps over the lazy dog.",
        "HessianProtocolException",
        "usr/local/lib/python",
        "2024-01-01 12:30:45",
        "12:30:45",
        "192.168.0.1",
        "550e8400-e29b-41d4-a716-446655440000",
        '{"a": 1}',
        "f(1, 2)",
        "see [1] and [2]",
        "x = 5",
        "a bad cafe",
        '"hello"',
        "C:\\data\\new",
        "key=value",
        "Add a face",
        "HessianProtocolException: '\\n' is an unknown code",
        "<html>",
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "1\n2\n3",
        "`x`",
        "```\nprint(1)\n```",
        "0x63",
        "Bad response: hessian type is not int 83",
    ],
)
def test_prose_is_raw(text: str) -> None:
    if text == "0x63":
        assert pasted(text).data == b"\x63"
        return
    found = pasted(text)
    assert (found.form, found.data) == ("raw", text.encode())


@pytest.mark.parametrize(
    "data", [b"\0abc", b"\xda\xbb\xe2\0", b"\xff\xfe\xfd", b"ab\x01cd", bytes(range(256))]
)
def test_binary_is_raw(data: bytes) -> None:
    assert pasted(data) == pasted(data, "raw")


def test_error_pickles() -> None:
    error = broken("<Buffer da bb ... 3 more bytes>")
    again = pickle.loads(pickle.dumps(error))
    assert (again.code, again.line, again.column, again.text, again.head) == (
        error.code,
        error.line,
        error.column,
        error.text,
        error.head,
    )


# ------------------------------------------------------------------------- code, comments, frames, prose

HEARTBEAT = bytes.fromhex("dabbe2000000000000000001000000014e")
DIGITS = HEARTBEAT.hex()
FIELD = SHARED / "field" / "text"
BYTES_OF = ", ".join(f"0x{byte:02x}" for byte in HEARTBEAT)
CASTS = BYTES_OF.replace("0x", "(byte) 0x")
SIGNED_BYTES = ", ".join(str(byte - 256 if byte > 127 else byte) for byte in HEARTBEAT)
ZEROS = ", ".join(str(byte) for byte in HEARTBEAT[3:-1])


@pytest.mark.skipif(not FIELD.exists(), reason="the shared texts are not here")
def test_texts_from_the_field() -> None:
    texts = {path.name: path.read_text() for path in FIELD.iterdir()}
    hostile = texts.pop("redos-dots.txt")
    assert pasted(hostile) == Pasted(hostile.encode(), "raw")
    assert len(texts) >= 10
    for name, text in texts.items():
        assert pasted(text).data == HEARTBEAT, name


CODE = {
    "split in a byte": f'"{DIGITS[:7]}"\n"{DIGITS[7:21]}"\n"{DIGITS[21:]}"',
    "plus on one line": f'String hex = "{DIGITS[:9]}" + "{DIGITS[9:]}";',
    "backslash": f'hex = "{DIGITS[:16]}" \\\n      "{DIGITS[16:]}"',
    "parentheses": f'hex = ("{DIGITS[:17]}"\n       "{DIGITS[17:]}")',
    "name on a line": f'const std::string rawHex\n    = "{DIGITS[:16]}"\n      "{DIGITS[16:]}";',
    "joined, JavaScript": f"const b = Buffer.from(['{DIGITS[:9]}', '{DIGITS[9:]}'].join(''), 'hex');",
    "joined, Ruby": f'["{DIGITS[:9]}", "{DIGITS[9:]}"].join',
    "joined, Python": f"bytes.fromhex(''.join(['{DIGITS[:9]}', '{DIGITS[9:]}']))",
    "joined, Rust": f'concat!("{DIGITS[:9]}", "{DIGITS[9:]}")',
    "joined, Go": f'strings.Join([]string{{"{DIGITS[:9]}", "{DIGITS[9:]}"}}, "")',
    "joined, Java": f'String.join("", "{DIGITS[:9]}", "{DIGITS[9:]}")',
    "joined, Java's concat": f'String hex = "{DIGITS[:9]}"\n    .concat("{DIGITS[9:]}");',
    "joined, Kotlin": f'listOf("{DIGITS[:9]}", "{DIGITS[9:]}").joinToString("")',
    "joined, PHP": f"hex2bin(implode('', ['{DIGITS[:9]}', '{DIGITS[9:]}']))",
    "raw, Rust": f'let hex = r#"{DIGITS}"#;',
    "keyword, Elixir": f'Base.decode16!("{DIGITS}", case: :lower)',
    "in a call": f'buffer_.add(Hex::decode("{DIGITS[:17]}"\n  "{DIGITS[17:]}"));',
    "fromhex of two": f'data = bytes.fromhex("{DIGITS[:16]}"\n                     "{DIGITS[16:]}")',
    "base64 in two": 'String s = "2rviAAAAAAAAAA" +\n "ABAAAAAU4=";',
    "Go, two values": f'b, err := hex.DecodeString("{DIGITS}")',
    "Go, nested": f'data := must(hex.DecodeString("{DIGITS}"))',
    "Go, base64": 'data, _ := base64.StdEncoding.DecodeString("2rviAAAAAAAAAAABAAAAAU4=")',
    "Rust, unwrap": f'let data = hex::decode("{DIGITS}").unwrap();',
    "Rust, expect": f'let data = hex::decode("{DIGITS}").expect("valid hex");',
    "Rust, ?": f'let buf: Vec<u8> = hex::decode("{DIGITS}")?;',
    "Java, toCharArray": f'byte[] data = Hex.decodeHex("{DIGITS}".toCharArray());',
    "Java, JUnit": f'assertArrayEquals(Hex.decodeHex("{DIGITS}".toCharArray()), encoder.encode(msg));',
    "Java, nested": f"ByteBuf b = Unpooled.wrappedBuffer(new byte[]{{{CASTS}}});",
    "Kotlin": f'val data = "{DIGITS}".decodeHex().toByteArray()',
    "C#": f'var data = Convert.FromHexString("{DIGITS}");',
    "JavaScript, assert": f"assert.deepEqual(Buffer.from('{DIGITS}', 'hex'), buf);",
    "JavaScript, second": f"assert.deepEqual(buf, Buffer.from('{DIGITS}', 'hex'));",
    "Python, strip": f"msg = binascii.unhexlify('{DIGITS}').strip()",
    "Python, modulo": f"bytes(b % 256 for b in [{SIGNED_BYTES}])",
    "Python, mask": f"data = bytes(x & 0xff for x in [{SIGNED_BYTES}])",
    "field of JSON": f'"payload": "{DIGITS}",',
    "return": f'return hex.decode("{DIGITS}");',
    "C++, letters": f"std::string content({{'\\xda', '\\xbb', 0xe2, {ZEROS}, 'N'}});",
    "C++, vector": f"std::vector<uint8_t> v{{0xda, 0xbb, 0xe2, {ZEROS}, 'N'}};",
    "Go, letters": f"[]byte{{0xda, 0xbb, 0xe2, {ZEROS}, 'N'}}",
}


@pytest.mark.parametrize("name", CODE)
def test_code_around_bytes(name: str) -> None:
    found = pasted(CODE[name])
    assert (found.data, found.note) == (HEARTBEAT, "")


@pytest.mark.parametrize(
    "text",
    [
        f'x = bytes.fromhex("{DIGITS}")[3:]',
        f'x = bytes.fromhex("{DIGITS}").reverse()',
        f'"{DIGITS}".substring(2)',
        f'f("{DIGITS}", "cafebabe00112233")',
        f'He said "{DIGITS}", ok',
        f"Arrays.copyOf(new byte[]{{{BYTES_OF}}}, 10)",
        f"Arrays.copyOf(new byte[]{{{BYTES_OF}}}, length)",
        f"Bytes.concat(new byte[]{{{BYTES_OF}}}, tail)",
    ],
)
def test_code_that_changes_the_bytes_is_not_read(text: str) -> None:
    found = outcome(text)
    assert isinstance(found, PastedError) or found.form == "raw"


@pytest.mark.parametrize(
    "text",
    ["[]byte{0xda, 0xbb, 0xe2, 0x0", "[218, 187, 226, 0", "{0xda, 0xbb, 0xe2, 0x", "[-38, -69, -30, -"],
)
def test_an_array_without_its_end_lacks_the_bracket(text: str) -> None:
    error = broken(text)
    assert (error.code, error.text) == ("pasted-cut", "the array has no closing bracket")
    assert error.column == len(text)


def test_hex_in_strings_with_a_digit_too_few() -> None:
    error = broken(f'"{DIGITS[:7]}"\n"{DIGITS[7:-1]}"')
    assert (error.code, error.line) == ("pasted-damaged", 2)
    assert error.text == "an odd number of hex digits in these strings: 33"


SOME = bytes.fromhex("dabbe200000000000000000100000011") + b"Hello world 1234" + b"\x4e"
SHAPES = {
    "canonical": canonical(SOME).rsplit("\n", 2)[0],
    "xxd": xxd(SOME).rstrip("\n"),
    "wireshark": wireshark_bare(SOME).rstrip("\n"),
    "netty": netty(SOME).strip("\n"),
    "pairs": wrapped(spaced(SOME), 48),
    "xxd -p": SOME.hex(),
}


@pytest.mark.parametrize("mark", ["#", "//", ";", "--"])
def test_comments_after_bytes(mark: str) -> None:
    rest = SOME[4:]
    for text in (
        f"da bb  {mark} magic\ne2 00  {mark} flag, status\n{spaced(rest)} {mark} it's the body",
        f"{SOME.hex()}  {mark} a heartbeat",
        f"0xda, 0xbb, 0xe2, 0x00, {mark} magic\n" + ", ".join(f"0x{byte:02x}" for byte in rest),
        f"{mark} Dubbo, 33 bytes\n{spaced(SOME)}",
        f'"{SOME.hex()[:9]}" {mark} it\'s magic\n"{SOME.hex()[9:]}" {mark} rest',
    ):
        assert pasted(text).data == SOME, text


def test_comments_between_marks() -> None:
    assert pasted(f"da bb /* magic */ e2 00 /* flag\n of two lines */\n{spaced(SOME[4:])}").data == SOME
    assert pasted(f"/* header */ {spaced(SOME)}").data == SOME
    assert broken(f"{spaced(SOME)} # ... 14 more").code == "pasted-cut"


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "around",
    [
        lambda text: "{code}\n" + text + "\n{code}",
        lambda text: "We see:\n{code:title=a.txt|borderStyle=solid}\n" + text + "\n{code}\nAny idea?",
        lambda text: "{noformat}" + text + "{noformat}",
        lambda text: "<pre><code>" + text + "</code></pre>",
        lambda text: "read index:0 write index:33 capacity:256\n" + text,
        lambda text: "([]uint8) (len=33 cap=48) {\n " + text.replace("\n", "\n ") + "\n}",
        lambda text: "Hello,\n\nwe get the following from the server:\n\n" + text + "\n\nWhy?\nThanks, Bob",
        lambda text: "The client sends this message:\n" + text + "\nand then the connection is closed.",
        lambda text: (
            "2024-01-01 12:00:00.123 DEBUG [nio-1] c.f.Handler - [id: 0x1234abcd, L:/127.0.0.1:1] READ: 33B\n"
            + text
        ),
    ],
)
def test_frames_and_prose_around_one_dump(shape: str, around: Callable[[str], str]) -> None:
    assert pasted(around(SHAPES[shape])).data == SOME


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "prefix",
    [
        "2024-01-01 12:00:00.123 DEBUG [nio-1] c.f.Handler - ",
        "12:00:00.123 [main] INFO Foo: ",
        "[2024-01-01T12:00:00Z] ",
        "Nov 28 14:37:33 host app[123]: ",
        "[   12.345678] foo: ",
        "12:00:00 ",
        "I1128 14:37:33.123456 1234 file.cc:123] ",
        "11-28 14:37:33.123  1234  5678 D Tag: ",
        "app_1  | ",
    ],
)
def test_prefixes_of_a_log(shape: str, prefix: str) -> None:
    text = "\n".join(prefix + line for line in SHAPES[shape].split("\n"))
    assert pasted(text).data == SOME


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if "\n" in SHAPES[shape]])
@pytest.mark.parametrize(("start", "form"), [(1, "{:6}\t"), (1, "{}: "), (9, "{:3} | "), (98, "{:4}  ")])
def test_numbers_of_lines(shape: str, start: int, form: str) -> None:
    lines = enumerate(SHAPES[shape].split("\n"), start)
    assert pasted("\n".join(form.format(number) + line for number, line in lines)).data == SOME


@pytest.mark.parametrize("number", ["1: ", "1:", "7. ", "12\t", "  3| "])
def test_one_numbered_line(number: str) -> None:
    assert pasted(number + SOME.hex()).data == SOME


@pytest.mark.parametrize(
    "text",
    [
        "  12  " + SOME.hex(),
        "1 " + spaced(SOME) + "\n2 " + spaced(SOME[:3]),
        "da bb e2 0 0 00 00 00 00 00 00 00",
    ],
)
def test_what_may_be_a_number_of_a_line_is_refused(text: str) -> None:
    assert broken(text).code in ("pasted-ambiguous", "pasted-damaged")


@pytest.mark.parametrize(
    ("text", "line", "column", "word"),
    [
        ("Hello\ndabbe20000000000\n0000zz01\n000000014e\n", 3, 1, "0000zz01"),
        ("hex: dabbe2000000 (magic) 00000000 00000001 0000014e", 1, 20, "magic"),
        ("['dabbe2000000', '00000000'].flat()", 1, 30, "flat"),
    ],
)
def test_a_hint_names_what_stands_in_the_way(text: str, line: int, column: int, word: str) -> None:
    note = pasted(text).note
    assert note == f"mostly hex, but at line {line}, column {column} {word!r} fits no form of bytes"


def test_lines_that_were_taken_are_noted() -> None:
    text = "Hello,\nwe get this:\n\n" + canonical(SOME) + "\nIs it Dubbo?"
    assert pasted(text).note == "lines 4 to 7 were taken as the bytes; the text around was left out"


def test_a_short_last_line_of_hex_in_prose() -> None:
    found = pasted("We received this:\n\ndabbe20000000000000000010000\n00014e\n\nCan you help?\n")
    assert found.data == bytes.fromhex("dabbe2000000000000000001000000014e")
    assert found.note == "lines 3 to 4 were taken as the bytes; the text around was left out"


def test_prose_never_hides_damage() -> None:
    rows_of = SHAPES["xxd"].split("\n")
    plain = canonical(SOME).split("\n")
    for lines in (
        [plain[0], "some remark here", plain[1]],
        [plain[0], "some remark here", plain[2]],
        [*rows_of[:-1], "00000020: 4e?    N"],
        [*rows_of[:-1], "0000002: 4e zz  N"],
        ["00000zz0: " + rows_of[0][10:], *rows_of[1:]],
        ["first:", *plain, "second:", *canonical(SOME[1:]).split("\n")],
    ):
        assert isinstance(outcome("\n".join(lines)), PastedError), lines


@pytest.mark.once
@pytest.mark.parametrize(
    "around",
    [
        lambda text: "Hello,\nwe get this:\n" + text + "\nWhy is it?",
        lambda text: "\n".join("12:00:00.123 [main] INFO Foo: " + line for line in text.split("\n")),
        lambda text: "\n".join(line + "  # row" for line in text.split("\n")),
        lambda text: "([]uint8) (len=33 cap=48) {\n" + text + "\n}",
    ],
)
@pytest.mark.parametrize("shape", ["canonical", "xxd", "netty"])
def test_damage_is_found_in_what_stands_around(shape: str, around: Callable[[str], str]) -> None:
    text = SHAPES[shape]
    for index in range(0, len(text), 7):
        if text[index] != "z":
            found = outcome(around(text[:index] + "z" + text[index + 1 :]))
            assert isinstance(found, PastedError) or found.form == "raw" or found.data == SOME, index


@pytest.mark.parametrize(
    "text",
    [
        "commit 956e315aa0bb11cc22dd33ee44ff556677889900\nAuthor: X\n\n    fix it",
        "956e315aa0bb11cc22dd33ee44ff556677889900  file.txt\n956e315aa0bb11cc22dd33ee44ff556677889901  b.txt",
        "id 550e8400-e29b-41d4-a716-446655440000 failed",
        "2024-01-01 12:30:45 done\n2024-01-01 12:30:46 more",
        "12:00:01 100 200 250 100 50 60 70 80 90",
        "10.0.0.1 20880\n10.0.0.2 20881",
        "listening on 10.0.0.1:20880\n12 34 56\nclosed",
    ],
)
def test_numbers_in_prose_are_raw(text: str) -> None:
    assert pasted(text).form == "raw"


def test_a_text_that_is_mostly_hex_has_a_hint() -> None:
    found = pasted("dabbe20000000000\n00000001 or so\n000000014e\n")
    assert found.form == "raw"
    assert found.note == "mostly hex, but at line 2, column 10 'or' fits no form of bytes"
    assert pasted("hello world").note == ""
    assert pasted("2024-01-01 12:30:45 done").note == ""


def test_hex_and_hex_with_comments_are_two_readings() -> None:
    error = broken("dabb ; cafe\n0011 ; beef\n")
    assert error.code == "pasted-ambiguous"


# --------------------------------------------------------------------------------------- properties


@examples(60)
@given(st.binary(min_size=24, max_size=90), st.sampled_from([*DUMPS, *LITERALS]))
@example(b"\0\0\1\0\x60" + bytes(40), "tcpdump -X")  # no IPv6 after a label: its length and protocol are 0
def test_rendered_and_read_is_identity(data: bytes, form: str) -> None:
    text = {**DUMPS, **LITERALS}[form](data)
    assert pasted(text).data == data


@examples(150)
@given(st.text(max_size=200))
def test_any_text_is_bytes_or_refused(text: str) -> None:
    found = outcome(text)
    if isinstance(found, PastedError):
        assert found.code in CODES
        assert found.line >= 1
        assert found.column >= 1
    else:
        assert found.form != "raw" or found.data == text.encode("utf-8", "surrogatepass")


SHARDS = [
    "0000  ",
    "00000010: ",
    "da bb ",
    "0x",
    "\\x4",
    "\\",
    '"',
    "'",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "<<",
    "<Buffer ",
    ">",
    "*\n",
    "...",
    "|",
    ",",
    "- ",
    "\n",
    "\t",
    "218",
    "-1",
    "=",
    "==",
    "2rviAA",
    "%DA",
    "b'",
    "!!binary |\n",
    "data: ",
    "begin 644 a\n",
    "end",
    "echo -ne ",
    "write(3, ",
    "```\n",
    "> ",
    "\\u00e9",
    "\\332",
    "=> Send data, 3 bytes (0x3)\n",
    "é",
    ":",
]


@examples(300)
@given(st.lists(st.sampled_from(SHARDS), max_size=14).map("".join), st.sampled_from(["auto", *FORMS]))
def test_shards_of_forms_raise_nothing_else(text: str, form: str) -> None:
    found = outcome(text, form)
    assert isinstance(found, Pasted) or found.line <= text.count("\n") + 1


WORDS = st.lists(
    st.text(string.ascii_lowercase, min_size=1, max_size=9).filter(
        lambda word: not set(word) <= set("abcdef")
    ),
    min_size=2,
    max_size=20,
)


@examples(100)
@given(WORDS, st.sampled_from([" ", "\n", ", "]))
def test_arbitrary_prose_is_raw(words: list[str], join: str) -> None:
    text = join.join(words).capitalize() + "."
    assert pasted(text).form == "raw"


# --------------------------------------------------------------------------------------------- cost


def cost(text: str) -> float:
    """Seconds of this process's own time that reading takes, however busy the machine is."""
    start = time.process_time()
    with contextlib.suppress(PastedError):
        pasted(text)
    return time.process_time() - start


def check_linear(text: Callable[[int], str], size: int) -> None:
    """Ten times the text costs about ten times as much; a hundred times, if it were read over and over."""
    assert cost(text(size)) < 40 * max(cost(text(size // 10)), 0.01)


@pytest.mark.once
@pytest.mark.parametrize(
    "form", ["plain", "pairs, wrapped", "xxd -p", "hexdump -C", "c array", "base64", "bare \\x", "decimal"]
)
def test_long_text_costs_by_its_length(form: str) -> None:
    data = RANDOM.randbytes(200_000)
    render = {**DUMPS, **LITERALS, **BARE}[form]
    assert pasted(render(data)).data == data
    check_linear(lambda size: render(data[:size]), len(data))


@pytest.mark.once
@pytest.mark.parametrize(
    ("before", "unit", "after"),
    [
        ("", "[", ""),
        ('"', "\\", ""),
        ("", "(byte)", ""),
        ("", "0000 ", ""),
        ("", "'", ""),
        ("{", "1,", ""),
        ("", "a: ", ""),
        ("", "x = ", ""),
        ("", "\n", ""),
        ("", "//", ""),
        ("", "\\x41", "\\"),
        ("", "<", ""),
        ("", " ", "x"),
        ("", "ab ", "x y"),
    ],
)
def test_hostile_text_costs_by_its_length(before: str, unit: str, after: str) -> None:
    check_linear(lambda size: before + unit * size + after, 100_000)


LONG = random.Random(7).randbytes(150_001)
LONG_TEXTS: dict[str, str] = {
    "colons": LONG.hex(":"),
    "dashes": LONG.hex("-").upper(),
    "commas": LONG.hex(","),
    "blanks": LONG.hex(" ") + "\n",
    "0x": " ".join(f"0x{byte:02x}" for byte in LONG),
    "0x and commas": ",\n".join(f"0x{byte:02X}" for byte in LONG),
    "percent": "".join(f"%{byte:02X}" for byte in LONG),
    "percent and letters": urllib.parse.quote_from_bytes(LONG, safe=""),
    "base32": base64.b32encode(LONG).decode(),
    "base64": base64.b64encode(LONG).decode(),
    "decimal": " ".join(map(str, LONG)),
    "bits": " ".join(f"{byte:08b}" for byte in LONG),
    "octal": " ".join(f"{byte:03o}" for byte in LONG),
}


@pytest.mark.once
@pytest.mark.parametrize("name", LONG_TEXTS)
def test_long_texts(name: str) -> None:
    assert pasted(LONG_TEXTS[name]).data == LONG


@pytest.mark.once
@pytest.mark.parametrize("name", ["colons", "commas", "blanks", "0x", "percent", "base32", "base64"])
def test_long_texts_take_little_memory(name: str) -> None:
    text = LONG_TEXTS[name]
    tracemalloc.start()
    try:
        pasted(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 12 * len(text)


def test_damage_in_long_texts_is_said() -> None:
    for name in ("colons", "blanks", "0x"):
        text = LONG_TEXTS[name]
        with pytest.raises(PastedError) as caught:
            pasted(text[:300_003] + "zz" + text[300_005:])
        assert caught.value.code == "pasted-damaged"


def result_of(text: str) -> tuple[str, bytes] | tuple[str, int, int, str]:
    found = outcome(text)
    if isinstance(found, PastedError):
        return found.code, found.line, found.column, found.text
    return found.form, found.data


@pytest.mark.once
@pytest.mark.parametrize("name", [*DUMPS, *LITERALS])
@pytest.mark.parametrize("kind", ["random", "runs", "text"])
def test_long_texts_mean_the_same_read_quickly(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chooser = random.Random(name + kind)
    data = chooser.randbytes(17_003)
    if kind == "runs":
        data = bytes(5000) + data + b"\xff" * 5001
    elif kind == "text":
        data = bytes(chooser.choices(string.printable.encode()[:95], k=20_000))
    text = {**DUMPS, **LITERALS}[name](data)
    texts = [text, text.rstrip("\n"), text[: len(text) * 2 // 3]]
    for _ in range(2):
        at = chooser.randrange(len(text))
        change = chooser.choice(["", "  ", "x", "9", ",", "\n", "*\n", "999"])
        texts.append(text[:at] + change + text[at + 1 :])
    quickly = [result_of(each) for each in texts]
    module = sys.modules["wirelens.codecs.captures.pasting"]
    monkeypatch.setattr(module, "quick", lambda text, careful: None)
    for each, found in zip(texts, quickly, strict=True):
        assert found == result_of(each)


class Counted(str):
    """A text that counts the characters its searches look at."""

    looked = 0

    def count(self, part: str, start: int = 0, end: int | None = None) -> int:  # type: ignore[override]
        Counted.looked += (len(self) if end is None else end) - start
        return str.count(self, part, start, end)

    def rfind(self, part: str, start: int = 0, end: int | None = None) -> int:  # type: ignore[override]
        found = str.rfind(self, part, start, end)
        Counted.looked += (len(self) if end is None else end) - max(found, start)
        return found


@pytest.mark.parametrize("unit", ['"a" ', "'\\n", '"\n"'])
def test_places_of_literals_are_not_counted_from_the_start(unit: str) -> None:
    source = source_of(unit * 3000)
    assert source is not None
    source.text = Counted(source.text)
    Counted.looked = 0
    with contextlib.suppress(PastedError):
        read_strings(source)
    assert Counted.looked <= 20 * len(source.text)


def test_a_run_of_marks_before_a_literal_is_prose() -> None:
    for mark in (".", "!", "::", "->", "()."):
        text = f'Loading{mark * 200} done "x"\n'
        assert pasted(text) == Pasted(text.encode(), "raw")


def test_many_short_lines_are_no_form() -> None:
    text = "a\n" * ((1 << 18) + 1)
    found = pasted(text)
    assert (found.data, found.form) == (text.encode(), "raw")
    assert "more than 262,144 lines" in found.note
    assert broken(text, "dump").code == "pasted-limit"
    assert pasted("da\n" * ((1 << 18) + 1)).data == b"\xda" * ((1 << 18) + 1)


@pytest.mark.parametrize(
    ("before", "line", "column", "word"),
    [("", 2, 10, "or"), ("Hello there\n", 3, 10, "or"), ("Hello\ndabbe20000000000\n", 4, 10, "or")],
)
def test_the_hint_of_a_long_text(before: str, line: int, column: int, word: str) -> None:
    text = before + "dabbe20000000000\n00000001 or so\n000000014e\n" + "00000001 more\n" * 2000
    found = pasted(text)
    assert found.note == f"mostly hex, but at line {line}, column {column} {word!r} fits no form of bytes"
    assert found.form == "raw"
