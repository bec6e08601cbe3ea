"""The messages of `wirelens decode` and those in the tables of a bulk run, in one form, to be compared."""

import heapq
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from building import enhanced, interface, section
from feeding import fed
from inprocess import table

from wirelens.codecs.captures import CHUNK, Packet, PacketReader

ROOT = Path(__file__).resolve().parent.parent.parent
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Result = dict[str, Any]
"""A message, or bytes that did not decode."""
Place = tuple[str, int]
"""A file and the number of a packet in it."""


def decoded(
    paths: Sequence[Path], places: dict[int, Place] | None = None, options: Sequence[str] = ()
) -> list[Result]:
    """What `decode` gives for files or folders; `places`: where the packets of a merged capture were."""
    command = [sys.executable, "-m", "wirelens.cli.main", "decode", "--format", "jsonl", *options]
    done = subprocess.run([*command, *map(str, paths)], capture_output=True, text=True, check=False, cwd=ROOT)
    assert "Traceback" not in done.stderr, done.stderr
    found: list[Result] = []
    several = len(paths) > 1 or paths[0].is_dir()
    for line in done.stdout.split("\n")[:-1]:  # not splitlines, which splits at more
        record = json.loads(line)
        if record["protocol"] == "unknown":
            continue
        source = record.get("source") or {}
        file = source["file"] if several else str(paths[0])
        packet = None
        if "packets" in source:
            packet = source["packets"][-1]
            if places is not None:
                file, packet = places[packet]
        moment = source.get("time")
        result = {
            "file": file,
            "flow": source.get("flow"),
            "flow_number": source.get("flow_number"),
            "time": None if moment is None else _microseconds(moment),
            "packet": packet,
            "latency": source.get("latency"),
            "pair": source.get("pair"),
            "notes": record.get("notes"),
            **{key: record[key] for key in ("protocol", "offset", "length", "message")},
        }
        if record["message"] is None:
            result |= {"error": record["error"], "raw": record["bytes"], "partial": record.get("partial")}
        found.append(result)
    return _sorted(found)


def converted(out: Path) -> list[Result]:
    """What the tables in a folder hold."""
    found = [_message(row) for row in table(out, "messages")]
    failed = table(out, "quarantine")
    # Files that are not read, and what is wrong with files, `decode` reports on stderr.
    failed = [row for row in failed if row["length"] is not None and row["protocol"] != "unknown"]
    found += map(_failure, failed)
    return _sorted(found)


def _source(row: dict[str, Any]) -> Result:
    flow = None
    if row["transport"] is not None:
        source, destination = (
            f"[{row[end + '_address']}]:{row[end + '_port']}"
            if ":" in row[end + "_address"]
            else f"{row[end + '_address']}:{row[end + '_port']}"
            for end in ("source", "destination")
        )
        flow = f"{row['transport']} {source} > {destination}"
    same = ("file", "flow_number", "time", "packet", "notes", "protocol", "offset", "length")
    return {"flow": flow, **{key: row[key] for key in same}}


def _pair(row: dict[str, Any]) -> Result:
    latency = None if row["latency_us"] is None else row["latency_us"] / 1_000_000
    return {"latency": latency, "pair": row["pair_id"]}


def _message(row: dict[str, Any]) -> Result:
    return {
        **_source(row),
        **_pair(row),
        "message": json.loads(row["message"]),
    }


def _failure(row: dict[str, Any]) -> Result:
    error = {"code": row["error_code"], "offset": row["error_offset"], "text": row["error_text"]}
    return {
        **_source(row),
        **_pair(row),
        "message": None,
        "error": error,
        "raw": row["raw"].hex(),
        "partial": None if row["partial"] is None else json.loads(row["partial"]),
    }


def _sorted(found: list[Result]) -> list[Result]:
    """In order, and with pairs named by their messages."""
    pairs: dict[Any, list[tuple[str, int]]] = {}
    for result in found:
        if result["pair"] is not None:
            pairs.setdefault(result["pair"], []).append((result["flow"], result["offset"]))
    for result in found:
        if result["pair"] is not None:
            result["pair"] = sorted(pairs[result["pair"]])
    return sorted(found, key=lambda result: json.dumps(result, sort_keys=True))


def _microseconds(text: str) -> int:
    return round((datetime.fromisoformat(text) - EPOCH).total_seconds() * 1_000_000)


def merged(captures: Iterable[Path]) -> tuple[bytes, dict[int, Place]]:
    """All packets of some captures in one, in the order of their times; and where each of them was.

    In a capture whose clock goes back the latest time counts. Ties are sorted by name.
    """
    of = [(path, packets) for path in captures if (packets := _packets(path))]
    of.sort(key=lambda each: (each[1][0].time_us, str(each[0])))
    rows = heapq.merge(*(_running(place, packets) for place, (_, packets) in enumerate(of)))
    blocks = [section()]
    interfaces: dict[int, int] = {}
    places: dict[int, Place] = {}
    for _, place, number in rows:
        path, packets = of[place]
        packet = packets[number]
        if packet.link_type not in interfaces:
            interfaces[packet.link_type] = len(interfaces)
            blocks.append(interface(packet.link_type))
        which = interfaces[packet.link_type]
        blocks.append(enhanced(packet.data, packet.time_us, which, original=max(packet.original_length, 0)))
        places[len(places) + 1] = (str(path), packet.number)
    return b"".join(blocks), places


def _packets(path: Path) -> list[Packet]:
    reader = PacketReader()
    data = path.read_bytes()
    found: list[Packet] = []
    for at in range(0, len(data), CHUNK):
        found += fed(reader, data[at : at + CHUNK])
    return found + reader.close()


def _running(place: int, packets: list[Packet]) -> Iterator[tuple[int, int, int]]:
    latest = 0
    for number, packet in enumerate(packets):
        latest = max(latest, packet.time_us)
        yield latest, place, number
