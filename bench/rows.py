"""The rows of the suite: what is measured beside what, and what it is to reach."""

from __future__ import annotations

import json
import os
import random
import statistics
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bench import against, bulk, captures, corpus
from bench.against import Installed, Turn
from bench.duel import Contender, Pairs, alternate, run
from bench.peers import Peers

MB = 1_000_000
OPEN_CALLS = 100_000  # that wait for replies at the same time


class MissingError(RuntimeError):
    """What a row needs is not there."""


@dataclass(frozen=True)
class Settings:
    """How much is measured, and where."""

    peers: Peers
    folder: Path  # for files that are made
    pairs: int = 15
    warm_up: float = 2.0  # seconds of each side
    messages: int = 20_000
    capture: int = 200 * MB
    large_capture: int = 1000 * MB
    large_message: int = 100 * MB
    starts: int = 25

    @staticmethod
    def quick(peers: Peers, folder: Path) -> Settings:
        """Small sizes, to see that all runs; the figures say little."""
        return Settings(peers, folder, 3, 0.2, 500, MB, 4 * MB, MB, 3)


# What `bench --against` measures of a row: our side alone.
Own = Callable[[Installed, Settings], AbstractContextManager[Turn]]


@dataclass(frozen=True)
class Outcome:
    """What a row came to.

    `judged` is the figure that is compared with the reach: a ratio, or ours alone. `spread` holds the
    quartiles of a ratio. `note` is what a reader should know besides.
    """

    ours: str
    theirs: str
    judged: float
    spread: tuple[float, float] | None = None
    note: str = ""
    figures: dict[str, float] = field(default_factory=dict)


def compared(ours: str, theirs: str, pairs: Pairs, **figures: float) -> Outcome:
    """The outcome of two sides that ran in turn, ours judged by its ratio to theirs."""
    spread = pairs.quartiles if len(pairs.ours) > 1 else None
    medians = {"ours": pairs.our_median, "theirs": pairs.their_median}
    return Outcome(ours, theirs, pairs.ratio, spread, figures={**medians, **figures})


@dataclass(frozen=True)
class Row:
    """A measure, what it is compared with, and its reach: at least so much, or at most, or none."""

    name: str
    measure: str
    peer: str
    reach: float | None
    run: Callable[[Settings], Outcome]
    at_most: bool = False
    unit: str = " ×"
    long: bool = False
    own: Own | None = None  # our side alone, for the comparison with another wirelens

    @property
    def wanted(self) -> str:
        """The reach as text."""
        if self.reach is None:
            return ""
        return f"{'≤' if self.at_most else '≥'} {self.reach:g}{self.unit}"

    def reached(self, outcome: Outcome) -> bool | None:
        """Whether the outcome is what was to be reached; None where nothing was."""
        if self.reach is None:
            return None
        return outcome.judged <= self.reach if self.at_most else outcome.judged >= self.reach


# ---- contenders


def python(task: str, protocol: str, settings: Settings, pure: bool = False) -> Contender:
    """A task of contender.py, with wirelens as it is installed, or its interpreted form."""
    path = [str(settings.peers.python), *filter(None, [os.environ.get("PYTHONPATH")])]
    if pure:
        path.insert(0, str(interpreted(settings)))
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "bench.contender",
        task,
        file_of(protocol, settings),
        protocol.partition("+")[0],
    ]
    command.append(str(settings.warm_up))
    return Contender(command, {"PYTHONPATH": os.pathsep.join(path)}, corpus.ROOT)


def javascript(task: str, protocol: str, settings: Settings) -> Contender:
    """A task of contender.js."""
    script = Path(__file__).with_name("contender.js")
    path = file_of(protocol, settings)
    return Contender(
        ["node", script, settings.peers.modules, f"{task}-{protocol}", path, str(settings.warm_up)]
    )


def interpreted(settings: Settings) -> Path:
    """A folder from which the sources themselves are imported, whatever is installed."""
    sys.path.insert(0, str(corpus.ROOT))
    sys.dont_write_bytecode = True  # no __pycache__ beside the project's folders
    from setup import stage

    folder = settings.folder / "interpreted"
    stage(folder)
    return folder


def file_of(protocol: str, settings: Settings) -> Path:
    """The file of a protocol's messages, made when it is first asked for; of "-" what detection is asked."""
    path = settings.folder / f"{protocol}.messages"
    if not path.exists():
        if protocol == "-":
            path.write_bytes(corpus.join(contents(1 << 16).values()))
        else:
            path.write_bytes(corpus.join(corpus.load(protocol, settings.messages).messages))
    return path


def need(name: str, settings: Settings) -> None:
    """Raise MissingError where a peer is not there."""
    lack = settings.peers.lacks(name)
    if lack:
        raise MissingError(lack)


def duel(ours: Contender, theirs: Contender, settings: Settings) -> Outcome:
    """Messages a second of both, in turn."""
    with ours, theirs:
        ours.ready()
        theirs.ready()
        pairs = alternate(ours.rate, theirs.rate, settings.pairs)
        size = ours.bytes / ours.messages
    return compared(
        f"{pairs.our_median:,.0f}/s, {pairs.our_median * size / MB:,.0f} MB/s",
        f"{pairs.their_median:,.0f}/s",
        pairs,
        bytes_each=size,
    )


def own(task: str, protocol: str) -> Own:
    """Our side of a row, for the comparison with another wirelens."""
    return partial(against.passes, task, partial(file_of, protocol), protocol.partition("+")[0])


# ---- decoding and encoding


def against_javascript(task: str, their_task: str, protocol: str, settings: Settings) -> Outcome:
    need("sofa-hessian-node" if protocol == "hessian2-draft" else "hessian.js", settings)
    return duel(python(task, protocol, settings), javascript(their_task, protocol, settings), settings)


def against_python(task: str, their_task: str, settings: Settings) -> Outcome:
    need("python-hessian", settings)
    ours = python(task, "hessian2", settings)
    theirs = python(their_task, "hessian2", settings)
    return duel(ours, theirs, settings)


def against_interpreted(protocol: str, settings: Settings) -> Outcome:
    if not is_compiled():
        raise MissingError("wirelens is not compiled here")
    ours = python("stream", protocol, settings)
    return duel(ours, python("stream", protocol, settings, pure=True), settings)


def share_of_hessian(protocol: str, settings: Settings) -> Outcome:
    """Bytes a second, beside those of Hessian 2.0 in the same run."""
    ours, theirs = python("stream", protocol, settings), python("tree", "hessian2", settings)
    with ours, theirs:
        ours.ready()
        theirs.ready()
        pairs = alternate(ours.rate, theirs.rate, settings.pairs)
        sizes = [side.bytes / side.messages for side in (ours, theirs)]
    low, high = pairs.quartiles
    share = sizes[0] / sizes[1]
    return Outcome(
        f"{pairs.our_median * sizes[0] / MB:,.0f} MB/s",
        f"{pairs.their_median * sizes[1] / MB:,.0f} MB/s",
        pairs.ratio * share,
        (low * share, high * share),
    )


def of_serializations(ours: str, theirs: str, settings: Settings) -> Outcome:
    """Frames of Dubbo a second in one serialization, and in another in the same run."""
    contenders = [python("stream", f"dubbo+{name}", settings) for name in (ours, theirs)]
    return duel(contenders[0], contenders[1], settings)


def is_compiled() -> bool:
    """Whether the wirelens that is installed is compiled."""
    import wirelens.codecs.tape

    return not str(wirelens.codecs.tape.__file__).endswith(".py")


# ---- commands


def wirelens(*arguments: str | Path) -> list[str | Path]:
    """A command line that runs wirelens as a user does."""
    script = Path(sys.executable).with_name("wirelens")
    if script.exists():
        return [script, *arguments]
    return [sys.executable, "-c", "from wirelens.cli.main import main; main()", *arguments]


def start(arguments: list[str], settings: Settings) -> Outcome:
    """Seconds of a whole command and of Python that imports click, in turn."""
    ours = partial(seconds, wirelens(*with_file(arguments, settings)))
    theirs = partial(seconds, [sys.executable, "-c", "import click"])
    for _ in range(2):
        ours()
        theirs()
    pairs = alternate(ours, theirs, settings.starts)
    return compared(
        f"{pairs.our_median * 1000:.0f} ms",
        f"{pairs.their_median * 1000:.0f} ms",
        pairs,
    )


def with_file(arguments: list[str], settings: Settings) -> Sequence[str | Path]:
    """The arguments of a command, with a small file where it needs one."""
    if arguments[0] != "decode":
        return arguments
    path = settings.folder / "small.hex"
    if not path.exists():
        path.write_text(corpus.load("esnp-line", 1).messages[0].hex() + "\n")
    return [*arguments, path]


def decode_of_capture(settings: Settings) -> Sequence[str | Path]:
    return ["decode", "--format", "jsonl", capture_of(settings.capture // 4, settings)[0]]


def selecting(settings: Settings) -> Outcome:
    """Processor time of `decode` with a filter that all messages match, and without it, in turn."""
    arguments = decode_of_capture(settings)
    ours = partial(processor, wirelens(*arguments, "--where", "client=10.0.0.0/8 and latency<1h or port>0"))
    theirs = partial(processor, wirelens(*arguments))
    pairs = alternate(ours, theirs, min(settings.pairs, 5))
    return compared(
        f"{pairs.our_median:.2f} s",
        f"{pairs.their_median:.2f} s",
        pairs,
    )


def processor(command: list[str | Path]) -> float:
    return run(command).processor


def seconds(command: list[str | Path]) -> float:
    return run(command).seconds


def capture_of(size: int, settings: Settings) -> tuple[Path, int]:
    """A capture of Dubbo traffic of about that many bytes, and its packets."""
    path = settings.folder / f"dubbo-{size}.pcap"
    count = settings.folder / f"dubbo-{size}.count"
    if not path.exists():
        packets = 0
        with path.open("wb") as file:
            file.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
            for record in bulk.records(size):
                file.write(record)
                packets += 1
        count.write_text(str(packets))
    return path, int(count.read_text())


def capture_to_messages(settings: Settings) -> Outcome:
    need("tshark", settings)
    path, packets = capture_of(settings.capture, settings)
    ours = packets / run(wirelens("decode", "--format", "jsonl", path)).seconds
    theirs = packets / run(["tshark", "-n", "-r", path, "-T", "ek"]).seconds
    again = packets / run(wirelens("decode", "--format", "jsonl", path)).seconds
    mean = (ours + again) / 2
    return Outcome(
        f"{mean:,.0f} packets/s, {mean / packets * path.stat().st_size / MB:,.1f} MB/s",
        f"{theirs:,.0f} packets/s",
        mean / theirs,
        note=f"{packets:,} packets, whole commands: ours before and after theirs",
        figures={"ours": mean, "theirs": theirs, "packets": packets},
    )


def capture_layer(layer: str, settings: Settings) -> Outcome:
    """Packets a second of a layer of reading captures, beside TShark's table of conversations."""
    need("tshark", settings)
    path, packets = capture_of(settings.capture, settings)
    work = {"reading": captures.read, "streams": captures.whole}[layer]
    conversations = captures.tshark(["-q", "-z", "conv,tcp"])
    ours = partial(captures.timed, work, path, packets)
    theirs = partial(captures.timed, conversations, path, packets)
    pairs = alternate(ours, theirs, 1)
    speed = pairs.our_median / packets * path.stat().st_size / MB
    return compared(
        f"{pairs.our_median:,.0f} packets/s, {speed:,.0f} MB/s",
        f"{pairs.their_median:,.0f} packets/s",
        pairs,
    )


def of_calls(command: str, settings: Settings) -> Outcome:
    """The speed of a command over calls, as a part of that of `flows`."""
    path = capture_of(settings.capture // 4, settings)[0]
    arguments = CALL_COMMANDS[command]
    ours = partial(speed_of, wirelens(*arguments, path))
    theirs = partial(speed_of, wirelens("flows", path))
    pairs = alternate(ours, theirs, settings.pairs)
    return compared(
        f"{1 / pairs.our_median:.2f} s",
        f"{1 / pairs.their_median:.2f} s",
        pairs,
    )


def speed_of(command: list[str | Path]) -> float:
    return 1 / run(command).processor


def calls_of_capture(command: str, settings: Settings) -> Sequence[str | Path]:
    return [*CALL_COMMANDS[command], capture_of(settings.capture // 4, settings)[0]]


CALL_COMMANDS = {
    "calls": ["calls", "--format", "jsonl"],
    "calls-text": ["calls"],
    "stats": ["stats"],
}


# ---- memory


def memory_of_open_calls(command: str, settings: Settings) -> Outcome:
    """Peak memory over a stream in which many calls are open; it is made and piped, not stored."""
    size = settings.large_capture
    made = [sys.executable, "-m", "bench.calls", str(size), str(OPEN_CALLS)]
    with subprocess.Popen(made, stdout=subprocess.PIPE, cwd=corpus.ROOT) as source:
        assert source.stdout is not None
        done = run(wirelens(*CALL_COMMANDS[command], "-"), source.stdout)
    return Outcome(
        f"{done.peak / MB:,.0f} MB",
        "",
        done.peak / MB,
        note=f"{size / MB:,.0f} MB with {OPEN_CALLS:,} open calls, {done.processor:.0f} s of the processor",
        figures={"peak": done.peak, "bytes": size, "seconds": done.seconds},
    )


def memory_of_capture(settings: Settings) -> Outcome:
    path, packets = capture_of(settings.large_capture, settings)
    done = run(wirelens("decode", "--format", "jsonl", path))
    size = path.stat().st_size
    path.unlink()
    return Outcome(
        f"{done.peak / MB:,.0f} MB",
        "",
        done.peak / MB,
        note=f"{size / MB:,.0f} MB, {packets:,} packets, {size / MB / done.seconds:.1f} MB/s",
        figures={"peak": done.peak, "bytes": size, "seconds": done.seconds},
    )


def memory_of_message(settings: Settings) -> Outcome:
    return memory_of(corpus.large(settings.large_message), "orders", settings)


def memory_of_values(settings: Settings) -> Outcome:
    """The most values that a message may have, of a byte each."""
    return memory_of(b"\x57" + b"\x90" * min(settings.large_message, 16 * MB) + b"\x5a", "ints", settings)


def memory_of(message: bytes, items: str, settings: Settings) -> Outcome:
    """Peak memory of decoding one message of Hessian 2.0 to JSON, by its size."""
    path = settings.folder / "large.hessian"
    path.write_bytes(message)
    done = run(wirelens("decode", "--as", "hessian2", "--format", "jsonl", path))
    size = path.stat().st_size
    path.unlink()
    return Outcome(
        f"{done.peak / MB:,.0f} MB",
        "",
        done.peak / size,
        note=f"one list of {size / MB:,.0f} MB of {items}, {done.seconds:.1f} s",
        figures={"peak": done.peak, "bytes": size, "seconds": done.seconds},
    )


# ---- detection


def contents(size: int) -> dict[str, bytes]:
    """What detection is asked about, by a word."""
    chooser = random.Random(11)
    found = {
        "random": chooser.randbytes(size),
        "zeros": bytes(size),
        "text": b"The quick brown fox jumps over the lazy dog. " * (size // 40),
        "json": b'{"id": 1234, "name": "Liu Yang", "tags": ["vip", "fast"]},\n' * (size // 50),
        "http": b"GET /orders/1 HTTP/1.1\r\nHost: example.com\r\nAccept: */*\r\n\r\n" * (size // 50),
        "bytes 80": b"\x80" * size,
    }
    for protocol in (*corpus.HESSIAN, *corpus.MADE):
        made = corpus.load(protocol, 1500).messages
        found[protocol] = b"".join(made) * (1 + size // sum(map(len, made)))
    return {name: data[:size] for name, data in found.items()}


def detector(data: bytes, name: str, settings: Settings) -> Contender:
    """Detects a content again and again."""
    path = settings.folder / f"detect-{name}.messages"
    path.write_bytes(corpus.join([data] * 3))
    command: list[str | Path] = [sys.executable, "-m", "bench.contender", "detect", path, "-", "0.1"]
    return Contender(command, cwd=corpus.ROOT)


def detection_of_zeros(settings: Settings) -> Outcome:
    """Seconds over zeros and over random bytes, in turn."""
    found = contents(1 << 17)
    zeros, others = (detector(found[name], name, settings) for name in ("zeros", "random"))
    with zeros as ours, others as theirs:
        ours.ready()
        theirs.ready()
        pairs = alternate(ours.seconds, theirs.seconds, settings.pairs)
    return compared(f"{pairs.our_median / 3 * 1000:.2f} ms", f"{pairs.their_median / 3 * 1000:.2f} ms", pairs)


def detection(settings: Settings) -> Outcome:
    """How the time of detection grows from 16 to 64 KiB, of the contents where it grows most."""
    small, large = contents(1 << 14), contents(1 << 16)
    growth: dict[str, float] = {}
    slow: dict[str, float] = {}
    for name, data in large.items():
        with detector(data, "ours", settings) as ours, detector(small[name], "theirs", settings) as theirs:
            ours.ready()
            theirs.ready()
            pairs = alternate(ours.seconds, theirs.seconds, min(settings.pairs, 5))
        growth[name] = pairs.ratio
        slow[name] = pairs.our_median / 3 * 1000
    worst = max(growth, key=lambda name: growth[name])
    slowest = max(slow, key=lambda name: slow[name])
    return Outcome(
        f"{statistics.median(slow.values()):.1f} ms, at most {slow[slowest]:.1f} ms ({slowest})",
        "",
        growth[worst],
        note=f"from 16 to 64 KiB, most with {worst}; {len(slow)} contents",
        figures={f"ms {name}": round(value, 3) for name, value in slow.items()},
    )


# ---- bulk


def bulk_conversion(settings: Settings) -> Outcome:
    target = settings.folder / "bulk.json"
    size = settings.large_capture // MB
    command = [sys.executable, "-m", "bench.bulk", "--sizes", str(size), "--alone", "--json", str(target)]
    done = subprocess.run(command, cwd=corpus.ROOT, check=False, capture_output=True, text=True)
    if done.returncode:
        raise MissingError((done.stderr.strip().splitlines() or ["bench.bulk failed"])[-1])
    (found,) = json.loads(target.read_text())
    names = ("bytes", "rows", "seconds", "processor", "alone", "alone_processor", "spark_share")
    return Outcome(
        f"{found['bytes'] / MB / found['seconds']:.1f} MB/s",
        f"{found['bytes'] / MB / found['alone']:.1f} MB/s",
        found["alone"] / found["seconds"],
        note=f"{size} MB after a first job; {found['spark_share']:.0%} of the time is Spark's; "
        f"{found['processor']} s of the processor, one process {found['alone_processor']}",
        figures={name: found[name] for name in names},
    )


def _decoding() -> list[Row]:
    tree = "bytes → tree with spans"
    rows = [
        Row(
            f"tree-{short}",
            f"{title}, {tree}",
            peer,
            reach,
            partial(against_javascript, "tree", "tree", protocol),
            own=own("tree", protocol),
        )
        for short, title, protocol, peer, reach in (
            ("final", "Hessian 2.0", "hessian2", "hessian.js", 4.5),
            ("draft", "Hessian draft", "hessian2-draft", "sofa-hessian-node v3", 4.5),
            ("v1", "Hessian 1.0", "hessian1", "hessian.js v1", 9),
        )
    ]
    rows.insert(
        1,
        Row(
            "tree-python",
            f"Hessian 2.0, {tree}",
            "python-hessian",
            100,
            partial(against_python, "tree", "python-hessian"),
        ),
    )
    rows.append(
        Row(
            "text",
            "Hessian 2.0, bytes → JSON text",
            "python-hessian + json",
            70,
            partial(against_python, "text", "python-hessian-text"),
            own=own("text", "hessian2"),
        )
    )
    rows.append(
        Row(
            "encode",
            "Hessian 2.0, JSON objects → bytes",
            "hessian.js encode",
            2.5,
            partial(against_javascript, "back", "back", "hessian2"),
            own=own("back", "hessian2"),
        )
    )
    rows.append(
        Row(
            "encode-text",
            "Hessian 2.0, JSON text → bytes",
            "hessian.js encode, from objects",
            1.5,
            partial(against_javascript, "text-back", "back", "hessian2"),
            own=own("text-back", "hessian2"),
        )
    )
    rows += [
        Row(
            protocol,
            f"{protocol}, decode",
            "interpreted",
            6,
            partial(against_interpreted, protocol),
            own=own("stream", protocol),
        )
        for protocol in corpus.MADE
    ]
    rows += [
        Row(
            f"share-{protocol}",
            f"{protocol}, decode, bytes a second",
            "Hessian 2.0",
            0.35,
            partial(share_of_hessian, protocol),
        )
        for protocol in ("esnp-line", "mevent")
    ]
    rows.append(
        Row(
            "fastjson2",
            "Dubbo with fastjson2, decode",
            "Dubbo with Hessian 2.0",
            None,
            partial(of_serializations, "fastjson2", "hessian2"),
            own=own("stream", "dubbo+fastjson2"),
        )
    )
    return rows


ROWS: list[Row] = [
    *_decoding(),
    Row("read", "capture → packets", "tshark -z conv,tcp", None, partial(capture_layer, "reading")),
    Row("streams", "capture → streams", "tshark -z conv,tcp", None, partial(capture_layer, "streams")),
    Row(
        "capture",
        "capture → messages (Dubbo)",
        "tshark -T ek",
        40,
        capture_to_messages,
        own=partial(against.commands, decode_of_capture),
    ),
    *(
        Row(
            f"start-{arguments[0].strip('-')}",
            f"wirelens {' '.join(arguments)}" + (" FILE.hex" if arguments[0] == "decode" else ""),
            "python -c 'import click'",
            reach,
            partial(start, arguments),
            at_most=True,
            own=partial(against.commands, partial(with_file, arguments)),
        )
        for arguments, reach in ((["decode"], 1.2), (["--help"], 1.3), (["protocols"], 1.3))
    ),
    Row("where", "decode --where, of the header", "decode", 1.2, selecting, at_most=True),
    Row("detect-zeros", "detect, 128 KiB of zeros", "of random bytes", 2, detection_of_zeros, at_most=True),
    Row("detect", "detect, 64 KiB", "16 KiB", 4.6, detection, at_most=True, own=own("detect", "-")),
    *(
        Row(
            command,
            f"{' '.join(arguments)}, capture of Dubbo",
            "flows",
            0.8,
            partial(of_calls, command),
            own=partial(against.commands, partial(calls_of_capture, command)),
        )
        for command, arguments in CALL_COMMANDS.items()
    ),
    *(
        Row(
            f"memory-{command}",
            f"peak memory, {command}, 100,000 open calls",
            "",
            300,
            partial(memory_of_open_calls, command),
            at_most=True,
            unit=" MB",
            long=True,
        )
        for command in ("calls", "stats")
    ),
    Row(
        "memory-capture",
        "peak memory, 1 GB capture",
        "",
        300,
        memory_of_capture,
        at_most=True,
        unit=" MB",
        long=True,
    ),
    Row(
        "memory-message",
        "peak memory, 100 MB Hessian message",
        "its size",
        8,
        memory_of_message,
        at_most=True,
    ),
    Row(
        "memory-values",
        "peak memory, 16 MB of one-byte values",
        "its size",
        24,
        memory_of_values,
        at_most=True,
    ),
    Row(
        "bulk",
        "bulk, 1 GB of captures",
        "one process, decode",
        1.3,
        bulk_conversion,
        long=True,
        own=against.bulk,
    ),
]
