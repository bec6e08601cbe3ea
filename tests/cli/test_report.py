"""`wirelens report`: what the page has, what it leaves out, and that --redact leaves no value."""

from __future__ import annotations

import base64
import gzip
import json
import re
import sys
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "captures"))

import building
import shop

from wirelens.formatters.html import report, rows

if TYPE_CHECKING:
    from commands import Run

ROOT: Final = Path(__file__).resolve().parent.parent.parent
EXAMPLES: Final = ROOT / "examples"


def data_of(page: str) -> tuple[dict[str, Any], bytes]:
    """The data in a page, and the bytes of its messages."""
    found = re.search('<script type="text/plain" id="data">([^<]*)</script>', page)
    assert found is not None
    whole = gzip.decompress(base64.b64decode(found[1]))
    size = int.from_bytes(whole[:4], "big")
    return json.loads(whole[4 : 4 + size]), whole[4 + size :]


def made(run: Run, folder: Path, *words: str, status: int = 0) -> tuple[dict[str, Any], bytes, str]:
    target = folder / "r.html"
    result = run("report", *words, "-o", str(target))
    assert result.exit_code == status, result.output
    page = target.read_text(encoding="utf-8")
    return *data_of(page), page


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    path = tmp_path / "shop.pcap"
    path.write_bytes(shop.capture(40))
    return path


def test_the_page_is_one_file_whose_policy_lets_its_own_parts_run(
    run: Run, capture: Path, tmp_path: Path
) -> None:
    data, raw, page = made(run, tmp_path, str(capture))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; ")
    for tag, text in re.findall(r"<(style|script)>(.*?)</\1>", page, re.DOTALL):
        digest = base64.b64encode(sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy[1]
    assert not re.search(
        r"""(src|href|action)=["'](?!#)|\sstyle=|[^.]\burl\((?!#)|@import|<[^>]+\son\w+=""", page
    )
    assert len(data["messages"]) == 80
    assert [call["outcome"] for call in data["calls"]].count("error") == 1
    assert len(raw) == sum(message["length"] for message in data["messages"])
    assert data["left"] == []


def test_the_same_input_gives_the_same_page(run: Run, capture: Path, tmp_path: Path) -> None:
    assert made(run, tmp_path, str(capture))[2] == made(run, tmp_path, str(capture))[2]


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        (("--flow", "1"), None),
        (("--flow", "1c"), None),
        (("--port", "20880"), 80),
        (("--port", "1"), 0),
        (("--where", "kind=response and exception~OutOfStock"), 2),  # the request comes with its reply
        (("--where", "method=find"), None),
        (("--as", "dubbo"), 80),
    ],
)
def test_what_is_selected(
    run: Run, capture: Path, tmp_path: Path, words: tuple[str, ...], messages: int | None
) -> None:
    data, _, _ = made(run, tmp_path, *words, str(capture))
    found = data["messages"]
    assert messages is None or len(found) == messages
    if words[0] == "--flow":
        assert len(data["flows"]) == 1
        assert {message["direction"] for message in found} == ({0} if words[1] == "1c" else {0, 1})
    if words[1] == "method=find":
        assert {call["method"] for call in data["calls"]} == {"find"}
        assert all(len(call["messages"]) == 2 for call in data["calls"])


def test_refusals(run: Run, capture: Path, tmp_path: Path) -> None:
    kept = capture.read_bytes()
    assert run("report", str(capture), "-o", str(capture)).exit_code == 2
    assert capture.read_bytes() == kept
    result = run("report", "--flow", "9", str(capture), "-o", str(tmp_path / "x.html"))
    assert result.exit_code != 0
    assert "no flow 9" in result.output
    assert not (tmp_path / "x.html").exists()


def test_what_is_beyond_the_limits_is_counted(
    run: Run, capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "MOST_MESSAGES", 10)
    monkeypatch.setattr(rows, "MOST_ROWS", 20)
    data, _, _ = made(run, tmp_path, str(capture))
    assert len(data["messages"]) == 10
    assert data["left"][0] == "70 messages left out: the report has the first 10 messages"
    assert re.fullmatch(r"\d+ nodes of 10 large messages left out of trees", data["left"][1])


SECRETS: Final = {
    "latin": "Wolfeschlegelstein",
    "umlaut": "Größenwahnsinn",
    "chinese": "北京市朝阳区建国路",
    "json": '{"password": "Hunter2Hunter", "nested": ["Xylophonist"]}',
    "base64": base64.b64encode(b"Rumpelstiltskin-secret").decode(),
    "hex": b"Zarathustra".hex(),
    "long": "Llanfairpwllgwyngyll " * 30,
    "url": "https://intranet.acmecorp.test/Quetzalcoatl?token=Abracadabra",
    "key": "Supercalifragilistic",
    "exception": "could not reach Brobdingnag at Popocatepetl",
    "bytes": "Nebuchadnezzar",
    "http": "Mississippi",
}
NAMES: Final = (
    "com.example.shop.Order",
    "OrderService",
    "place",
    "street",
    "OutOfStockException",
    "detailMessage",
)
WORD: Final = re.compile(r"[^\W\d_]{4,}|[0-9a-f]{8,}")


def secretive(folder: Path) -> list[str]:
    """Inputs with secrets wherever a value can be: the last is an error."""
    values = {
        name: shop.text(SECRETS[name])
        for name in ("latin", "umlaut", "chinese", "json", "base64", "hex", "long", "url")
    }
    values["raw"] = bytes([0x20 + len(SECRETS["bytes"])]) + SECRETS["bytes"].encode()
    thing = shop.thing("com.example.shop.Order", {"street": shop.text(SECRETS["latin"]), **values})
    keys = {SECRETS["key"]: SECRETS["latin"], "Constantinople": "x"}
    talk = building.Talk(1000, 5000, 40000, 20880)
    frames = [
        *talk.hello(),
        talk.send(0, shop.request(1, "place", thing, keys)),
        talk.send(1, shop.failure(1, SECRETS["exception"])),
        talk.send(0, shop.request(2, "place", shop.thing("com.sun.rowset.JdbcRowSetImpl", values), keys)),
        talk.send(1, shop.frame(2, 80, 2, shop.text(SECRETS["exception"]))),
        talk.send(0, shop.request(3, "place", thing, keys)[:-40]),
    ]
    (folder / "Timbuktu.pcap").write_bytes(building.pcap(frames))
    body = b"Ouagadougou=" + SECRETS["http"].encode()
    http = (
        b"POST /Tegucigalpa/%s?q=Antananarivo HTTP/1.1\r\nHost: Reykjavik.test\r\nX-Vladivostok: %s\r\n"
        % (SECRETS["http"].encode(), SECRETS["http"].encode())
    )
    (folder / "Ulaanbaatar.bin").write_bytes(http + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    (folder / "Samarkand.bin").write_bytes(shop.request(4, "place", thing, keys)[:-60])
    (folder / "Kathmandu.bin").write_bytes(b"Sesquipedalian nothing known " * 4)
    return [str(path) for path in sorted(folder.iterdir())]


def remains(word: str, text: str) -> bool:
    """Whether a word is in a text, as such or in hex; a short one may be part of a random word."""
    if len(word) < 6 and word.isascii():
        return re.search(rf"(?<![a-z]){word}(?![a-z])", text) is not None
    return word in text or word.encode().hex() in text


@pytest.mark.parametrize("numbers", [False, True])
def test_redacting_leaves_no_value(run: Run, tmp_path: Path, numbers: bool) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    inputs = secretive(folder)
    option = "--redact-numbers" if numbers else "--redact"
    plain, hidden = [], []
    for one in inputs:
        http = Path(one).stem == "Ulaanbaatar"  # all others have damage
        words = ["--as", "http", one] if http else [one]
        plain.append(made(run, tmp_path, *words, status=not http))
        hidden.append(made(run, tmp_path, option, *words, status=not http))
    secrets = {
        word.lower()
        for text in [*SECRETS.values(), *(Path(one).name for one in inputs)]
        for word in WORD.findall(text)
    }
    secrets |= {
        "constantinople",
        "ouagadougou",
        "tegucigalpa",
        "antananarivo",
        "reykjavik",
        "vladivostok",
        "sesquipedalian",
    }
    secrets -= {word.lower() for name in NAMES for word in WORD.findall(name)} | {"http", "https", "pcap"}
    for (shown, raw, _), (data, other, _) in zip(plain, hidden, strict=True):
        assert [message["length"] for message in data["messages"]] == [
            one["length"] for one in shown["messages"]
        ]
        before = (json.dumps(shown, ensure_ascii=False) + raw.decode("utf-8", "replace")).lower()
        after = (
            json.dumps(data, ensure_ascii=False) + other.decode("utf-8", "replace") + other.hex()
        ).lower()
        assert any(word in before for word in secrets)
        assert {word for word in secrets if remains(word, after)} == set()
        assert "10.0.0." not in after
        assert data["redacted"]
    joined = "".join(json.dumps(data) for data, _, _ in hidden)
    assert all(name in joined for name in NAMES)
    if not numbers:
        assert {call["method"] for call in hidden[2][0]["calls"]} == {"place"}


def test_messages_of_no_call_that_are_beyond_the_limits_are_counted(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = building.Talk(1000, 5000, 40000, 20880)
    frames = talk.hello() + [talk.send(1, shop.reply(number, b"N")) for number in range(50)]
    path = tmp_path / "replies.pcap"
    path.write_bytes(building.pcap(frames))
    monkeypatch.setattr(report, "MOST_MESSAGES", 10)
    data, _, _ = made(run, tmp_path, str(path))
    assert (len(data["messages"]), data["left"][0].split()[0]) == (10, "40")


def test_redacting_keeps_what_examples_are_made_of(run: Run, tmp_path: Path) -> None:
    inputs = [
        str(path) for path in [*sorted(EXAMPLES.glob("*.xxd")), *sorted(EXAMPLES.glob("captures/*.pcap"))]
    ]
    target = tmp_path / "plain.html"
    run("report", *inputs, "-o", str(target))
    shown, _ = data_of(target.read_text(encoding="utf-8"))
    for option in ("--redact", "--redact-numbers"):
        run("report", option, *inputs, "-o", str(target))
        data, _ = data_of(target.read_text(encoding="utf-8"))
        for name in ("levels", "starts", "lengths"):
            assert len(data["rows"][name]) > 0
        assert [m["length"] for m in data["messages"]] == [m["length"] for m in shown["messages"]]
        for member in ("method", "outcome", "status"):
            assert [c[member] for c in data["calls"]] == [c[member] for c in shown["calls"]]
        for member in ("protocol", "kind"):
            assert [data["strings"][m[member]] for m in data["messages"]] == [
                shown["strings"][m[member]] for m in shown["messages"]
            ]
