"""mevent: the vectors, and what they do not hold."""

import json
from pathlib import Path
from typing import Any

import checks
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from wirelens import codecs
from wirelens.cli.main import group
from wirelens.codecs.codec import Exchange
from wirelens.codecs.cursor import Cursor
from wirelens.codecs.errors import EncodeError
from wirelens.codecs.mevent.codec import CODECS
from wirelens.codecs.mevent.decoding import VariablesReader, fits
from wirelens.codecs.mevent.reading import code_meaning, code_name, command_meaning
from wirelens.codecs.mevent.vocabulary import LONGEST_HEAD, MAX_NOTES
from wirelens.codecs.node import Node
from wirelens.codecs.record import Record
from wirelens.codecs.tape import Buffer, Tape

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
VECTORS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "vectors/mevent.jsonl").read_text().splitlines()
]
NAMES = [str(vector["name"]) for vector in VECTORS]
TAILS = {"another": b"", "junk": b"\xff" * 16, "text": b"GET / HTTP/1.1\r\n", "zeros": bytes(16)}


def without_hdf(value: Any) -> Any:
    """A message without the trees of its HDF text, which the vectors do not show."""
    if isinstance(value, dict):
        return {key: without_hdf(inner) for key, inner in value.items() if key != "hdf"}
    return [without_hdf(inner) for inner in value] if isinstance(value, list) else value


def message(record: Record) -> Any:
    as_json = record.to_json()
    assert isinstance(as_json, dict)
    return as_json["message"]


def in_bytes(data: bytes) -> list[Record]:
    decoder = codecs.Decoder("mevent")
    records = []
    for at in range(len(data)):
        records.extend(decoder.feed(data[at : at + 1]))
    return records + decoder.close()


def texts(records: list[Record]) -> list[str]:
    return [record.json_text() for record in records]


def word(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(4, "big") for number in numbers)


def text(content: bytes) -> bytes:
    return word(len(content)) + content


def request(body: bytes = b"", ident: int = 7, flags: int = 2, version: int = 1) -> bytes:
    return word(version << 28 | ident, 5 << 16 | flags) + text(b"plug") + body


def reply(val: bytes | None = None, ident: int = 7, code: int = 1000) -> bytes:
    return word(ident, code) + (b"" if val is None else text(val))


def prefixed(data: bytes) -> bytes:
    return word(len(data) + 4) + data


def string(name: bytes, value: bytes, kind: int = 2) -> bytes:
    return word(kind) + text(name) + text(value)


def number(name: bytes, value: int) -> bytes:
    return word(1) + text(name) + word(value)


def array(name: bytes, *elements: bytes, kind: int = 3) -> bytes:
    return word(kind) + text(name) + word(len(elements)) + b"".join(elements)


EOF = word(0)
ROOT = string(b"root", b"a = 1\n\0", 3)


def decode(data: bytes) -> list[Record]:
    """The records of an input, the same whole and in single bytes, with the same bytes back."""
    records = codecs.decode(data, "mevent")
    assert codecs.encode(records) == data
    assert codecs.encode([record.to_json() for record in records]) == data
    assert texts(in_bytes(data)) == texts(records)
    return records


def codes(record: Record) -> list[str]:
    return [note.code for note in record.notes]


@pytest.mark.parametrize("vector", VECTORS, ids=NAMES)
def test_meaning_and_bytes_back(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    records = codecs.decode(data, "mevent")
    assert [without_hdf(message(record)) for record in records] == [vector["message"]]
    assert [record.error for record in records] == [None]
    assert codecs.encode([record.to_json() for record in records]) == data
    assert texts([Record.from_json(records[0].to_json())]) == texts(records)
    eof = vector["message"].get("request", vector["message"].get("reply")).get("eof", True)
    assert codes(records[0]) == ([] if eof else ["missing-eof"])


@pytest.mark.parametrize("vector", VECTORS, ids=NAMES)
def test_one_byte_at_a_time(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    assert texts(in_bytes(data)) == texts(codecs.decode(data, "mevent"))


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("vector", VECTORS, ids=NAMES)
def test_followed_by_other_bytes(vector: dict[str, Any], tail: str) -> None:
    data = bytes.fromhex(vector["hex"])
    whole = vector["message"]
    if tail == "zeros" and not whole.get("prefix"):
        if not whole.get("request", {"eof": True})["eof"]:
            pytest.skip("zeros are the end marker that was missing")
        if "reply" in whole and "variables" not in whole["reply"]:
            pytest.skip("zeros are a vsize")
    following = TAILS[tail] or data
    records = codecs.decode(data + following, "mevent")
    assert without_hdf(message(records[0])) == whole
    assert records[0].length == len(data)
    if tail == "another":
        assert [without_hdf(message(record)) for record in records] == [whole, whole]
    assert codecs.encode([record.to_json() for record in records]) == data + following
    assert texts(in_bytes(data + following)) == texts(records)


@pytest.mark.parametrize("vector", VECTORS, ids=NAMES)
def test_detected(vector: dict[str, Any]) -> None:
    found = codecs.detect(bytes.fromhex(vector["hex"]))
    assert found.protocol == "mevent"
    assert found.candidates[0].reasons


def test_a_stream_of_every_vector(shared: Path) -> None:
    """Back to back in one stream, as far as what has no length of its own can be."""
    chosen = [vector for vector in VECTORS if vector["transport"] == "tcp"]
    records = codecs.decode(b"".join(bytes.fromhex(vector["hex"]) for vector in chosen), "mevent")
    assert [without_hdf(message(record)) for record in records] == [vector["message"] for vector in chosen]


@pytest.mark.parametrize("name", ["mevent_udp_tcp", "mevent_typed_cells_udp_tcp"])
def test_sessions_hold_the_vectors(shared: Path, name: str) -> None:
    wanted = {vector["hex"]: vector["message"] for vector in VECTORS if name in vector["provenance"]}
    seen = set()
    for flow in codecs.captures.flows([(shared / f"captures/sessions/{name}.pcap").read_bytes()]):
        for direction in flow.directions:
            data = direction.data
            records = codecs.decode(data, "mevent")
            assert codecs.encode(records) == data
            for record in records:
                # one datagram is too short for any message: servers drop it
                assert record.error is None or data[record.offset :] == bytes(7)
                raw = data[record.offset : record.offset + record.length].hex()
                if raw in wanted:
                    assert without_hdf(message(record)) == wanted[raw]
                    seen.add(raw)
    assert seen == set(wanted)


def test_negatives_stay_unknown(shared: Path) -> None:
    for path in sorted((shared / "captures/negative").glob("*.bin")):
        data = path.read_bytes()
        if len(data) >= 16:
            assert CODECS[0].probe(data[: 1 << 16], b"").bits < 24, path.name


HDF = [{"name": "a", "value": "1"}]
MEANINGS: list[tuple[str, bytes, list[dict[str, Any]], list[str]]] = [
    (
        "the text's numbering, all types",
        request(
            number(b"n", 0xFFFFFFFF) + string(b"s", b"x") + array(b"l", number(b"0", 1), array(b"1")) + EOF
        ),
        [
            {
                "request": {
                    "version": 1,
                    "id": 7,
                    "command": 5,
                    "flags": 2,
                    "plugin": "plug",
                    "variables": [
                        {"type": "U32", "name": "n", "value": 0xFFFFFFFF},
                        {"type": "STRING", "name": "s", "value": "x"},
                        {
                            "type": "ARRAY",
                            "name": "l",
                            "value": [
                                {"type": "U32", "name": "0", "value": 1},
                                {"type": "ARRAY", "name": "1", "value": []},
                            ],
                        },
                    ],
                    "eof": True,
                },
                "dialect": "specified",
            }
        ],
        [],
    ),
    (
        "root as HDF",
        prefixed(reply(ROOT + EOF)),
        [
            {
                "prefix": True,
                "reply": {
                    "id": 7,
                    "code": 1000,
                    "variables": [{"type": "STRING", "name": "root", "value": "a = 1\n\0", "hdf": HDF}],
                    "eof": True,
                },
                "dialect": "deployed",
            }
        ],
        [],
    ),
    (
        "root as HDF in the text's numbering",
        reply(string(b"root", b"a = 1\n") + EOF),
        [
            {
                "reply": {
                    "id": 7,
                    "code": 1000,
                    "variables": [{"type": "STRING", "name": "root", "value": "a = 1\n", "hdf": HDF}],
                    "eof": True,
                },
                "dialect": "specified",
            }
        ],
        [],
    ),
    (
        "a ULONG whose bytes also read as an empty STRING and the end",
        prefixed(request(word(2) + text(b"u") + word(0, 0) + EOF)),
        [
            {
                "prefix": True,
                "request": {
                    "version": 1,
                    "id": 7,
                    "command": 5,
                    "flags": 2,
                    "plugin": "plug",
                    "variables": [{"type": "ULONG", "name": "u", "value": 0}],
                    "eof": True,
                },
                "dialect": "deployed",
            }
        ],
        [],
    ),
    (
        "a failed send",
        prefixed(word(7, 13, 15)),
        [{"prefix": True, "reply": {"id": 7, "code": 13, "error_code": 15}}],
        ["bare-error-code"],
    ),
    (
        "a failed send without prefix",
        word(7, 13, 15),
        [{"reply": {"id": 7, "code": 13, "error_code": 15}}],
        ["bare-error-code"],
    ),
    (
        "a byte-swapped id",
        bytes.fromhex("efcdab000000000e"),
        [{"reply": {"id": 0xEFCDAB00, "code": 14}}],
        ["odd-id"],
    ),
    (
        "an id from the stack",
        bytes.fromhex("1d7f000000000010"),
        [{"reply": {"id": 0x1D7F0000, "code": 16}}],
        ["odd-id"],
    ),
    (
        "the same after a prefix",
        prefixed(bytes.fromhex("fd7f000000000010")),
        [{"prefix": True, "reply": {"id": 0xFD7F0000, "code": 16}}],
        ["odd-id"],
    ),
    (
        "vsize 0",
        word(7, 1000, 0),
        [{"reply": {"id": 7, "code": 1000, "variables": [], "eof": False}, "dialect": "specified"}],
        ["missing-eof"],
    ),
    (
        "a reply of an end marker",
        reply(EOF),
        [{"reply": {"id": 7, "code": 1000, "variables": [], "eof": True}, "dialect": "specified"}],
        [],
    ),
    (
        "bytes after the end inside vsize and inside the prefix",
        prefixed(reply(ROOT + EOF + b"\1\2") + b"\3"),
        [],
        [],
    ),
    (
        "the same twice",
        request(string(b"d", b"1", 3) + string(b"d", b"2", 3) + number(b"d", 1) + EOF),
        [
            {
                "request": {
                    "version": 1,
                    "id": 7,
                    "command": 5,
                    "flags": 2,
                    "plugin": "plug",
                    "variables": [
                        {"type": "STRING", "name": "d", "value": "1"},
                        {"type": "STRING", "name": "d", "value": "2"},
                        {"type": "U32", "name": "d", "value": 1},
                    ],
                    "eof": True,
                },
                "dialect": "deployed",
            }
        ],
        ["duplicate-variable"],
    ),
    (
        "another version",
        request(EOF, version=2),
        [
            {
                "request": {
                    "version": 2,
                    "id": 7,
                    "command": 5,
                    "flags": 2,
                    "plugin": "plug",
                    "variables": [],
                    "eof": True,
                },
                "dialect": "specified",
            }
        ],
        ["other-version"],
    ),
]
WITH_EXTRA = {
    "prefix": True,
    "reply": {
        "id": 7,
        "code": 1000,
        "variables": [{"type": "STRING", "name": "root", "value": "a = 1\n\0", "hdf": HDF}],
        "eof": True,
        "extra": "0102",
    },
    "dialect": "deployed",
}


@pytest.mark.parametrize(
    ("data", "wanted", "notes"),
    [case[1:] for case in MEANINGS if case[2]],
    ids=[case[0] for case in MEANINGS if case[2]],
)
def test_meanings(data: bytes, wanted: list[Any], notes: list[str]) -> None:
    records = decode(data)
    assert [message(record) for record in records] == wanted
    assert [code for record in records for code in codes(record)] == notes


def test_bytes_left_over_are_kept() -> None:
    records = decode(prefixed(reply(ROOT + EOF + b"\1\2")))
    assert [message(record) for record in records] == [WITH_EXTRA]
    assert codes(records[0]) == ["extra-bytes"]
    inside = prefixed(request(EOF) + b"\1\2\3")
    records = decode(inside)
    assert message(records[0])["extra"] == "010203"
    assert codes(records[0]) == ["extra-bytes"]
    assert records[0].length == len(inside)


STREAMS: list[tuple[str, list[bytes]]] = [
    ("requests without end markers", [request(number(b"q", 1), ident=n) for n in (1, 2, 3, 4, 5)]),
    ("requests without variables", [request(ident=n) for n in (1, 9, 300)]),
    ("deployed requests whose ids look like types", [request(ROOT + EOF, ident=n) for n in (1, 2, 3, 4, 5)]),
    (
        "replies without data",
        [reply(ident=n, code=code) for n, code in ((1, 100), (1, 100), (2, 515), (3, 1000))],
    ),
    ("replies without data, ids as lengths", [reply(ident=n, code=22) for n in (12, 16, 20, 21, 300)]),
    (
        "replies of all sorts",
        [reply(ident=12), reply(ROOT + EOF, ident=13), reply(ident=14, code=17), reply(EOF, ident=16)],
    ),
    (
        "prefixed replies",
        [
            prefixed(reply(ident=1000, code=1000)),
            prefixed(reply(EOF)),
            prefixed(reply(ROOT + EOF)),
            prefixed(word(7, 13, 16)),
        ],
    ),
    (
        "prefixed requests",
        [prefixed(request(ROOT + EOF)), prefixed(request(number(b"q", 1), ident=1)), prefixed(request())],
    ),
    ("a request and its reply", [request(number(b"q", 1), ident=1), reply(ident=1, code=100)]),
    ("a request and its reply, by their id", [request(number(b"q", 1), ident=3), reply(ROOT + EOF, ident=3)]),
    (
        "a ULONG before the next request",
        [request(word(2) + text(b"u") + word(0, 0) + EOF, ident=9), request(EOF)],
    ),
]


@pytest.mark.parametrize("parts", [case[1] for case in STREAMS], ids=[case[0] for case in STREAMS])
def test_messages_back_to_back(parts: list[bytes]) -> None:
    records = decode(b"".join(parts))
    assert [record.length for record in records] == [len(part) for part in parts]
    assert [record.error for record in records] == [None] * len(parts)
    alone = [message(codecs.decode(part, "mevent")[0]) for part in parts]
    assert [message(record) for record in records] == alone


FAILURES: list[tuple[str, bytes, str, int]] = [
    ("too short", b"\x10\0\0", "truncated", 0),
    ("a cut head", request()[:11], "truncated", 0),
    ("a cut name", request()[:14], "truncated", 12),
    ("a cut type", request()[:] + b"\0\0", "truncated", 16),
    ("a cut value", request(string(b"s", b"abc")[:-1]), "truncated", 29),
    ("a cut val", reply(ROOT + EOF)[:-1], "truncated", 35),
    (
        "a cut message with prefix",
        prefixed(request(ROOT + EOF))[:-1],
        "truncated",
        43,
    ),
    ("an unknown type", request(word(5) + text(b"n") + word(1)), "unknown-type", 16),
    ("an unknown type inside val", reply(word(9) + text(b"n") + word(1) + EOF, code=25), "unknown-type", 12),
    (
        "an end marker inside an array",
        prefixed(request(array(b"l", EOF + b"\0" * 8, kind=4))),
        "unknown-type",
        33,
    ),
    ("a name beyond the prefix", prefixed(request(word(1, 100) + b"n")), "bad-length", 28),
    ("more elements than bytes", prefixed(reply(word(4) + text(b"l") + word(1 << 20))), "bad-length", 25),
    ("vsize beyond the prefix", prefixed(word(7, 1000, 100, 0, 0)), "bad-length", 12),
    ("a name of gigabytes", word(1 << 28 | 1, 0, 0xFFFFFFFF), "limit", 12),
    ("zeros", bytes(32), "no-message", 0),
]


@pytest.mark.parametrize(
    ("data", "code", "at"), [case[1:] for case in FAILURES], ids=[case[0] for case in FAILURES]
)
def test_failures(data: bytes, code: str, at: int) -> None:
    failed = [record for record in decode(data) if record.error is not None]
    assert failed
    assert failed[0].error is not None
    assert (failed[0].error.code, failed[0].error.offset) == (code, at)


def test_what_decoded_before_a_failure_is_shown() -> None:
    data = prefixed(request(string(b"a", b"x", 3) + string(b"b", b"y", 9) + EOF))
    as_json = decode(data)[0].to_json()
    assert isinstance(as_json, dict)
    assert as_json["partial"] == {
        "prefix": True,
        "request": {
            "version": 1,
            "id": 7,
            "command": 5,
            "flags": 2,
            "plugin": "plug",
            "variables": [{"type": "STRING", "name": "a", "value": "x"}],
        },
    }


@pytest.mark.parametrize(
    "following",
    [
        request(ROOT + EOF),
        prefixed(request(ROOT + EOF)),
        prefixed(reply(ROOT + EOF)),
        prefixed(reply()),
        reply(ROOT + EOF),
    ],
)
def test_decoding_goes_on_after_damage(following: bytes) -> None:
    records = decode(b"\xff" * 5 + following + following)
    assert records[0].error is not None
    assert [record.length for record in records[1:]] == [len(following)] * 2
    assert [record.error for record in records[1:]] == [None, None]


def test_a_damaged_message_with_prefix_ends_where_its_prefix_says() -> None:
    damaged = bytearray(prefixed(request(ROOT + EOF)))
    damaged[23] = 9  # the type of its variable
    good = prefixed(request(ROOT + EOF)) + bytes(LONGEST_HEAD)
    records = decode(bytes(damaged) + good)
    assert records[0].error is not None
    assert [record.length for record in records[:2]] == [len(damaged), len(damaged)]
    assert records[1].error is None


def test_over_64_kib_is_noted() -> None:
    big = string(b"s", b"x" * (1 << 16), 3) + EOF
    assert codes(codecs.decode(request(big), "mevent")[0]) == ["over-64k"]
    assert codes(codecs.decode(prefixed(request(big)), "mevent")[0]) == ["over-64k"]
    assert codes(codecs.decode(request(string(b"s", b"x", 3) + EOF), "mevent")[0]) == []


def test_nesting_is_no_limit() -> None:
    body = b""
    body = (word(3) + text(b"") + word(1)) * min(checks.DEEP, 50_000) + number(b"n", 5) + EOF
    records = codecs.decode(request(body), "mevent")
    assert records[0].error is None
    assert codecs.encode([codecs.loads(records[0].json_text())]) == request(body)


def test_notes_have_a_limit() -> None:
    record = codecs.decode(request(number(b"n", 1) * 1000 + EOF), "mevent")[0]
    assert 1 < len(record.notes) <= 20


CODES: list[tuple[int, str, str]] = [
    (13, "REP_ERR", "REP_ERR with ClearSilver 0.10.5"),
    (
        17,
        "REP_ERR_UNKREQ or REP_ERR_BROKEN",
        "REP_ERR_UNKREQ with ClearSilver 0.10.5; or REP_ERR_BROKEN with its trunk, as in the text",
    ),
    (24, "REP_ERR_CACHE_MISS", "REP_ERR_CACHE_MISS with its trunk, as in the text"),
    (25, "REP_ERR_APP", "REP_ERR_APP, the application's own"),
    (100, "REP_OK", "REP_OK of the typed era; or REP_ERR_APP, the application's own"),
    (521, "REP_ERR_BADPARAM", "REP_ERR_BADPARAM of the typed era; or REP_ERR_APP, the application's own"),
    (1000, "REP_OK", "REP_OK"),
    (1025, "", "REP_OK with the application's number; or REP_ERR_APP of the typed era"),
    (0x801, "", "REP_OK with the application's number; or a system code of May 2009"),
    (5, "", "an error of ClearSilver itself"),
    (0xFFFFFFF0, "", "-16 in signed numbers"),
]


@pytest.mark.parametrize(("code", "name", "meaning"), CODES)
def test_reply_codes(code: int, name: str, meaning: str) -> None:
    assert code_name(code) == name
    assert code_meaning(code) == meaning


SUMMARIES: list[tuple[bytes, str, str, str]] = [
    (request(ROOT + EOF), "REQUEST #7 plug command 5 SYNC (a)", "request", "7"),
    (request(EOF, ident=1, flags=1), "REQUEST #1 plug command 5 CACHE_ONLY (async)", "request", ""),
    (reply(), "REPLY #7 1000 REP_OK", "reply", "7"),
    (reply(code=0xFFFFFFF0), "REPLY #7 -16", "reply", "7"),
    (
        reply(
            string(b"root", b"Output {\nerrmsg = need key\nerrtrace << EOM\na\nb\nEOM\n}\n", 3) + EOF, code=22
        ),
        'REPLY #7 22 REP_ERR_BADPARAM or REP_ERR_PACK "need key" (errtrace 2 lines)',
        "reply",
        "7",
    ),
    (
        reply(string(b"errmsg", b"need key", 3) + number(b"n", 1) + EOF, ident=1, code=521),
        'REPLY #1 521 REP_ERR_BADPARAM "need key" (n)',
        "reply",
        "",
    ),
    (
        prefixed(word(7, 13, 15)),
        "REPLY #7 13 REP_ERR error code 15 REP_ERR_SEND or REP_ERR_VER",
        "reply",
        "7",
    ),
]


@pytest.mark.parametrize(("data", "summary", "kind", "key"), SUMMARIES)
def test_summaries_and_pairing(data: bytes, summary: str, kind: str, key: str) -> None:
    record = codecs.decode(data, "mevent")[0]
    assert (record.summary, record.kind) == (summary, kind)
    assert record.root is not None
    assert record.codec is not None
    assert record.codec.exchange(record.root) == Exchange(kind, key)


def annotations(node: Node) -> dict[str, str]:
    return {part.name: meaning for part in node.children if (meaning := CODECS[0].annotate(part))}


def test_annotations() -> None:
    data = word(1 << 28 | 7, 1000 << 16 | 1) + text(b"Reserve.Status")
    root = codecs.decode(data, "mevent")[0].root
    assert root is not None
    assert annotations(root.children[0]) == {
        "command": "STATS",
        "flags": "CACHE_ONLY: no reply expected (typed era: REP_OK at once)",
        "eof": "no end marker",
    }
    root = codecs.decode(reply(code=23), "mevent")[0].root
    assert root is not None
    assert annotations(root.children[0]) == {"code": code_meaning(23)}


WRITTEN: list[tuple[dict[str, Any], bytes]] = [
    ({"request": {"plugin": "p"}}, word(1 << 28 | 1, 0) + text(b"p") + EOF),
    (
        {"request": {"plugin": "p", "command": "STATS", "flags": "SYNC", "eof": False}},
        word(1 << 28 | 1, 1000 << 16 | 2) + text(b"p"),
    ),
    (
        {"request": {"plugin": "p", "variables": [{"type": "STRING", "name": "root", "hdf": HDF}]}},
        word(1 << 28 | 1, 0) + text(b"p") + string(b"root", b"a = 1\n") + EOF,
    ),
    (
        {
            "request": {"plugin": "p", "variables": [{"type": "STRING", "name": "root", "hdf": HDF}]},
            "dialect": "deployed",
            "prefix": True,
        },
        prefixed(word(1 << 28 | 1, 0) + text(b"p") + string(b"root", b"a = 1\n\0", 3) + EOF),
    ),
    (
        {"request": {"plugin": "p", "command": "REQ_CMD_NONE", "flags": "CACHE_ONLY|SYNC"}},
        word(1 << 28 | 1, 3) + text(b"p") + EOF,
    ),
    (
        {"request": {"plugin": "p", "command": "CAS", "id": "0x1e"}},
        word(1 << 28 | 30, 7 << 16) + text(b"p") + EOF,
    ),
    ({"reply": {"code": "REP_OK"}}, word(1, 1000)),
    ({"reply": {"code": "REP_ERR_BROKEN"}}, word(1, 17)),
    ({"reply": {"code": -1}}, word(1, 0xFFFFFFFF)),
    (
        {"reply": {"code": 1, "variables": [{"type": "DATA_TYPE_U32", "name": "u", "value": 5}]}},
        reply(word(1) + text(b"u") + word(5) + EOF, ident=1, code=1),
    ),
    (
        {
            "reply": {"code": 1, "variables": [{"type": "ULONG", "name": "u", "value": (1 << 64) - 1}]},
            "dialect": "deployed",
        },
        reply(word(2) + text(b"u") + b"\xff" * 8 + EOF, ident=1, code=1),
    ),
    ({"reply": {"code": 13, "error_code": 15}, "prefix": True}, prefixed(word(1, 13, 15))),
    ({"reply": {"code": 1000}}, word(1, 1000)),
]


@pytest.mark.parametrize(("written", "data"), WRITTEN)
def test_encode_by_hand(written: dict[str, Any], data: bytes) -> None:
    assert codecs.encode(written, "mevent") == data


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({}, "", 'one of "request" and "reply"'),
    ({"request": {}, "reply": {}}, "", 'one of "request" and "reply"'),
    ({"requst": {}}, "requst", "no such member"),
    ({"request": {}}, "request", '"plugin"'),
    ({"request": {"plugin": 1}}, "request.plugin", "expected text"),
    ({"request": {"plugin": "p", "id": 1 << 28}}, "request.id", "not in 0"),
    ({"request": {"plugin": "p", "command": "STAT"}}, "request.command", "not one of NONE"),
    ({"request": {"plugin": "p"}, "dialect": "real"}, "dialect", "specified"),
    ({"request": {"plugin": "p"}, "prefix": 1}, "prefix", "true or false"),
    ({"request": {"plugin": "p"}, "extra": "00"}, "extra", "prefix"),
    ({"request": {"plugin": "p", "eof": 1}}, "request.eof", "true or false"),
    (
        {"request": {"plugin": "p", "variables": [{"type": "ULONG", "name": "u", "value": 1}]}},
        "request.variables[0].type",
        "deployed",
    ),
    (
        {"request": {"plugin": "p", "variables": [{"type": "U33", "name": "u", "value": 1}]}},
        "request.variables[0].type",
        "U32, STRING, ARRAY",
    ),
    (
        {"request": {"plugin": "p", "variables": [{"type": 1, "name": "u", "value": 1}]}},
        "request.variables[0].type",
        "U32, STRING, ARRAY",
    ),
    (
        {"request": {"plugin": "p", "variables": [{"type": "U32", "value": 1}]}},
        "request.variables[0]",
        '"name"',
    ),
    (
        {"request": {"plugin": "p", "variables": [{"type": "U32", "name": "n"}]}},
        "request.variables[0]",
        '"value"',
    ),
    (
        {"request": {"plugin": "p", "variables": [{"type": "U32", "name": "n", "value": -1}]}},
        "request.variables[0].value",
        "not in 0",
    ),
    (
        {
            "request": {
                "plugin": "p",
                "variables": [
                    {"type": "ARRAY", "name": "n", "value": [{"type": "STRING", "name": "s", "value": 1}]}
                ],
            }
        },
        "request.variables[0].value[0].value",
        "expected text",
    ),
    (
        {
            "request": {
                "plugin": "p",
                "variables": [{"type": "STRING", "name": "root", "hdf": [{"name": "a"}]}],
            }
        },
        "request.variables[0].hdf[0]",
        "needs value",
    ),
    *(
        (
            {"reply": {"code": 1000, "variables": [{"type": "STRING", "name": "root", **edited}]}},
            "reply.variables[0].hdf",
            "delete the one",
        )
        for edited in (
            {"value": "b", "hdf": HDF},
            {"value": "a = 2\n\0", "hdf": HDF},
            {"value": "a = 1\nb = 2\n", "hdf": HDF},
            {"value": "a = 1\n", "hdf": []},
        )
    ),
    ({"request": {"plugin": "p", "flags": "SYNCH"}}, "request.flags", 'did you mean "SYNC"?'),
    ({"reply": {"code": "REP_ERR_BROKN"}}, "reply.code", 'did you mean "REP_ERR_BROKEN"?'),
    ({"request": {"plugin": "p", "flag": 1}}, "request.flag", 'did you mean "flags"?'),
    ({"reply": {}}, "reply", '"code"'),
    ({"reply": {"code": 1, "eof": True}}, "reply.eof", "variables"),
    ({"reply": {"code": 1}, "dialect": "deployed"}, "dialect", "no dialect"),
    ({"reply": {"code": 1, "variables": [], "error_code": 1}}, "reply.error_code", "takes the place of"),
]


@pytest.mark.parametrize(("written", "path", "expected"), REFUSED)
def test_refused(written: dict[str, Any], path: str, expected: str) -> None:
    with pytest.raises(EncodeError) as caught:
        codecs.encode(written, "mevent")
    assert caught.value.path == path
    assert expected in caught.value.text


def test_requests_under_17_bytes_are_noted() -> None:
    short = word(1 << 28 | 1, 0) + text(b"") + EOF
    (record,) = codecs.decode(short, "mevent")
    assert [(note.code, note.offset) for note in record.notes] == [("short-request", 0)]
    assert "16 bytes" in record.notes[0].text
    (record,) = codecs.decode(prefixed(short), "mevent")
    assert [(note.code, note.offset) for note in record.notes] == [("short-request", 4)]
    (record,) = codecs.decode(word(1 << 28 | 1, 0) + text(b"abcd"), "mevent")
    assert [note.code for note in record.notes] == ["missing-eof"]
    assert "16 bytes" in record.notes[0].text
    for good in (word(1 << 28 | 1, 0) + text(b"p") + EOF, word(1, 1000)):
        assert codecs.decode(good, "mevent")[0].notes == []


def damage(data: bytes) -> tuple[str, str]:
    """The kind of the last variable that decoded before the damage, and the error's code."""
    (record,) = codecs.decode(data, "mevent")
    assert record.error is not None
    shown: Any = record.to_json()
    part = shown["partial"].get("request") or shown["partial"]["reply"]
    return part["variables"][-1]["type"], record.error.code


def test_damage_is_told_in_the_dialect_that_fits() -> None:
    head = word(1 << 28 | 1, 0) + text(b"p")
    assert damage(head + word(2) + text(b"a") + word(10) + b"xxxxxxx") == ("STRING", "truncated")
    element = word(1) + text(b"a") + word(5)
    assert damage(reply(word(3) + text(b"l") + word(3) + element + EOF)) == ("ARRAY", "bad-length")
    assert damage(head + word(3) + text(b"root") + word(20) + b"a = 1\nb = 2\n") == ("STRING", "truncated")
    assert damage(reply(word(3) + text(b"root") + word(90) + b"a = 1\nb = 2\n" + EOF)) == (
        "STRING",
        "bad-length",
    )
    assert damage(head + word(4) + text(b"l") + word(3) + element) == ("ARRAY", "truncated")


@pytest.mark.parametrize(
    ("command", "meaning"),
    [
        (0, "NONE"),
        (7, "CAS in 2009; since then the plugin's own"),
        (9, ""),
        (100, "CACHE_GET"),
        (1000, "STATS"),
        (1001, "the plugin's own"),
    ],
)
def test_commands_of_2009_and_of_plugins(command: int, meaning: str) -> None:
    assert command_meaning(command) == meaning


def test_the_other_direction_helps_detection() -> None:
    odd = word(14, 0xFEDC0000)
    assert codecs.detect(odd).protocol == "unknown"
    found = CODECS[0].probe(word(14, 15) + word(15, 16), request(ROOT + EOF) * 2)
    alone = CODECS[0].probe(word(14, 15) + word(15, 16), b"")
    assert found.bits > alone.bits
    assert alone.bits < 24


NUMBERS = st.integers(0, 0xFFFFFFFF)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
LEAVES = st.one_of(
    st.builds(lambda n, v: {"type": "U32", "name": n, "value": v}, TEXTS, NUMBERS),
    st.builds(lambda n, v: {"type": "STRING", "name": n, "value": v}, TEXTS, TEXTS),
)
VARIABLES = st.recursive(
    LEAVES,
    lambda inner: st.builds(
        lambda n, v: {"type": "ARRAY", "name": n, "value": v}, TEXTS, st.lists(inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.lists(VARIABLES, max_size=4), st.booleans(), st.sampled_from(["specified", "deployed"]))
def test_messages_read_back(variables: list[Any], prefix: bool, dialect: str) -> None:
    written: dict[str, Any] = {
        "request": {
            "version": 1,
            "id": 9,
            "command": 3,
            "flags": 2,
            "plugin": "p",
            "variables": variables,
            "eof": True,
        }
    }
    if prefix:
        written["prefix"] = True
    written["dialect"] = dialect
    data = codecs.encode(written, "mevent")
    records = codecs.decode(data, "mevent")
    assert codecs.encode(records) == data
    found = without_hdf(message(records[0]))
    if found["dialect"] == dialect:
        assert found == written
    else:
        # numbers alone mean the same under both; else what fits the text's numbering is read by it
        assert found["dialect"] == "specified"


WORDS = st.lists(st.one_of(st.integers(0, 6), NUMBERS, st.just(0x61626364)), max_size=24)


@given(WORDS, st.binary(max_size=5), st.booleans())
def test_what_fits_is_what_is_read_without_an_error(words: list[int], rest: bytes, deployed: bool) -> None:
    buffer = Buffer(word(*words) + rest)
    cursor = Cursor(buffer, 0, len(buffer.data))
    fitting = fits(cursor, deployed)
    reader = VariablesReader(cursor, Tape(buffer), True, True, 0)
    try:
        reader.read(deployed, -1)
    except codecs.DecodeError:
        assert not fitting
    else:
        assert fitting


@given(st.lists(st.integers(0, 300), max_size=80))
def test_what_comes_twice_is_noted(names: list[int]) -> None:
    variables = [number(str(name).encode(), name) for name in names]
    (record,) = codecs.decode(request(b"".join(variables) + EOF), "mevent")
    repeats = len(names) - len(set(names))
    notes = [note for note in record.notes if note.code == "duplicate-variable"]
    assert len(notes) == min(repeats, MAX_NOTES)


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        ("mevent-request.xxd", "REQUEST #259 skeleton command 1 SYNC (a, list)"),
        ("mevent-reply.xxd", 'REPLY #7 22 REP_ERR_BADPARAM or REP_ERR_PACK "need key" (errtrace 2 lines)'),
        ("mevent-typed.xxd", "REQUEST #1 skeleton command 1 SYNC (total, rows)"),
    ],
)
def test_examples_on_the_command_line(example: str, expected: str) -> None:
    path = str(EXAMPLES / example)
    shown = CliRunner().invoke(group, ["decode", "--format", "summary", path])
    assert shown.exit_code == 0
    assert expected in shown.stdout.splitlines()[0]
    as_json = CliRunner().invoke(group, ["decode", "--format", "json", path])
    back = CliRunner().invoke(group, ["encode", "-"], input=as_json.stdout)
    plain = CliRunner().invoke(group, ["bytes", "--to", "raw", path])
    assert (as_json.exit_code, back.exit_code, plain.exit_code) == (0, 0, 0)
    assert back.stdout_bytes == plain.stdout_bytes
    assert len(plain.stdout_bytes) > 50
