"""The language of --where: its text, what it means, and what it makes of any text."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from wirelens.cli.where import values
from wirelens.cli.where.call_fields import call_fields
from wirelens.cli.where.compiling import compiled
from wirelens.cli.where.fields import DURATIONS, FLOWS, IDS, NUMBERS, TEXT, TEXTS, TRUTHS, Field, Fields
from wirelens.cli.where.language import (
    Comparison,
    Conjunction,
    Disjunction,
    Expression,
    Negation,
    Path,
    Presence,
    Step,
    Value,
    WhereError,
    Words,
)
from wirelens.cli.where.message_fields import LoneRecord, file_of_source, message_fields
from wirelens.cli.where.parsing import parse
from wirelens.codecs import decode

if TYPE_CHECKING:
    from collections.abc import Callable

    from wirelens.codecs import Record

Row = dict[str, Any]

SUMMARY: Field[Row] = Field(TEXTS, lambda row: row.get("summary"), TEXT)
FIELDS: Fields[Row] = Fields(
    {
        "summary": SUMMARY,
        "method": Field(TEXTS, lambda row: row.get("method")),
        "kind": Field(TEXTS, lambda row: row.get("kind"), words=lambda: ("request", "reply")),
        "latency": Field(DURATIONS, lambda row: row.get("latency")),
        "calls": Field(NUMBERS, lambda row: row.get("calls")),
        "port": Field(NUMBERS, lambda row: row.get("port", ()), several=True),
        "note": Field(TEXTS, lambda row: row.get("note", ()), listed=True),
        "late": Field(TRUTHS, lambda row: row.get("late")),
        "id": Field(IDS, lambda row: row.get("id")),
        "flow": Field(FLOWS, lambda row: row.get("flow")),
    },
    SUMMARY,
    {"message": lambda row: (row.get("message"),)},
    "message",
    {"outcome": "of calls"},
)


def matching(text: str, row: Row) -> bool:
    found = compiled([text], FIELDS)
    assert found is not None
    return found.matches(row)


# --- any text -----------------------------------------------------------------------------------------------

WORDS = r"""and or not has && || !
( ) ' " \ = == != ~ !~ < <= > >= =~ .. . [0] [-1] [*] [x latency method kind
request message port note late true id flow 1s 5 x é find $long a-b outcome Latency 2026-01-17 - , :"""
PIECES = st.sampled_from(WORDS.split()) | st.sampled_from([" ", " ", " ", "\t", "\udc80", "\0", "9" * 400])


@examples(500)
@given(st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=30))
def test_any_text_is_a_filter_or_an_error_inside_it(text: str) -> None:
    column = 1
    found = None
    try:
        found = compiled([text], FIELDS)
    except WhereError as error:
        column = error.column
    assert 1 <= column <= max(len(text), 1)
    for row in ({}, {"summary": text, "message": {"x": [1, text]}, "id": text, "latency": 5, "port": (1, 2)}):
        assert found is None or found.matches(row) in (True, False)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_any_text_is_a_filter_of_messages_and_of_calls_or_an_error_inside_it(text: str) -> None:
    columns = [1]
    for fields in (message_fields(file_of_source), message_fields(file_of_source, "folder", False)):
        try:
            compiled([text], fields)
        except WhereError as error:
            columns.append(error.column)
    try:
        compiled([text], call_fields())
    except WhereError as error:
        columns.append(error.column)
    assert 1 <= min(columns) <= max(columns) <= max(len(text), 1)


@examples(500)
@given(st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=30))
def test_the_text_of_what_was_read_reads_the_same(text: str) -> None:
    try:
        expression = parse(text, FIELDS.names)
    except WhereError:
        return
    assert parse(str(expression), FIELDS.names) == expression


# --- expressions --------------------------------------------------------------------------------------------

MEMBERS = st.sampled_from(["a", "b", "$long", "status", "a-b", "with blank", "quote'\"", "é", ""])
STEPS = st.builds(Step, MEMBERS, st.booleans()) | st.builds(Step, st.integers(-9, 99) | st.none())
TEXT_VALUES = st.text(st.sampled_from("ab '\"\\()=~<é"), max_size=6)
ATOMS: st.SearchStrategy[Expression] = st.one_of(
    st.builds(
        Comparison,
        st.just(Path("latency")),
        st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
        st.sampled_from([Value("1s"), Value("2ms", True), Value(".5 ms")]),
    ),
    st.builds(
        Comparison,
        st.just(Path("method")),
        st.sampled_from(["=", "!=", "~", "!~"]),
        st.builds(Value, TEXT_VALUES, st.just(True)) | st.just(Value("find it (now)")),
    ),
    st.builds(Comparison, st.just(Path("kind")), st.sampled_from(["=", "!="]), st.just(Value("request"))),
    st.builds(
        Comparison, st.just(Path("port")), st.sampled_from(["=", "!=", "<", ">="]), st.just(Value("5"))
    ),
    st.builds(
        Comparison, st.just(Path("note")), st.sampled_from(["=", "!=", "~", "!~"]), st.just(Value("x"))
    ),
    st.builds(
        Comparison,
        st.builds(Path, st.just("message"), st.lists(STEPS, max_size=3).map(tuple)),
        st.sampled_from(["=", "!=", "~", "!~"]),
        st.sampled_from([Value("1"), Value("x", True)]),
    ),
    st.builds(Presence, st.sampled_from([Path("latency"), Path("port"), Path("", (Step("a", True),))])),
    st.builds(Words, st.builds(Value, TEXT_VALUES, st.just(True)) | st.just(Value("some words"))),
)
EXPRESSIONS: st.SearchStrategy[Expression] = st.recursive(
    ATOMS,
    lambda inner: (
        st.builds(Negation, inner)
        | st.builds(Conjunction, st.lists(inner, min_size=2, max_size=3).map(tuple))
        | st.builds(Disjunction, st.lists(inner, min_size=2, max_size=3).map(tuple))
    ),
    max_leaves=8,
)
ROWS = st.fixed_dictionaries(
    {},
    optional={
        "summary": st.sampled_from(["some words", "a'b", "find"]),
        "method": st.sampled_from(["find it (now)", "a", "b"]),
        "kind": st.sampled_from(["request", "reply"]),
        "latency": st.sampled_from([0, 499, 500, 501, 2000, 1_000_000, 1_000_001]),
        "port": st.lists(st.integers(4, 6), max_size=2).map(tuple),
        "note": st.lists(st.sampled_from(["x", "xy", "z"]), max_size=2),
        "message": st.recursive(
            st.sampled_from([None, 1, 1.0, "1", "x", True]),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b"]), inner),
            max_leaves=6,
        ),
    },
)


@given(EXPRESSIONS)
def test_an_expression_reads_back(expression: Expression) -> None:
    assert parse(str(expression), FIELDS.names) == expression


def truth(expression: Expression, row: Row) -> bool:
    """The meaning of an expression, in the plainest way."""
    if isinstance(expression, Negation):
        return not truth(expression.part, row)
    if isinstance(expression, Conjunction):
        return all(truth(part, row) for part in expression.all)
    if isinstance(expression, Disjunction):
        return any(truth(part, row) for part in expression.any)
    if isinstance(expression, Words):
        return expression.value.text.lower() in row.get("summary", "").lower() and "summary" in row
    found = reached(expression.path, row)
    if isinstance(expression, Presence):
        return bool(found)
    checks = [compared(value, expression) for value in found]
    if expression.operator in ("!=", "!~"):
        return not any(checks) and (bool(found) or expression.path.root == "note")
    return any(checks)


def reached(path: Path, row: Row) -> list[Any]:
    """The values of a field or at a path."""
    if path.root in ("port", "note"):
        return list(row.get(path.root, ()))
    if path.root not in ("message", ""):
        return [row[path.root]] if path.root in row else []
    found = [row.get("message")]
    for step in path.steps:
        found = [inner for value in found for inner in stepped(value, step)]
    return found


def stepped(value: Any, step: Step) -> list[Any]:
    if step.anywhere:
        below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        own = [value[step.key]] if isinstance(value, dict) and step.key in value else []
        return own + [inner for part in below for inner in stepped(part, step)]
    if isinstance(step.key, str):
        return [value[step.key]] if isinstance(value, dict) and step.key in value else []
    if not isinstance(value, list):
        return []
    return list(value) if step.key is None else value[step.key :][:1] if -len(value) <= step.key else []


def compared(value: Any, comparison: Comparison) -> bool:
    """Whether a value has what the comparison asks for, `!` left out."""
    text = comparison.value.text
    sign = comparison.operator.removeprefix("!")
    if comparison.path.root == "latency":
        bound = {"1s": 1_000_000, "2ms": 2000, ".5 ms": 500}[text]
        return bool(COMPARE[sign](value, bound))
    if comparison.path.root == "port":
        return bool(COMPARE[sign](value, int(text)))
    if sign == "~":
        return isinstance(value, str) and text.lower() in value.lower()
    if comparison.path.root == "message" and text == "1":
        return not isinstance(value, bool) and value in (1, "1")
    return bool(value == text)


COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@examples(300)
@given(EXPRESSIONS, st.lists(ROWS, max_size=5))
def test_an_expression_means_what_its_parts_mean(expression: Expression, rows: list[Row]) -> None:
    found = compiled([str(expression)], FIELDS)
    assert found is not None
    assert [found.matches(row) for row in rows] == [truth(expression, row) for row in rows]


def test_cheap_conditions_are_asked_first() -> None:
    asked: list[str] = []

    def summary(row: Row) -> str:
        asked.append("summary")
        return "x"

    def tree(row: Row) -> tuple[Row]:
        asked.append("tree")
        return (row,)

    text = Field(TEXTS, summary, TEXT)
    fields = Fields({"n": Field(NUMBERS, lambda row: 1)}, text, {"message": tree}, "message", {})
    for expression, order in (
        ("message.a=1 and x and n=2", []),
        ("(message.a=1 or x) and n=2", []),
        ("message.a=1 or x or n=1", []),
        ("not (message.a=1 and x and n=2)", []),
        ("message.a=1 and y and n=1", ["summary"]),
        ("message.a=1 and x and n=1", ["summary", "tree"]),
        ("message.a=1 or y or n=2", ["summary", "tree"]),
    ):
        asked.clear()
        found = compiled([expression], fields)
        assert found is not None
        found.matches({"a": 5})
        assert asked == order, expression


# --- conditions that were there before ----------------------------------------------------------------------

OLD_FIELDS = ("protocol", "kind", "summary", "note", "error")


def old_condition(text: str, record: Record) -> bool:
    """What a condition meant before there were expressions."""
    name, sign, value = "summary", "~", text
    for mark in ("!=", "=", "~"):
        start, found, rest = text.partition(mark)
        if found and start in OLD_FIELDS:
            name, sign, value = start, mark, rest
            break
    texts = {
        "protocol": [record.protocol],
        "kind": [record.kind],
        "summary": [record.summary],
        "note": [note.code for note in record.notes],
        "error": [] if record.error is None else [record.error.code],
    }[name]
    if sign == "~":
        return any(value.lower() in one.lower() for one in texts)
    return (value in texts) == (sign == "=")


HEARTBEAT = bytes.fromhex("dabbe2000000000000000007000000014e")
OLD_WORDS = st.lists(
    st.sampled_from(
        ["dubbo", "heartbeat", "req", "#7", "(x)", "A", "é", "not", "has", "x=y", "-5", "truncated"]
    ),
    min_size=1,
    max_size=3,
).map(" ".join)
OLD_VALUES = {
    "protocol": st.sampled_from(["dubbo", "unknown", "bolt"]),
    "kind": st.sampled_from(["heartbeat", "request", "error"]),
    "summary": OLD_WORDS,
    "note": st.sampled_from(["bad-text", "joined-middle"]),
    "error": st.sampled_from(["truncated", "bad-text"]),
}


@given(st.data())
def test_conditions_that_worked_keep_their_meaning(data: st.DataObject) -> None:
    records = decode(HEARTBEAT + HEARTBEAT[:-1], "dubbo")
    assert len(records) == 2
    if data.draw(st.booleans()):
        text = data.draw(OLD_WORDS.filter(lambda words: not words.startswith(("not", "has", "(", "x=y"))))
    else:
        name = data.draw(st.sampled_from(OLD_FIELDS))
        text = name + data.draw(st.sampled_from(["=", "!=", "~"])) + data.draw(OLD_VALUES[name])
    found = compiled([text], message_fields(file_of_source))
    assert found is not None
    for record in records:
        assert found.matches(LoneRecord(record)) == old_condition(text, record), text


# --- values -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "first", "end"),
    [
        ("1s", 1_000_000, 1_000_001),
        ("1", 1_000_000, 1_000_001),
        (".1", 100_000, 100_001),
        ("1.5 ms", 1500, 1501),
        ("2min", 120_000_000, 120_000_001),
        ("2m", 120_000_000, 120_000_001),
        ("1h", 3_600_000_000, 3_600_000_001),
        ("5us", 5, 6),
        ("5µs", 5, 6),
        ("5000ns", 5, 6),
        ("5001ns", 6, 6),  # between 5 and 6
        ("-1ms", -1000, -999),
        ("0", 0, 1),
    ],
)
def test_durations(text: str, first: int, end: int) -> None:
    assert values.duration(text) == (first, end)


@pytest.mark.parametrize("text", ["", "s", "1 s s", "1S", "1e3s", "1x", "1,5s", "٣s", "1.s5", "--1s", "1  s"])
def test_no_durations(text: str) -> None:
    assert values.duration(text) is None


def test_sizes() -> None:
    sizes = {
        "5": 5,
        "5B": 5,
        "1kB": 1000,
        "1.5MB": 1_500_000,
        "2GB": 2 * 10**9,
        "1KiB": 1024,
        "1 MiB": 1 << 20,
    }
    assert {text: values.size(text) for text in sizes} == {text: (n, n + 1) for text, n in sizes.items()}
    assert values.size("5KB") is None


@pytest.mark.parametrize(
    ("text", "start", "length"),
    [
        ("2026-01-17", 1_768_608_000_000_000, 86_400_000_000),
        ("2026-01-17+08:00", 1_768_608_000_000_000 - 8 * 3_600_000_000, 86_400_000_000),
        ("2026-01-17T10:40", 1_768_646_400_000_000, 60_000_000),
        ("2026-01-17T10:40Z", 1_768_646_400_000_000, 60_000_000),
        ("2026-01-17T05:10-05:30", 1_768_646_400_000_000, 60_000_000),
        ("2026-01-17T10:40:01", 1_768_646_401_000_000, 1_000_000),
        ("2026-01-17T10:40:01.25", 1_768_646_401_250_000, 10_000),
        ("2026-01-17T10:40:01.000001Z", 1_768_646_401_000_001, 1),
    ],
)
def test_times(text: str, start: int, length: int) -> None:
    assert values.time(text) == (start, start + length)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01",
        "2026-01-17T10",
        "2026-02-29",
        "2026-01-17T24:00",
        "2026-01-17 10:40",
        "2026-01-17T10:40:60",
        "2026-01-17T10:40+0800",
        "2026-01-17T10:40+25:00",
        "2026-01-17T10:40+08:60",
        "0000-01-01",
        "now",
    ],
)
def test_no_times(text: str) -> None:
    assert values.time(text) is None


@pytest.mark.parametrize(
    ("text", "host", "port", "equal"),
    [
        ("10.0.0.1", "10.0.0.1", 5, True),
        ("10.0.0.1:5", "10.0.0.1", 5, True),
        ("10.0.0.1:6", "10.0.0.1", 5, False),
        ("10.0.0.0/24", "10.0.0.77", 5, True),
        ("10.0.0.9/24", "10.0.1.77", 5, False),
        ("::1", "::1", 5, True),
        ("[::1]:5", "::1", 5, True),
        ("[::1]", "::1", 5, True),
        ("fe80::/10", "fe80::5", 5, True),
        ("0.0.0.0/0", "::1", 5, False),
    ],
)
def test_addresses(text: str, host: str, port: int, equal: bool) -> None:
    from ipaddress import ip_address

    found = values.addresses(text)
    assert found is not None
    packed = ip_address(host).packed
    same = len(packed) == found.length and int.from_bytes(packed, "big") & found.mask == found.bits
    assert (same and found.port in (None, port)) == equal


@pytest.mark.parametrize(
    "text",
    ["", "host", "10.0.0", "10.0.0.1:x", "10.0.0.1:70000", "[10.0.0.1]:5", "10.0.0.0/33", "fe80::1%eth0"],
)
def test_no_addresses(text: str) -> None:
    assert values.addresses(text) is None


MESSAGE = {
    "id": {"$long": "5"},
    "name": "Ann",
    "count": "1000",
    "big": {"$list": [1, {"$int": 2, "$wire": "I"}], "$type": "java.util.List"},
    "map": {"$map": [[{"$long": 1}, "one"], ["k", {"x": None}]]},
    "object": {"$class": "A", "$fields": [["x", 1], ["x", 2]]},
    "date": {"$date": "2026-01-17T10:40:01.250Z"},
    "day": {"$class": "java.time.LocalDate", "$value": {"$long": 18319}},
    "old": {"$date": -62_135_596_800_001},
    "data": {"$bytes": "cafe"},
    "nothing": None,
    "yes": True,
    "nan": {"$double": "NaN"},
    "ref": {"$ref": 0},
    "text": "true",
}


@pytest.mark.parametrize(
    "expression",
    [
        "message.id=5",
        "message.id>4 and message.id<=5.0",
        "message.count=1000.0",
        "message.count>999",
        "message.count='1000'",
        "not message.id='5x'",
        "message.big[1]=2",
        "message.big[-1]=2 and not has message.big[2] and not has message.big[-3]",
        "message.big[*]=1",
        "message.map.k.x=null",
        "message.map.1=one",
        "..x=2",
        "..x=null",
        "message.object.x=1 and message.object.x=2 and message.object.x!=3",
        "message.date=2026-01-17 and message.date=2026-01-17T10:40:01.25",
        "message.date<2026-01-17T10:41 and message.date>2026-01-16",
        "message.date~T10:40",
        "message.day=18319",
        "message.old<2026-01-17",
        "message.data=cafe",
        "message.nothing=null and has message.nothing and message.nothing!=1",
        "message.yes=true and message.yes!='true' and not message.yes=1",
        "message.text=true and message.text='true'",
        "message.nan=NaN",
        "message.ref.$ref=0 and not has message.ref.name",
        "..$class~LocalDate",
        "message.name~aNN and not message.name=ann",
        "message.name!~x and not message.missing!~x",
        "not message.name>5",
        'message."name"=Ann',
    ],
)
def test_paths(expression: str) -> None:
    assert matching(expression, {"message": MESSAGE})


def test_deep_trees() -> None:
    tree: Any = {"sku": 1}
    for _ in range(50_000):
        tree = [tree]
    assert matching("..sku=1", {"message": tree})


def test_many_conditions() -> None:
    assert matching(" or ".join(["method=x"] * 5000 + ["method=y"]), {"method": "y"})
    with pytest.raises(WhereError, match="more than 100"):
        parse("not " * 10_000 + "x")
