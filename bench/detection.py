"""Measures detection: what it names among inputs of known protocols, and what it claims among foreign ones.

    python -m bench.detection [--shared FOLDER] [--json] [--missed]

FOLDER has `vectors` and `captures` (../shared beside the checkout by default). The first table counts, for
each protocol and class of length, how many inputs were named right (as the protocol, or as one that means
the same), how many wrong, and how many stayed unknown; the second what was claimed among the foreign
inputs, by what these are. Exit status 1 where a bound does not hold: none named wrong, 99.5 % of those of
16 bytes or more named, no foreign input of 16 bytes or more claimed but HTTP as `http` or `http2`.
"""

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from wirelens import codecs

SIZES = (16, 64, 1024, 1 << 62)  # where each class of length ends, exclusive
BOUND = 16  # bytes from which the bounds hold
NAMED = 0.995
FAMILY = {"hessian1": "hessian1", "hessian2-draft": "hessian2-draft", "hessian2-final": "hessian2"}
LABELS = {  # of the public captures; a block of Bolt's headers alone is not a message
    "dubbo": ("dubbo",),
    "sofa-bolt": ("bolt",),
    "hessian1-value": ("hessian1",),
    "hessian2-value": ("hessian2",),
    "hessian2-draft": ("hessian2-draft",),
    "hessian1-call": ("hessian1", "hessian2-draft"),
}
IS_HTTP = {"generated:http2_frames": ("http2",)}  # labels of foreign inputs that are HTTP/2
SESSIONS = {"esnp": ("esnp-line", "esnp-frame"), "magline": ("magline-old",), "mevent": ("mevent",)}


class Known(NamedTuple):
    """An input of a known protocol: its name, the ids that are right, its bytes, the other direction."""

    name: str
    protocols: tuple[str, ...]
    data: bytes
    other: bytes = b""


class Result(NamedTuple):
    """What came out for an input."""

    name: str
    protocol: str  # what is right
    size: int
    said: str
    right: bool


def vectors(folder: Path) -> Iterator[Known]:
    """The inputs of vector files; those of the layout of 2006 are no protocol's."""
    for path in sorted(folder.glob("*.jsonl*")):
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for line in text.decode().splitlines():
            # the deepest lines are nested further than the standard library's json reads
            case = codecs.loads(line)
            assert isinstance(case, dict)
            protocol = case["protocol"]
            if isinstance(protocol, str):
                yield Known(str(case["name"]), (protocol,), bytes.fromhex(str(case["hex"])))


def refused(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of the vectors that are no protocol's."""
    for path in sorted(folder.glob("*2006*.jsonl*")):
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for line in text.decode().splitlines():
            case = codecs.loads(line)
            assert isinstance(case, dict)
            yield str(case["name"]), bytes.fromhex(str(case["hex"]))


def fixtures(folder: Path) -> Iterator[Known]:
    """Bytes that others published, with the dialect that their description has."""
    for path in sorted(folder.glob("*/*.json")):
        about = json.loads(path.read_text())
        data = path.with_suffix(".bin").read_bytes()
        if "dialect" in about:
            yield Known(path.stem, (FAMILY[about["dialect"]],), data)
        elif data[:2] == b"\xda\xbb":
            yield Known(path.stem, ("dubbo",), data)
        else:
            yield Known(path.stem, tuple(FAMILY.values()), data)


def positives(folder: Path) -> Iterator[Known]:
    """Public captures and payloads."""
    for about in json.loads((folder / "manifest.json").read_text()):
        path = folder / about["file"]
        data = path.read_bytes()
        if path.suffix == ".pcap":
            for flow in codecs.captures.flows([data]):
                for direction in flow.directions:
                    if direction.data:
                        yield Known(path.name, (str(about["label"]),), direction.data)
        elif about["label"] in LABELS:
            yield Known(path.name, LABELS[about["label"]], data)


def sessions(folder: Path) -> Iterator[Known]:
    """Each direction of the recorded sessions, and each of its messages alone."""
    for path in sorted(folder.glob("*.pcap")):
        protocols = SESSIONS[path.name.split("_")[0]]
        for flow in codecs.captures.flows([path.read_bytes()]):
            both = [direction.data for direction in flow.directions]
            for data, other in ((both[0], both[1]), (both[1], both[0])):
                if data:
                    yield Known(path.name, protocols, data, other)
                    for record in codecs.decode(data, protocols[0]):
                        if record.error is None:
                            part = data[record.offset : record.offset + record.length]
                            yield Known(f"{path.name} message", protocols, part, other)


def known(shared: Path) -> Iterator[Known]:
    """All inputs of known protocols."""
    yield from vectors(shared / "vectors")
    yield from fixtures(shared / "vectors/fixtures")
    yield from positives(shared / "captures/positive")
    yield from sessions(shared / "captures/sessions")


def measure(shared: Path) -> list[Result]:
    """What detection finds in every known input."""
    results = []
    for one in known(shared):
        found = codecs.detect(one.data, one.other)
        right = any(name in (found.protocol, *found.equal) for name in one.protocols)
        results.append(Result(one.name, one.protocols[0], len(one.data), found.protocol, right))
    return results


def foreigners(shared: Path) -> tuple[int, list[dict[str, Any]]]:
    """How many foreign inputs there are, and what is claimed among them."""
    folder = shared / "captures/negative"
    manifest = json.loads((folder / "manifest.json").read_text())
    claimed = []
    for about in manifest:
        data = (folder / about["file"]).read_bytes()
        found = codecs.detect(data)
        if found.protocol != "unknown":
            claimed.append(
                {
                    "label": about["label"],
                    "file": about["file"],
                    "size": len(data),
                    "protocol": found.protocol,
                    "bits": round(found.candidates[0].bits, 1),
                    "whole": all(record.error is None for record in codecs.decode(data, found.protocol)),
                }
            )
    return len(manifest), claimed


def size_class(size: int) -> str:
    """The class of a length, as it stands in the tables."""
    first = 0
    for end in SIZES:
        if size < end:
            return f"{first}-{end - 1}" if end < 1 << 62 else f"{first}-"
        first = end
    return ""


def confusion(results: list[Result]) -> dict[str, dict[str, dict[str, int]]]:
    """Protocol, class of length, outcome ("named", "unknown", or the wrong name): how many."""
    table: dict[str, dict[str, dict[str, int]]] = {}
    for one in results:
        cell = table.setdefault(one.protocol, {}).setdefault(size_class(one.size), {})
        outcome = "named" if one.right else one.said
        cell[outcome] = cell.get(outcome, 0) + 1
    return table


def summary(shared: Path) -> dict[str, Any]:
    """All that is measured, and whether the bounds hold."""
    results = measure(shared)
    long = [one for one in results if one.size >= BOUND]
    wrong = [one for one in results if not one.right and one.said != "unknown"]
    count, claimed = foreigners(shared)
    outside = [
        one
        for one in claimed
        if one["protocol"] not in IS_HTTP.get(one["label"], ("http",))
        and (one["size"] >= BOUND or not one["whole"])
    ]
    layout = []
    for name, data in refused(shared / "vectors"):
        found = codecs.detect(data)
        if found.protocol != "unknown" and any(
            record.error is not None for record in codecs.decode(data, found.protocol)
        ):
            layout.append(name)
    share = sum(one.right for one in long) / len(long)
    return {
        "inputs": len(results),
        "table": confusion(results),
        "share": round(share, 5),
        "wrong": [one._asdict() for one in wrong],
        "missed": [one._asdict() for one in long if not one.right],
        "layout_of_2006_claimed": layout,
        "foreign": count,
        "claimed": claimed,
        "outside": outside,
        "holds": not wrong and not outside and not layout and share >= NAMED,
    }


def show(found: dict[str, Any], missed: bool) -> None:
    """Print both tables."""
    print(f"{found['inputs']} inputs of known protocols; named / all, then what else was said")
    classes = [size_class(size - 1) for size in SIZES]
    print(f"{'protocol':16}" + "".join(f"{name:>14}" for name in classes))
    for protocol, cells in found["table"].items():
        line = f"{protocol:16}"
        other: Counter[str] = Counter()
        for name in classes:
            cell = cells.get(name, {})
            said = f"{cell.get('named', 0)}/{sum(cell.values())}" if cell else "-"
            line += f"{said:>14}"
            other.update({key: value for key, value in cell.items() if key != "named"})
        print(line + "   " + ", ".join(f"{key} {value}" for key, value in other.most_common()))
    print(f"of {BOUND} bytes and more {100 * found['share']:.2f} % are named; wrong: {len(found['wrong'])}")
    if missed:
        for one in found["missed"] + found["wrong"]:
            print(f"  {one['size']:>6} {one['protocol']:14} {one['said']:14} {one['name']}")
    print(f"\n{found['foreign']} foreign inputs; claimed, by label")
    rows = Counter(
        (one["label"], one["protocol"], size_class(one["size"]), one["whole"]) for one in found["claimed"]
    )
    for (label, protocol, name, whole), count in sorted(rows.items()):
        print(f"{count:>6} {label:30} {protocol:16} {name:>12} {'decodes' if whole else 'does not decode'}")
    print("the bounds hold" if found["holds"] else "THE BOUNDS DO NOT HOLD")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    root = Path(__file__).resolve().parent.parent
    parser.add_argument("--shared", type=Path, default=root.parent / "shared")
    parser.add_argument("--json", action="store_true", help="all figures as JSON")
    parser.add_argument("--missed", action="store_true", help="list what was not named")
    options = parser.parse_args()
    found = summary(options.shared)
    if options.json:
        print(json.dumps(found, indent=1))
    else:
        show(found, options.missed)
    return 0 if found["holds"] else 1


if __name__ == "__main__":
    sys.exit(main())
