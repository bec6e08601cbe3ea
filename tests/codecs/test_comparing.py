"""Comparing messages: what is a difference, what is not, and how much work that takes."""

import json
import random
from itertools import pairwise
from typing import Any

import pytest
from checks import inputs
from hypothesis import example, given
from hypothesis import strategies as st
from properties import examples

from wirelens.codecs import EncodeError, decode, encode, registry
from wirelens.codecs.comparing import Change, Graph, Ignored, PathError, compare, compare_messages, pattern
from wirelens.codecs.comparing.alignment import MOST_STEPS, Alignment
from wirelens.codecs.comparing.comparison import MOST_FOLLOWED, Comparison
from wirelens.codecs.comparing.paths import path_text
from wirelens.codecs.record import Record

LARGE = 20_000  # bytes of a vector that is left out
WITH_FORMS = {
    "hessian1",
    "hessian2",
    "hessian2-draft",
    "jsonb",
    "esnp-line",
    "http",
    "http2",
}  # of the vectors
EDITED = "edited: not one of the generated texts"


def record(*values: Any) -> Record:
    """A message of Hessian 2 with these values."""
    return Record.from_json({"protocol": "hessian2", "message": {"values": list(values)}})


def graph(message: Record, ignored: Ignored | None = None) -> Graph:
    root = message.root
    assert root is not None
    return Graph(root, message.codec, ignored)


def found(old: Any, new: Any, wire: bool = False, ignored: Ignored | None = None) -> list[Change]:
    return compare(graph(record(old), ignored), graph(record(new), ignored), wire).changes


def lines(changes: list[Change]) -> list[str]:
    """Changes as short lines: sign, old path, new path if it is another one."""
    shown = []
    for change in changes:
        paths = [
            path_text(place.steps).removeprefix("values[0]").removeprefix(".")
            for place in (change.old, change.new)
            if place is not None
        ]
        shown.append(" ".join([change.kind, *dict.fromkeys(paths)]).rstrip())
    return shown


def item(sku: str, quantity: int = 1) -> dict[str, Any]:
    return {"$class": "shop.Line", "sku": sku, "quantity": quantity}


RING = {"$class": "Node", "$id": "a", "name": "n", "next": {"$ref": "a"}}
LONG_RING = {
    "$class": "Node",
    "$id": "a",
    "name": "n",
    "next": {"$class": "Node", "$id": "b", "name": "n", "next": {"$ref": "a"}},
}
OTHER_RING = {
    "$class": "Node",
    "$id": "a",
    "name": "n",
    "next": {"$class": "Node", "$id": "b", "name": "m", "next": {"$ref": "a"}},
}
ADA = {"$class": "Person", "$id": "p", "name": "Ada"}
SHARED = {"buyer": ADA, "receiver": {"$ref": "p"}}
COPIED = {"buyer": {"$class": "Person", "name": "Ada"}, "receiver": {"$class": "Person", "name": "Ada"}}
# two children that are equal except for their parents, and a reference to one of them
FAMILY: list[Any] = [
    {"$class": "P", "$id": 1, "id": 1, "child": {"$class": "C", "$id": 2, "parent": {"$ref": 1}}},
    {"$class": "P", "$id": 3, "id": 2, "child": {"$class": "C", "$id": 4, "parent": {"$ref": 3}}},
]

TABLE: list[tuple[str, Any, Any, list[str]]] = [
    ("equal", {"a": [1, 2.5, None, True, "x"]}, {"a": [1, 2.5, None, True, "x"]}, []),
    ("a value", {"a": 1, "b": 2}, {"a": 1, "b": 3}, ["changed b"]),
    ("another type", {"a": 5}, {"a": {"$long": 5}}, ["changed a"]),
    ("int and double", [1], [1.0], ["changed [0]"]),
    ("zero and minus zero", [0.0], [-0.0], ["changed [0]"]),
    ("text and bytes", ["ab"], [{"$bytes": "6162"}], ["changed [0]"]),
    ("a member more", {"a": 1}, {"a": 1, "b": 2}, ["added b"]),
    ("a member less", {"a": 1, "b": 2}, {"b": 2}, ["removed a"]),
    ("null is a value", {"a": None}, {}, ["removed a"]),
    ("order of a map", {"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
    ("order of fields", {"$class": "A", "x": 1, "y": 2}, {"$class": "A", "y": 2, "x": 1}, []),
    ("names that are no words", {"a.b": 1}, {"a.b": 2}, ['changed "a.b"']),
    ("keys of other types", {"$map": [[1, "a"], [2, "b"]]}, {"$map": [[2, "c"], [1, "a"]]}, ["changed 2"]),
    (
        "keys that are objects",
        {"$map": [[item("a"), 1]]},
        {"$map": [[item("a"), 2]]},
        ['changed "shop.Line"'],
    ),
    ("an item in the middle", ["a", "b", "c"], ["a", "x", "b", "c"], ["added [1]"]),
    ("an item less", ["a", "b", "c"], ["a", "c"], ["removed [1]"]),
    ("an item changed", ["a", "b", "c"], ["a", "x", "c"], ["changed [1]"]),
    ("moved", ["a", "b", "c", "d"], ["d", "a", "b", "c"], ["moved [3] [0]"]),
    (
        "changed after a new one",
        [item("tea", 2), item("pot")],
        [item("cup"), item("tea", 3), item("pot")],
        ["added [0]", "changed [0].quantity [1].quantity"],
    ),
    (
        "another class",
        {"$class": "A", "x": 1, "y": 2},
        {"$class": "B", "x": 1, "y": 3},
        ["changed $class", "changed y"],
    ),
    (
        "another type of list",
        {"$type": "a", "$list": [1]},
        {"$type": "b", "$list": [2]},
        ["changed $type", "changed [0]"],
    ),
    ("list and map", {"a": [1]}, {"a": {"0": 1}}, ["changed a"]),
    ("a copy in place of a reference", SHARED, COPIED, []),
    (
        "a changed copy",
        SHARED,
        {**COPIED, "receiver": {"$class": "Person", "name": "Bob"}},
        ["changed buyer.name receiver.name"],
    ),
    (
        "a shared value changed",
        SHARED,
        {"buyer": {"$class": "Person", "$id": 7, "name": "Bob"}, "receiver": {"$ref": 7}},
        ["changed buyer.name"],
    ),
    ("a ring", RING, RING, []),
    ("a ring of one and of two", RING, LONG_RING, []),
    ("a ring that differs", RING, OTHER_RING, ["changed name next.name"]),
    ("a reference to another", [*FAMILY, {"$ref": 2}], [*FAMILY, {"$ref": 4}], ["changed [2]"]),
    (
        "references in another order",
        [*FAMILY, {"$ref": 2}, {"$ref": 4}],
        [*FAMILY, {"$ref": 4}, {"$ref": 2}],
        ["changed [2]", "changed [3]"],
    ),
    ("a dangling reference", [{"$ref": 90}], [{"$ref": 91}], ["changed [0]"]),
]


@pytest.mark.parametrize(
    ("old", "new", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_a_pair_of_values(old: Any, new: Any, expected: list[str]) -> None:
    assert lines(found(old, new)) == expected
    assert bool(found(new, old)) == bool(expected)


def test_changes_have_the_offsets_of_both_sides() -> None:
    old, new = record(["abc", 1]), record(["abcdef", 2])
    text, number = compare(graph(old), graph(new)).changes
    assert text.old is not None
    assert text.new is not None
    assert number.old is not None
    assert number.new is not None
    assert (text.old.offset, text.new.offset) == (1, 1)
    assert number.new.offset - number.old.offset == 3


WIRE: list[tuple[str, Any, Any, list[str]]] = [
    ("a longer form", 5, {"$int": 5, "$wire": "I"}, ["wire $wire"]),
    (
        "a renumbered reference",
        [ADA, ADA | {"$id": "q"}, {"$ref": "q"}],
        [ADA | {"$id": "q"}, ADA | {"$id": "r"}, {"$ref": "q"}],
        ["wire [2].$ref"],
    ),
    ("a copy in place of a reference", SHARED, COPIED, ["wire receiver"]),
    ("the order of a map", {"a": 1, "b": 2}, {"b": 2, "a": 1}, ["wire $order"]),
    ("nothing", {"a": [1, "x"]}, {"a": [1, "x"]}, []),
]


@pytest.mark.parametrize(("old", "new", "expected"), [row[1:] for row in WIRE], ids=[row[0] for row in WIRE])
def test_other_forms_of_a_value_are_shown_only_if_asked_for(old: Any, new: Any, expected: list[str]) -> None:
    assert found(old, new) == []
    assert lines(found(old, new, wire=True)) == expected


def without_wire(value: Any) -> Any:
    if isinstance(value, list):
        return [without_wire(inner) for inner in value]
    if isinstance(value, dict):
        return {key: without_wire(inner) for key, inner in value.items() if key != "$wire"}
    return value


@pytest.mark.parametrize("protocol", [name for name in registry.names() if inputs(name)])
def test_messages_in_their_usual_form_are_the_same(protocol: str) -> None:
    compared = 0
    for data in sorted(inputs(protocol)):
        for original in decode(data, protocol):
            text = original.json_text()
            if original.error is not None or original.length > LARGE or '"$wire"' not in text:
                continue
            if '"version": "absent"' in text:  # the usual form has a member more
                continue
            try:
                usual = Record.from_json(without_wire(original.to_json()))
            except (EncodeError, RecursionError):
                continue
            compared += 1
            (pair,) = compare_messages([original], [usual])
            assert lines(pair.differences.changes) == [], f"{text} {usual.json_text()}"
    assert bool(compared) == (protocol in WITH_FORMS)


# --- properties --------------------------------------------------------------------------------------------

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.sampled_from([0.0, 1.0, -1.5]),
    st.sampled_from(["", "a", "b", "tea", "ü"]),
    st.builds(lambda number: {"$long": number}, st.integers(-3, 3)),
    st.builds(lambda text: {"$bytes": text}, st.sampled_from(["", "00", "0102"])),
)
NAMES = st.sampled_from(["a", "b", "c d", "e.f"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.dictionaries(NAMES, inner, max_size=3),
        st.builds(lambda a, b: {"$class": "A", "x": a, "y": b}, inner, inner),
    ),
    max_leaves=20,
)


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@examples(300)
@given(VALUES)
def test_a_message_does_not_differ_from_itself(value: Any) -> None:
    assert found(value, value) == []
    assert found(value, value, wire=True) == []


@examples(500)
@given(VALUES, VALUES)
@example([1], [True])
@example({"$class": "A", "x": 1, "y": 2}, {"x": 1, "y": 2})
def test_messages_differ_exactly_if_their_values_do(old: Any, new: Any) -> None:
    assert bool(found(old, new)) == (canonical(old) != canonical(new))
    assert bool(found(new, old)) == (canonical(old) != canonical(new))


@examples(500)
@given(VALUES, VALUES)
@example([[1, 2, 3]], [[3, 1, 2, 4]])
def test_without_what_changed_nothing_differs(old: Any, new: Any) -> None:
    """The changes explain everything: what is left of both sides is equal."""
    changes = found([old], [new])
    before = [path_text(change.old.steps) for change in changes if change.old is not None]
    after = [path_text(change.new.steps) for change in changes if change.new is not None]
    one = graph(record([old]), Ignored(tuple([pattern(path) for path in before])))
    other = graph(record([new]), Ignored(tuple([pattern(path) for path in after])))
    assert compare(one, other).changes == []


def places(value: Any, path: list[Any]) -> list[list[Any]]:
    """The paths, in Python, to every value that is one of the notation."""
    rows = [path] if path else []
    if isinstance(value, list):
        for number, inner in enumerate(value):
            rows += places(inner, [*path, number])
    elif isinstance(value, dict) and "$long" not in value and "$bytes" not in value:
        for key, inner in value.items():
            if key != "$class":
                rows += places(inner, [*path, key])
    return rows


@examples(500)
@given(VALUES, st.randoms(use_true_random=False))
def test_one_edit_is_one_change_at_its_path(value: Any, chance: random.Random) -> None:
    old = [value, "last"]
    new = json.loads(json.dumps(old))
    path = chance.choice(places(old, []))
    inner = new
    for step in path[:-1]:
        inner = inner[step]
    last = path[-1]
    kind = chance.choice(["changed", "added", "removed"]) if isinstance(inner, list) else "changed"
    if kind == "changed":
        inner[last] = EDITED
    elif kind == "added":
        inner.insert(last, EDITED)
    else:
        del inner[last]
    (change,) = found(old, new)
    (reverse,) = found(new, old)
    assert change.kind == kind
    assert reverse.kind == {"added": "removed", "removed": "added"}.get(kind, kind)
    place = change.new or change.old
    assert place is not None
    if kind != "removed":  # of equal neighbours, any may have been removed
        assert place.steps == ["values", 0, *path]
    assert place.steps[:-1] == ["values", 0, *path[:-1]]


SEQUENCES = st.lists(st.integers(0, 6), max_size=40)


@examples(500)
@given(SEQUENCES, SEQUENCES)
def test_what_is_aligned_is_equal_and_in_order(old: list[int], new: list[int]) -> None:
    matches = Alignment(old, new).matches
    assert all(old[a] == new[b] for a, b in matches)
    assert all(x[0] < y[0] and x[1] < y[1] for x, y in pairwise(matches))
    if old == new:
        assert len(matches) == len(old)
    else:
        assert set(old) & set(new) == set() or matches


# --- work --------------------------------------------------------------------------------------------------


def order(skus: list[str]) -> dict[str, Any]:
    """An order whose lines refer back to it, as those of an ORM do."""
    rows = [{"$class": "Line", "sku": sku, "order": {"$ref": "o"}} for sku in skus]
    return {"$class": "Order", "$id": "o", "lines": rows}


@pytest.mark.slow
def test_one_item_put_into_ten_thousand_is_one_change() -> None:
    skus = [f"s{number}" for number in range(10_000)]
    more = [*skus[:6_000], "new", *skus[6_000:]]
    assert lines(found(order(skus), order(more))) == ["added lines[6000]"]
    assert lines(found(order(more), order(skus))) == ["removed lines[6000]"]
    alignment = Alignment(skus, more)
    assert alignment.steps <= 2 * len(more)
    assert alignment.myers_steps == 0


def test_aligning_takes_a_bounded_number_of_steps() -> None:
    chance = random.Random(1)
    length = 20_000
    cases = {
        "two values": (chance.choices((0, 1), k=length), chance.choices((0, 1), k=length)),
        "reversed": (list(range(length)), list(range(length))[::-1]),
        "nothing in common": (list(range(length)), list(range(length, 2 * length))),
        "shuffled": (list(range(length)), chance.sample(range(length), length)),
        "nested once": (
            [n for k in range(150) for n in (*range(k), 1000 + k)],
            [n for k in range(150) for n in (1000 + k, *range(k))],
        ),
    }
    for name, (old, new) in cases.items():
        alignment = Alignment(old, new)
        assert alignment.steps <= 70 * (len(old) + len(new)) + 100, name
        assert alignment.myers_steps <= MOST_STEPS + 4 * length, name


def test_few_edits_of_few_values_are_found() -> None:
    chance = random.Random(2)
    old = [chance.randrange(3) for _ in range(5_000)]
    new = list(old)
    for place in chance.sample(range(5_000), 30):
        new[place] = (new[place] + 1) % 3
    assert len(Alignment(old, new).matches) >= 5_000 - 60


def nested(depth: int, value: Any) -> Record:
    """Lists within lists."""
    data = b"\x57" * depth + encode({"values": [value]}, "hessian2") + b"Z" * depth
    (message,) = decode(data, "hessian2")
    assert message.error is None
    return message


def test_nesting_is_no_limit() -> None:
    old, new = nested(5_000, 1), nested(5_000, 2)
    (change,) = compare(graph(old), graph(new)).changes
    assert change.old is not None
    assert len(change.old.steps) == 5_002
    assert compare(graph(old), graph(nested(5_000, 1)), wire=True).changes == []


def ring(names: list[str]) -> list[Any]:
    """Nodes of a list, each referring to the one before, the first to the list."""
    nodes: list[Any] = []
    for number, name in enumerate(names):
        before = {"$ref": f"n{number - 1}" if number else "list"}
        nodes.append({"$class": "Node", "$id": f"n{number}", "name": name, "before": before})
    return nodes


def test_references_are_followed_a_bounded_number_of_times() -> None:
    names = [f"n{number}" for number in range(3_000)]
    old = record({"$type": "a", "$id": "list", "$list": ring(names)})
    new = record({"$type": "a", "$id": "list", "$list": ring([*names[:1_500], "x", *names[1_500:]])})
    comparison = Comparison(graph(old), graph(new))
    comparison.run()
    assert "added [1500]" in lines(comparison.changes)
    # the reference from the node after the new one does lead elsewhere now
    assert lines(comparison.changes) == ["added [1500]", "changed [1500].before [1501].before"]
    assert comparison.followed <= MOST_FOLLOWED + 1


def test_references_to_changed_values_are_not_reported_again() -> None:
    shared = {"$class": "Customer", "$id": "c", "name": "Ada", "vip": False}
    old = [shared, *[{"$ref": "c"} for _ in range(500)]]
    new = [{**shared, "vip": True}, *[{"$ref": "c"} for _ in range(500)]]
    assert lines(found(old, new)) == ["changed [0].vip"]


# --- what is ignored ---------------------------------------------------------------------------------------

PATHS: list[tuple[str, Any, Any, list[str]]] = [
    ("values[0].a", {"a": 1, "b": 1}, {"a": 2, "b": 2}, ["changed b"]),
    ("message.values[0].a", {"a": 1}, {"a": 2}, []),
    ("values[*].a", {"a": 1}, {"a": 2}, []),
    ("values[0][-1]", [1, 2], [1, 3], []),
    ("values[0][-1]", [1, 2], [5, 3], ["changed [0]"]),
    ("..x", {"a": {"x": 1}, "x": 2}, {"a": {"x": 3}, "x": 4}, []),
    ("..x.y", {"x": {"y": 1, "z": 1}}, {"x": {"y": 2, "z": 2}}, ["changed x.z"]),
    ("..x..y", {"x": {"a": [{"y": 1}]}}, {"x": {"a": [{"y": 2}]}}, []),
    ('values[0]."a.b"', {"a.b": 1}, {"a.b": 2}, []),
    ("values[0].$list[1]", {"$type": "t", "$list": [1, 2]}, {"$type": "t", "$list": [1, 3]}, []),
    ("values[0].a", {"a": 1}, {}, []),
]


@pytest.mark.parametrize(("path", "old", "new", "expected"), PATHS)
def test_values_at_a_path_are_not_compared(path: str, old: Any, new: Any, expected: list[str]) -> None:
    assert lines(found(old, new, ignored=Ignored((pattern(path),)))) == expected


@pytest.mark.parametrize(
    ("path", "column"), [("", 1), ("a..", 4), ("a[x]", 2), ("a[1", 2), ("a b", 2), (".", 1), ("a.[0]", 3)]
)
def test_a_path_that_is_none_is_refused_with_its_column(path: str, column: int) -> None:
    with pytest.raises(PathError) as caught:
        pattern(path)
    assert caught.value.column == column


HANDLE = "com.alibaba.com.caucho.hessian.io.java8.LocalDateHandle"
DATES = [
    ({"$date": "2026-01-17T10:40:00.000Z"}, {"$date": "2026-01-18T00:00:00.000Z"}),
    ("2026-01-17", "2026-01-18"),
    ("2026-01-17T10:40:01Z", "2026-01-17T10:40:01.25+01:00"),
    ("Sat, 17 Jan 2026 10:40:00 GMT", "Sun, 18 Jan 2026 10:40:00 GMT"),
    (
        {"$class": HANDLE, "day": 20, "month": 1, "year": 2026},
        {"$class": HANDLE, "day": 21, "month": 1, "year": 2026},
    ),
]


@pytest.mark.parametrize(("old", "new"), DATES)
def test_dates_are_ignored_in_any_form(old: Any, new: Any) -> None:
    assert len(found({"at": old}, {"at": new})) >= 1
    ignored = Ignored(dates=True)
    assert found({"at": old}, {"at": new}, ignored=ignored) == []
    assert lines(found({"at": old}, {"at": None}, ignored=ignored)) == ["changed at"]
    assert len(found("2026-01-17 was a day", "2026-01-18 was a day", ignored=ignored)) == 1


IDS: list[dict[str, Any]] = [
    {
        "protocol": "dubbo",
        "message": {
            "type": "request",
            "two_way": True,
            "event": True,
            "serialization": "hessian2",
            "id": 1,
            "body": {"event": None},
        },
    },
    {"protocol": "esnp-line", "message": {"lines": [{"type": "MESSAGE_ID", "value": 1}, {"type": "END"}]}},
    {
        "protocol": "mevent",
        "message": {
            "request": {
                "version": 1,
                "id": 1,
                "command": 2,
                "flags": 0,
                "plugin": "p",
                "variables": [],
                "eof": True,
            }
        },
    },
]


@pytest.mark.parametrize("message", IDS, ids=[row["protocol"] for row in IDS])
def test_ids_of_messages_are_ignored(message: dict[str, Any]) -> None:
    old = Record.from_json(message)
    new = Record.from_json(
        json.loads(json.dumps(message).replace('"id": 1', '"id": 2').replace('"value": 1', '"value": 2'))
    )
    (pair,) = compare_messages([old], [new])
    assert len(pair.differences.changes) == 1
    (pair,) = compare_messages([old], [new], Ignored(ids=True))
    assert pair.kind == "same"


def test_ids_of_traces_are_ignored_but_not_those_of_things() -> None:
    ignored = Ignored(ids=True)
    assert found({"traceparent": "00-1"}, {"traceparent": "00-2"}, ignored=ignored) == []
    assert lines(found({"id": 1}, {"id": 2}, ignored=ignored)) == ["changed id"]


def test_lengths_and_checksums_follow_from_the_rest() -> None:
    """Only the content is reported, of which the length, the header with it and the checksum are parts."""
    protocols = set()
    for protocol in ("magline-old", "magline", "bolt", "http"):
        for data in sorted(inputs(protocol))[:400]:
            for original in decode(data, protocol):
                if original.error is not None or original.damaged:
                    continue
                longer = longer_content(original.to_json())
                if longer is None:
                    continue
                try:
                    other = Record.from_json(longer)
                except EncodeError:
                    continue
                (pair,) = compare_messages([original], [other])
                assert len(pair.differences.changes) == 1, lines(pair.differences.changes)
                (pair,) = compare_messages([original], [other], Ignored(derived=False))
                if len(pair.differences.changes) > 1:
                    protocols.add(protocol)
    assert protocols >= {"magline", "http"}


def longer_content(value: Any) -> Any:
    """A record whose data is longer by a byte, without stated lengths and checksums; None without data."""
    value = json.loads(json.dumps(value))
    body = value["message"].get("body") or value["message"].get("content")
    if not isinstance(body, dict) or not isinstance(body.get("data"), str) or "partial" in body:
        return None
    body["data"] += "00"
    for name in ("length", "message_length", "crc"):
        value["message"].pop(name, None)
    for header in value["message"].get("headers", ()):
        if header[0].lower() == "content-length":
            header[1] = str(int(header[1]) + 1)
    return value


# --- sequences of messages ---------------------------------------------------------------------------------


def kinds(old: list[Record], new: list[Record]) -> list[str]:
    return [
        f"{pair.kind} {pair.old} {pair.new}" for pair in compare_messages(old, new) if pair.kind != "same"
    ]


def test_messages_are_aligned() -> None:
    messages = [record(item(f"s{number}", number)) for number in range(200)]
    assert kinds(messages, messages) == []
    assert kinds(messages, [*messages[:50], record("new"), *messages[50:]]) == ["added -1 50"]
    assert kinds(messages, messages[1:]) == ["removed 0 -1"]
    assert kinds(messages, [*messages[1:], messages[0]]) == ["moved 0 199"]
    changed = [*messages[:7], record(item("s7", 70)), *messages[8:]]
    assert kinds(messages, changed) == ["changed 7 7"]
    assert kinds(messages, [record("new"), *changed]) == ["added -1 0", "changed 7 8"]
    assert kinds([], messages[:1]) == ["added -1 0"]


def test_the_same_bytes_as_two_messages_or_damaged() -> None:
    good = decode(encode({"values": ["text"]}, "hessian2"), "hessian2")
    cut = decode(encode({"values": ["text"]}, "hessian2")[:-1], "hessian2")
    other = decode(encode({"values": ["tent"]}, "hessian2")[:-1], "hessian2")
    assert kinds(cut, cut) == []
    (pair,) = compare_messages(good, cut)
    assert "changed error" in lines(pair.differences.changes)
    (pair,) = compare_messages(cut, other)
    assert pair.kind == "changed"


def test_another_protocol_with_the_same_values() -> None:
    one = Record.from_json({"protocol": "hessian2", "message": {"values": [1, "a"]}})
    other = Record.from_json({"protocol": "hessian1", "message": {"values": [1, "a"]}})
    (pair,) = compare_messages([one], [other])
    assert lines(pair.differences.changes) == ["changed protocol"]
