"""What Java values mean: each class in its forms, in what real writers sent, and in nonsense."""

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
import trees
from hypothesis import given
from hypothesis import strategies as st
from trees import NULL, Tree, as_map, bean, binary, date, double, entries, flag, items, long, ref, text, whole

from wirelens import codecs
from wirelens.codecs.codes import CODES
from wirelens.codecs.hessian import java, java_time
from wirelens.codecs.hessian.class_notes import CODE, class_notes
from wirelens.codecs.hessian.gadgets import COMPANIONS, GADGETS, PACKAGES, gadget
from wirelens.codecs.hessian.java import annotate
from wirelens.codecs.hessian.throwable import MAX_LINES, stack_trace
from wirelens.codecs.node import Node
from wirelens.codecs.tape import Tape

HANDLES = ("com.caucho.hessian.io.", "com.alibaba.com.caucho.hessian.io.")


def said(tree: Tree, *after: Tree) -> str:
    """The note on a value; `after`: further values after it."""
    return annotate(trees.value(trees.build([tree, *after])))


def local_date(year: int = 2024, month: int = 2, day: int = 29) -> Tree:
    return bean(
        "com.caucho.hessian.io.java8.LocalDateHandle", year=whole(year), month=whole(month), day=whole(day)
    )


def local_time(hour: int = 1, minute: int = 2, second: int = 3, nano: int = 4) -> Tree:
    return bean(
        "com.caucho.hessian.io.java8.LocalTimeHandle",
        hour=whole(hour),
        minute=whole(minute),
        second=whole(second),
        nano=whole(nano),
    )


def date_time() -> Tree:
    return bean("com.caucho.hessian.io.java8.LocalDateTimeHandle", date=local_date(), time=local_time())


def offset(seconds: int) -> Tree:
    return bean("com.caucho.hessian.io.java8.ZoneOffsetHandle", seconds=whole(seconds))


def time_handle(name: str, **fields: Tree) -> Tree:
    return bean(f"com.alibaba.com.caucho.hessian.io.java8.{name}Handle", **fields)


def words(*numbers: int) -> Tree:
    return items(*[whole(number) for number in numbers], of="[int")


def big_integer(signum: int, *magnitude: int) -> Tree:
    return bean(
        "java.math.BigInteger",
        signum=whole(signum),
        bitCountPlusOne=whole(0),
        bitLengthPlusOne=whole(0),
        lowestSetBitPlusTwo=whole(0),
        firstNonzeroIntNumPlusTwo=whole(0),
        mag=words(*magnitude),
    )


def decimal(scale: int, signum: int, *magnitude: int) -> Tree:
    return bean("java.math.BigDecimal", scale=whole(scale), intVal=big_integer(signum, *magnitude))


SOFA = "com.alipay.sofa.rpc.core."

MEANINGS: list[tuple[str, Tree, str]] = [
    # numbers
    ("decimal", bean("java.math.BigDecimal", value=text("3.14")), "3.14"),
    (
        "decimal lost",
        bean("java.math.BigDecimal", scale=whole(2), intVal=NULL),
        "number lost by the sender: intVal is null, only scale 2 is left",
    ),
    ("decimal of words", decimal(2, 1, 31415), "314.15"),
    ("decimal below one", decimal(5, -1, 314), "-0.00314"),
    ("decimal tiny", decimal(12, 1, 314), "3.14E-10"),
    ("decimal large", decimal(-3, 1, 12), "1.2E+4"),
    ("decimal zero", decimal(2, 0), "0.00"),
    ("decimal whole", decimal(0, 1, 7), "7"),
    ("decimal of nothing", bean("java.math.BigDecimal"), ""),
    (
        "integer",
        big_integer(-1, 1, -1897328650, -1015815954),
        str(-((1 << 64) | (2397638646 << 32) | 3279151342)),
    ),
    ("integer zero", big_integer(0), "0"),
    (
        "integer text",
        bean("java.math.BigInteger", value=text("12345678901234567890")),
        "12345678901234567890",
    ),
    (
        "integer without words",
        bean("java.math.BigInteger", signum=whole(1), mag=NULL),
        "number lost by the sender: mag is null",
    ),
    ("integer wrong sign", big_integer(2, 1), ""),
    ("integer of texts", bean("java.math.BigInteger", signum=whole(1), mag=items(text("1"))), ""),
    ("integer long", big_integer(1, *([-1] * 64)), f"{str((1 << 2048) - 1)[:40]}… (617 characters)"),
    ("integer too long", big_integer(1, *([-1] * 65)), ""),
    ("byte", bean("com.caucho.hessian.io.ByteHandle", _value=whole(127)), "127"),
    ("short", bean("com.caucho.hessian.io.ShortHandle", _value=whole(-32768)), "-32768"),
    ("float", bean("com.caucho.hessian.io.FloatHandle", _value=double(3.299999952316284)), "3.3"),
    ("float not a number", bean("com.caucho.hessian.io.FloatHandle", _value=double(float("nan"))), "NaN"),
    ("float infinite", bean("com.caucho.hessian.io.FloatHandle", _value=double(float("-inf"))), "-Infinity"),
    ("float too large", bean("com.caucho.hessian.io.FloatHandle", _value=double(1e300)), ""),
    (
        "float largest",
        bean("com.caucho.hessian.io.FloatHandle", _value=double(3.4028234663852886e38)),
        "3.4028235e+38",
    ),
    ("float no float", bean("com.caucho.hessian.io.FloatHandle", _value=double(3.3)), ""),
    ("atomic integer", bean("java.util.concurrent.atomic.AtomicInteger", value=whole(5)), "5"),
    ("atomic long", bean("java.util.concurrent.atomic.AtomicLong", value=long(6)), "6"),
    ("atomic boolean", bean("java.util.concurrent.atomic.AtomicBoolean", value=whole(1)), "true"),
    ("bit set", bean("java.util.BitSet", words=items(long(8), long(64), of="[long")), "{3, 70}"),
    ("bit set handle", bean(HANDLES[1] + "BitSetHandle", words=items(long(-1 << 63))), "{63}"),
    (
        "bit set full",
        bean("java.util.BitSet", words=items(long(-1), long(-1))),
        ("{" + ", ".join(map(str, range(64))))[:199] + "…",
    ),
    (
        "uuid",
        bean(
            "java.util.UUID", mostSigBits=long(1314564453825188563), leastSigBits=long(-6605018797301088256)
        ),
        "123e4567-e89b-12d3-a456-426614174000",
    ),
    (
        "uuid text",
        bean("java.util.UUID", value=text("123e4567-e89b-12d3-a456-426614174000")),
        "123e4567-e89b-12d3-a456-426614174000",
    ),
    ("uuid half", bean("java.util.UUID", mostSigBits=long(1)), ""),
    # enums
    ("enum", bean("lab.Gen$Color", name=text("GREEN")), "Color.GREEN"),
    ("enum constant with a body", bean("lab.Gen$Color$1", name=text("BLUE")), "Color.BLUE"),
    ("enum at the top", bean("example.Level", name=text("LEVEL_2")), "Level.LEVEL_2"),
    ("enum by its name", bean("example.StateEnum", name=text("open")), "StateEnum.open"),
    ("a bean with a name", bean("example.Person", name=text("Bob")), ""),
    ("a bean with more", bean("example.Person", name=text("BOB"), age=whole(3)), ""),
    # times
    *[
        (
            f"date {prefix}",
            bean(f"{prefix}java8.LocalDateHandle", day=whole(29), month=whole(2), year=whole(2024)),
            "2024-02-29",
        )
        for prefix in HANDLES
    ],
    (
        "date of its own fields",
        bean("java.time.LocalDate", year=whole(7), month=whole(1), day=whole(2)),
        "0007-01-02",
    ),
    ("date far", local_date(12024), "+12024-02-29"),
    ("date before", local_date(-44, 3, 15), "-0044-03-15"),
    ("date wrong", local_date(2024, 13), ""),
    ("time", local_time(), "01:02:03.000000004"),
    ("time on the minute", local_time(23, 59, 0, 0), "23:59"),
    ("time on the second", local_time(0, 0, 7, 0), "00:00:07"),
    ("time in milliseconds", local_time(0, 0, 0, 5_000_000), "00:00:00.005"),
    ("time in microseconds", local_time(0, 0, 0, 5_000), "00:00:00.000005"),
    ("time wrong", local_time(24), ""),
    ("date and time", date_time(), "2024-02-29T01:02:03.000000004"),
    ("date without time", bean(HANDLES[0] + "java8.LocalDateTimeHandle", date=local_date(), time=NULL), ""),
    (
        "instant",
        time_handle("Instant", seconds=long(1700000000), nanos=whole(5)),
        "2023-11-14T22:13:20.000000005Z",
    ),
    (
        "instant on the minute",
        time_handle("Instant", seconds=long(0), nanos=whole(0)),
        "1970-01-01T00:00:00Z",
    ),
    ("instant too far", time_handle("Instant", seconds=long(10**11 * 9), nanos=whole(0)), ""),
    ("duration", time_handle("Duration", seconds=long(90), nanos=whole(0)), "PT1M30S"),
    ("duration zero", time_handle("Duration", seconds=long(0), nanos=whole(0)), "PT0S"),
    ("duration negative", time_handle("Duration", seconds=long(-1), nanos=whole(500_000_000)), "PT-0.5S"),
    ("duration long", time_handle("Duration", seconds=long(7200), nanos=whole(1)), "PT2H0.000000001S"),
    ("period", time_handle("Period", years=whole(1), months=whole(0), days=whole(-3)), "P1Y-3D"),
    ("period zero", time_handle("Period", years=whole(0), months=whole(0), days=whole(0)), "P0D"),
    ("year", time_handle("Year", year=whole(2024)), "2024"),
    ("year and month", time_handle("YearMonth", year=whole(2024), month=whole(2)), "2024-02"),
    ("month and day", time_handle("MonthDay", month=whole(2), day=whole(9)), "--02-09"),
    ("offset", offset(28800), "+08:00"),
    ("offset none", offset(0), "Z"),
    ("offset with seconds", offset(-3661), "-01:01:01"),
    ("offset of its own fields", bean("java.time.ZoneOffset", totalSeconds=whole(-1800)), "-00:30"),
    ("zone", time_handle("ZoneId", zoneId=text("Europe/Paris")), "Europe/Paris"),
    ("zone region", bean("java.time.ZoneRegion", id=text("Europe/Paris")), "Europe/Paris"),
    (
        "offset date and time",
        time_handle("OffsetDateTime", dateTime=date_time(), offset=offset(3600)),
        "2024-02-29T01:02:03.000000004+01:00",
    ),
    (
        "offset time",
        time_handle("OffsetTime", localTime=local_time(), zoneOffset=offset(0)),
        "01:02:03.000000004Z",
    ),
    (
        "zoned",
        time_handle(
            "ZonedDateTime", dateTime=date_time(), offset=offset(28800), zoneId=text("Asia/Shanghai")
        ),
        "2024-02-29T01:02:03.000000004+08:00[Asia/Shanghai]",
    ),
    (
        "zoned by an object",
        time_handle(
            "ZonedDateTime",
            dateTime=date_time(),
            offset=offset(28800),
            zoneId=time_handle("ZoneId", zoneId=text("+08:00")),
        ),
        "2024-02-29T01:02:03.000000004+08:00",
    ),
    (
        "calendar",
        bean(HANDLES[0] + "CalendarHandle", type=NULL, date=date(894621091000)),
        "1998-05-08T09:51:31.000Z",
    ),
    ("sql timestamp", bean("java.sql.Timestamp", value=date(894621091000)), "1998-05-08T09:51:31.000Z"),
    ("sql date far", bean("java.sql.Date", value=date(1 << 62)), ""),
    # other classes of the platform
    ("locale", bean(HANDLES[0] + "LocaleHandle", value=text("en_GB")), "en_GB"),
    ("locale lost", bean("java.util.Locale"), "locale lost by the sender: the object has no fields"),
    ("locale of fields", bean("java.util.Locale", language=text("de"), country=text("AT")), "de_AT"),
    ("class", bean("java.lang.Class", name=text("lab.Gen$Car")), "lab.Gen$Car.class"),
    ("class handle", bean(HANDLES[0] + "ClassHandle", name=text("int")), "int.class"),
    ("builder", bean("java.lang.StringBuilder", value=text("abc\0\0"), count=whole(3)), '"abc"'),
    ("file", bean("java.io.File", value=text("/tmp/x")), "/tmp/x"),
    ("object name", bean("javax.management.ObjectName", value=text("a:type=b")), "a:type=b"),
    ("optional", bean("java.util.Optional", value=NULL), "empty"),
    (
        "url",
        bean(
            "java.net.URL",
            protocol=text("http"),
            host=text("h"),
            port=whole(80),
            file=text("/a?b"),
            authority=NULL,
            ref=text("x"),
        ),
        "http://h:80/a?b#x",
    ),
    (
        "url with authority",
        bean(
            "java.net.URL",
            protocol=text("http"),
            host=text("h"),
            port=whole(8),
            file=text("/"),
            authority=text("u@h:8"),
            ref=NULL,
        ),
        "http://u@h:8/",
    ),
    (
        "url without host",
        bean("java.net.URL", protocol=text("file"), host=text(""), file=text("/x")),
        "file:/x",
    ),
    (
        "address",
        bean(HANDLES[0] + "InetAddressHandle", hostName=text("db"), address=binary(bytes([10, 0, 0, 7]))),
        "db/10.0.0.7",
    ),
    (
        "address without name",
        bean(HANDLES[0] + "InetAddressHandle", hostName=NULL, address=binary(bytes(15) + b"\1")),
        "/0:0:0:0:0:0:0:1",
    ),
    (
        "address in a holder",
        bean(
            "java.net.InetAddress",
            holder=bean(
                "java.net.InetAddress$InetAddressHolder",
                hostName=text("db"),
                address=whole(167772167),
                family=whole(1),
            ),
        ),
        "db/10.0.0.7",
    ),
    (
        "socket address",
        bean("java.net.InetSocketAddress", hostName=text("db"), addr=NULL, port=whole(3306)),
        "db:3306",
    ),
    (
        "frame",
        bean(
            "java.lang.StackTraceElement",
            declaringClass=text("pkg.A"),
            methodName=text("f"),
            fileName=text("A.java"),
            lineNumber=whole(10),
        ),
        "pkg.A.f(A.java:10)",
    ),
    (
        "frame in a module",
        bean(
            "java.lang.StackTraceElement",
            classLoaderName=text("app"),
            moduleName=text("java.base"),
            moduleVersion=text("17"),
            declaringClass=text("A"),
            methodName=text("f"),
            fileName=NULL,
            lineNumber=whole(-1),
            format=whole(1),
        ),
        "java.base@17/A.f(Unknown Source)",
    ),
    (
        "frame of a loader",
        bean(
            "java.lang.StackTraceElement",
            classLoaderName=text("app"),
            moduleName=NULL,
            declaringClass=text("A"),
            methodName=text("f"),
            fileName=text("A.java"),
            lineNumber=whole(-2),
        ),
        "app//A.f(Native Method)",
    ),
    # services
    (
        "sofa request",
        bean(
            SOFA + "request.SofaRequest",
            targetAppName=NULL,
            methodName=text("find"),
            targetServiceUniqueName=text("example.Orders:1.0"),
            requestProps=NULL,
            methodArgSigs=items(text("long"), of="[string"),
        ),
        "example.Orders:1.0 find(long)",
    ),
    (
        "sofa error",
        bean(
            SOFA + "response.SofaResponse", isError=flag(True), errorMsg=text("no service"), appResponse=NULL
        ),
        "error: no service",
    ),
    (
        "sofa thrown",
        bean(
            SOFA + "response.SofaResponse",
            isError=flag(False),
            errorMsg=NULL,
            appResponse=bean("example.BadException", detailMessage=text("why"), cause=NULL),
        ),
        "thrown: example.BadException: why",
    ),
    (
        "sofa answer",
        bean(SOFA + "response.SofaResponse", isError=flag(False), errorMsg=NULL, appResponse=whole(1)),
        "",
    ),
    (
        "dubbo invocation",
        bean(
            "org.apache.dubbo.rpc.RpcInvocation",
            methodName=text("pay"),
            parameterTypes=items(bean("java.lang.Class", name=text("long")), of="[java.lang.Class"),
        ),
        "pay(long)",
    ),
    (
        "dubbo generic exception",
        bean(
            "org.apache.dubbo.rpc.service.GenericException",
            exceptionClass=text("a.B"),
            exceptionMessage=text("c"),
        ),
        "a.B: c",
    ),
    (
        "generic bean",
        entries((text("class"), text("example.Car")), (text("color"), text("red"))),
        "a example.Car",
    ),
    ("a map with a class", entries((text("class"), text("first"))), ""),
    ("exception", bean("java.lang.IllegalStateException", detailMessage=text("no"), cause=NULL), ""),
    ("a bean about errors", bean("example.FieldError", message=text("no")), ""),
    # bytes
    ("bytes of Java", binary(b"\xac\xed\x00\x05sr\x00"), "looks like Java serialization"),
    ("bytes of a class", binary(b"\xca\xfe\xba\xbe\x00\x00\x00\x34"), "looks like Java class file"),
    ("bytes in gzip", binary(gzip.compress(b"abc")), "looks like gzip"),
    ("bytes in zlib", binary(zlib.compress(b"abc" * 9)), "looks like zlib"),
    ("bytes that start like zlib", binary(b"\x78\x9c\xff\xff\xff\xff\xff\xff"), ""),
    ("bytes of JSON", binary(b'{"a":"b"}'), 'looks like JSON: {"a":"b"}'),
    ("bytes of XML", binary(b"<?xml version='1.0'?><a/>"), "looks like XML"),
    ("bytes of text", binary("größer als".encode()), 'looks like text: "größer als"'),
    ("bytes of much text", binary("ä".encode() * 40000), f'looks like text: "{"ä" * 79}…"'),
    ("few bytes", binary(b"abc"), ""),
    ("bytes", binary(bytes(range(9))), ""),
]
NAMES = [name for name, _, _ in MEANINGS]


@pytest.mark.parametrize(("tree", "meaning"), [(tree, meaning) for _, tree, meaning in MEANINGS], ids=NAMES)
def test_meaning(tree: Tree, meaning: str) -> None:
    assert said(tree) == meaning
    assert said(as_map(tree)) == meaning


def test_names_in_the_table_are_unique() -> None:
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize(
    ("name", "number", "meaning"),
    [
        ("createTime", 1700000000123, "2023-11-14T22:13:20.123Z"),
        ("gmtCreate", 1700000000000, "2023-11-14T22:13:20.000Z"),
        ("updated_at", 1700000000000, "2023-11-14T22:13:20.000Z"),
        ("timestamp", 1700000000, "2023-11-14T22:13:20.000Z"),
        ("createTime", 5, ""),
        ("createTime", 1 << 62, ""),
        ("id", 1700000000123, ""),
        ("format", 1700000000123, ""),
        ("sometimes", 1700000000123, ""),
    ],
)
def test_moments(name: str, number: int, meaning: str) -> None:
    node = trees.value(trees.build([bean("example.Order", key=text("x"), **{name: long(number)})]))
    assert annotate(node.children[-1]) == meaning
    pairs = entries((text("other"), text("x")), (text(name), long(number)))
    node = trees.value(trees.build([pairs]))
    assert annotate(node.children[3]) == meaning
    assert [annotate(part) for part in node.children[:3]] == ["", "", ""]


def test_references_are_followed() -> None:
    shared = bean(
        "example.Pair", one=date_time(), two=time_handle("OffsetDateTime", dateTime=ref(1), offset=offset(0))
    )
    node = trees.value(trees.build([shared])).children[1]
    assert annotate(node) == "2024-02-29T01:02:03.000000004Z"


def test_a_dangling_reference_means_nothing() -> None:
    assert said(time_handle("OffsetDateTime", dateTime=ref(99), offset=offset(0))) == ""


def test_the_first_of_fields_with_one_name_counts() -> None:
    tree = {
        "kind": "object",
        "type": "java.util.UUID",
        "fields": [["value", text("one")], ["value", text("two")]],
    }
    assert said(tree) == "one"


def test_annotations_are_short() -> None:
    assert len(said(bean("java.io.File", value=text("x" * 4000)))) == java.MAX_SHOWN
    assert said(bean("java.io.File", value=text("x" * 5000))) == ""


# --- what real writers sent ---------------------------------------------------------------------

# By vector: every meaning in it, in order, as far as it is the same for all writers.
LOST = "number lost by the sender: intVal is null, only scale "
NO_LOCALE = "locale lost by the sender: the object has no fields"
TRACE = ["\tat pkg.A.f(A.java:10)", "\tat pkg.B.g(Native Method)"]
FRAMES = [line.removeprefix("\tat ") for line in TRACE]
BY_VECTOR: dict[str, list[str]] = {
    "bigdecimal": ["0.00", "-1E+30", "3.14"],
    "bigdecimal_no_metainf": [LOST + "2 is left", LOST + "-30 is left", LOST + "2 is left"],
    "biginteger": ["0", "-123456789012345678901234567890"],
    "calendar_gmt": ["1998-05-08T09:51:31.000Z"],
    "char_byte_short": ["-1", "-32768", "127"],
    "fault_service": FRAMES,
    "float_boxed": ["1.5", "3.3", "0.1", "3.4028235e+38", "1e-45", "NaN"],
    "misc_atomic": ["5", "6"],
    "misc_class": ["java.lang.String.class", "int.class", "lab.Gen$Car.class"],
    "misc_instant_duration": ["2023-11-14T22:13:20.000000005Z", "PT1M30S"],
    "misc_localdate": ["2024-02-29"],
    "misc_locale_no_metainf": [NO_LOCALE, NO_LOCALE],
    "misc_optional_bitset": ["{3, 70}"],
    "misc_stacktrace": ["pkg.Cls.meth(Cls.java:12)"],
    "misc_url_file": ["/tmp/x", "http://example.com/a?b=c"],
    "misc_uuid": ["123e4567-e89b-12d3-a456-426614174000"],
    "obj_enum": ["Color.RED", "Color.GREEN", "Color.BLUE"],
    "obj_enum_in_map": ["Color.RED", "Color.BLUE"],
    "obj_money_no_metainf": [LOST + "3 is left", "98765432109876543210"],
    "throwable_simple": FRAMES,
}
# Written by some as plain values, by some in a way that did not work: as the others, or nothing.
NOT_BY_ALL = {"char_byte_short", "float_boxed", "misc_instant_duration", "misc_localdate"}
FILES = {
    "hessian1": "hessian1",
    "hessian1-sofa352": "hessian1",
    "hessian2-draft": "hessian2-draft",
    "hessian2-draft-2007": "hessian2-draft",
    "hessian2-draft-320": "hessian2-draft",
    "hessian2-draft-sofa352": "hessian2-draft",
    "hessian2-final": "hessian2",
    "hessian2-final-dubbo-lite": "hessian2",
    "hessian2-final-sofa": "hessian2",
}


def sent(shared: Path, name: str) -> dict[str, Tape]:
    """The decoded vectors of a file, by name: those whose meaning is looked at here."""
    found: dict[str, Tape] = {}
    for line in (shared / f"vectors/{name}.jsonl").read_text().splitlines():
        case = line.split('"', 4)[3].split("/")[1]
        if case in BY_VECTOR or case == "misc_zoned" or case in TRACES:
            (record,) = codecs.decode(bytes.fromhex(json.loads(line)["hex"]), FILES[name])
            assert record.tape is not None
            assert record.error is None
            found[case] = record.tape
    return found


TRACES = {
    "throwable_simple": ["java.lang.RuntimeException: boom", *TRACE],
    "throwable_custom": ["lab.Gen$MyEx: custom", TRACE[0]],
    "throwable_cause": [
        "java.lang.RuntimeException: outer",
        *TRACE,
        "Caused by: java.lang.RuntimeException: inner",
        "\t... 2 more",
    ],
    "fault_service": ["java.lang.RuntimeException: File Not Found", *TRACE],
}


@pytest.mark.parametrize("name", FILES)
def test_meanings_in_vectors(shared: Path, name: str) -> None:
    tapes = sent(shared, name)
    compared = 0
    for case, meanings in BY_VECTOR.items():
        if case in tapes:
            found = [said for node in trees.every(tapes[case]) if (said := annotate(node))]
            assert found == meanings or (case in NOT_BY_ALL and not found), case
            compared += len(found) > 0
    assert compared >= 13


@pytest.mark.parametrize("name", ["hessian1-sofa352", "hessian2-draft-sofa352", "hessian2-final-dubbo-lite"])
def test_zoned_times_in_vectors(shared: Path, name: str) -> None:
    tape = sent(shared, name)["misc_zoned"]
    found = [said for node in trees.every(tape) if (said := annotate(node))]
    assert found[0] == "2024-02-29T01:02:03.000000004+08:00[Asia/Shanghai]"
    assert sorted(found[1:]) == [
        "+08:00",
        "01:02:03.000000004",
        "2024-02-29",
        "2024-02-29T01:02:03.000000004",
    ]


@pytest.mark.parametrize("name", FILES)
def test_traces_in_vectors(shared: Path, name: str) -> None:
    tapes = sent(shared, name)
    for case, lines in TRACES.items():
        assert [found for node in trees.every(tapes[case]) if (found := stack_trace(node))] == [lines], case


# --- stack traces -------------------------------------------------------------------------------


def frame(method: str, line: int = 1) -> Tree:
    return bean(
        "java.lang.StackTraceElement",
        declaringClass=text("pkg.A"),
        methodName=text(method),
        fileName=text("A.java"),
        lineNumber=whole(line),
    )


def thrown(message: str | None, frames: list[str], cause: Tree = NULL, suppressed: Tree = NULL) -> Tree:
    return bean(
        "example.BadException",
        detailMessage=NULL if message is None else text(message),
        cause=cause,
        stackTrace=items(*[frame(name) for name in frames], of="[java.lang.StackTraceElement"),
        suppressedExceptions=suppressed,
    )


def test_a_trace_as_java_prints_it() -> None:
    inner = thrown("inner\nsecond line", ["low", "main"], ref(0))
    held = items(thrown("held", ["close", "main"], thrown(None, ["deep", "close", "main"])))
    tree = thrown("outer", ["high", "main"], inner, held)
    lines = [
        "example.BadException: outer",
        "\tat pkg.A.high(A.java:1)",
        "\tat pkg.A.main(A.java:1)",
        "\tSuppressed: example.BadException: held",
        "\t\tat pkg.A.close(A.java:1)",
        "\t\t... 1 more",
        "\tCaused by: example.BadException",
        "\t\tat pkg.A.deep(A.java:1)",
        "\t\t... 2 more",
        "Caused by: example.BadException: inner",
        "second line",
        "\tat pkg.A.low(A.java:1)",
        "\t... 1 more",
        "Caused by: [CIRCULAR REFERENCE: example.BadException: outer]",
    ]
    tape = trees.build([tree])
    assert [found for node in trees.every(tape) if (found := stack_trace(node))] == [lines]
    assert stack_trace(trees.value(trees.build([as_map(tree)]))) == lines


def test_a_throwable_that_is_its_own_cause_has_none() -> None:
    assert stack_trace(trees.value(trees.build([thrown("x", ["f"], ref(0))]))) == [
        "example.BadException: x",
        "\tat pkg.A.f(A.java:1)",
    ]


def test_what_stands_elsewhere_is_named_by_its_number() -> None:
    shared = bean("example.BadException", detailMessage=text("b"), cause=ref(0), stackTrace=ref(1))
    tape = trees.build([thrown("a", ["f"]), shared])
    assert stack_trace(trees.value(tape, 1)) == [
        "example.BadException: b",
        "\t... frames as in #1",
        "Caused by: example.BadException: a",
        "\t... see #0",
    ]


def test_a_cause_that_is_not_there() -> None:
    lines = stack_trace(trees.value(trees.build([thrown("a", [], ref(77))])))
    assert lines == ["example.BadException: a", "Caused by: #77, which does not exist"]


def test_what_is_no_exception_has_no_trace() -> None:
    for tree in (bean("example.Car", cause=NULL), whole(1), entries((text("cause"), NULL))):
        assert stack_trace(trees.value(trees.build([tree]))) == []


def test_long_traces_are_cut() -> None:
    lines = stack_trace(trees.value(trees.build([thrown("a", ["f"] * (MAX_LINES + 9))])))
    assert len(lines) == MAX_LINES + 1
    assert lines[-1] == "\t… 10 frames left out"


def test_a_deep_chain_of_causes_is_cut() -> None:
    tree = thrown("last", ["f"])
    for _ in range(300):
        tree = thrown("next", ["f"], tree)
    tape = trees.build([tree])
    lines = stack_trace(trees.value(tape))
    assert lines.count("Caused by: example.BadException: next") == 299
    assert sum(bool(stack_trace(node)) for node in trees.every(tape)) == 1


# --- classes known from attacks -----------------------------------------------------------------


def gadgets(tree: Tree) -> list[tuple[str, int, str]]:
    tape = trees.build([tree])
    class_notes(tape)
    return [(note.code, note.offset, note.text.split(" ")[0]) for note in tape.notes]


@pytest.mark.parametrize(
    "name",
    [
        "com.sun.rowset.JdbcRowSetImpl",
        "com.sun.org.apache.xalan.internal.xsltc.trax.TemplatesImpl",
        "com.caucho.naming.QName",
        "org.springframework.aop.support.DefaultBeanFactoryPointcutAdvisor",
        "com.rometools.rome.feed.impl.ToStringBean",
        "org.apache.xbean.naming.context.ContextUtil$ReadOnlyBinding",
        "com.mchange.v2.c3p0.WrapperConnectionPoolDataSource",
        "org.apache.commons.collections.functors.ChainedTransformer",
        "javax.naming.InitialContext",
        "sun.rmi.server.UnicastRef",
        "bsh.Any",
        "com.caucho.hessian.test.TestCons",
        "org.apache.ibatis.executor.loader.cglib.CglibProxyFactory",
        "org.springframework.beans.factory.BeanFactory",
        "org.eclipse.jetty.util.log.LoggerLog",
        "com.sun.org.apache.xml.internal.security.signature.XMLSignatureInput",
    ],
)
def test_gadgets_in_every_form(name: str) -> None:
    named = bean(name, a=whole(1))
    for tree in (named, as_map(named), items(of=f"[{name}"), items(named, named, as_map(named))):
        ((code, offset, first),) = set(gadgets(tree))
        assert (code, first) == (CODE, name)
        tape = trees.build([tree])
        assert tape.buffers[0].data[offset + 1 :].lstrip(b"[").startswith(name.encode())


@pytest.mark.parametrize(
    "name",
    [
        "java.util.ArrayList",
        "javax.naming.NamingException",
        "com.sun.jndi",
        "org.springframework.beans.BeansException",
        "example.JdbcRowSetImpl",
        "",
        "[",
        "com.sun.rowset.JdbcRowSetImplX",
    ],
)
def test_no_gadgets(name: str) -> None:
    assert gadgets(bean(name)) == []


def test_honest_classes_are_named_only_beside_gadgets() -> None:
    honest = entries(of="com.alibaba.fastjson.JSONObject")
    assert gadgets(honest) == []
    found = gadgets(items(honest, bean("com.sun.org.apache.xpath.internal.objects.XString")))
    assert {name for _, _, name in found} == {
        "com.alibaba.fastjson.JSONObject",
        "com.sun.org.apache.xpath.internal.objects.XString",
    }


def test_the_lists_of_gadgets() -> None:
    assert CODE in CODES
    for name in GADGETS:
        assert gadget(name.encode()), name
    starts = [start for start, _ in PACKAGES]
    assert all(start.endswith(".") for start in starts)
    assert not any(name.startswith(tuple(starts)) for name in COMPANIONS)
    assert not set(COMPANIONS) & set(GADGETS)


# --- nonsense -----------------------------------------------------------------------------------

CLASSES = [
    *java._READERS,
    *[f"com.caucho.hessian.io.{name}Handle" for name in java._HANDLES],
    *[f"java.time.{name}" for name in java_time.TIMES],
    "example.BadException",
    "java.lang.Error",
    "example.Car",
    "",
]
FIELDS = [
    "value", "name", "_value", "scale", "intVal", "signum", "mag", "year", "month", "day", "hour",
    "minute", "second", "nano", "nanos", "seconds", "date", "time", "dateTime", "offset", "zoneId",
    "id", "detailMessage", "message", "cause", "stackTrace", "suppressedExceptions", "declaringClass",
    "methodName", "fileName", "lineNumber", "words", "count", "protocol", "host", "port", "file",
    "holder", "address", "hostName", "addr", "mostSigBits", "leastSigBits", "class", "methodArgSigs",
    "targetServiceUniqueName", "isError", "errorMsg", "appResponse", "parameterTypes", "createTime",
]  # fmt: skip

scalars = st.one_of(
    st.just(NULL),
    st.booleans().map(flag),
    st.integers(-(1 << 31), (1 << 31) - 1).map(whole),
    st.integers(-(1 << 63), (1 << 63) - 1).map(long),
    st.floats().map(double),
    st.integers(-(1 << 63), (1 << 63) - 1).map(date),
    st.text(st.characters(), max_size=12).map(text),
    st.sampled_from(["GREEN", "3.14", "a.B", ""]).map(text),
    st.binary(max_size=40).map(binary),
    st.integers(-1, 12).map(ref),
)


def containers(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    fields = st.lists(st.tuples(st.sampled_from(FIELDS), inner), max_size=8)
    name = st.sampled_from(CLASSES)
    pairs = st.lists(st.tuples(st.one_of(st.sampled_from(FIELDS).map(text), inner), inner), max_size=8)
    return st.one_of(
        st.builds(lambda name, fields: {"kind": "object", "type": name, "fields": fields}, name, fields),
        st.builds(lambda name, pairs: entries(*pairs, of=name), st.one_of(st.none(), name), pairs),
        st.builds(lambda content: items(*content), st.lists(inner, max_size=5)),
    )


anything = st.recursive(scalars, containers, max_leaves=25)


def scaled(value: Tree) -> Tree:
    return bean("java.math.BigDecimal", scale=whole(2), intVal=value)


KEPT = bean("java.math.BigDecimal", value=text("19.90"))
NO_MAGNITUDE = bean("java.math.BigInteger", signum=whole(1), mag=NULL)


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        (KEPT, []),
        (scaled(bean("java.math.BigInteger", signum=whole(1), mag=items(whole(7)))), []),
        (scaled(NULL), ["only scale 2 is left"]),
        (as_map(scaled(NULL)), ["only scale 2 is left"]),
        (NO_MAGNITUDE, ["mag is null"]),
        (items(KEPT, scaled(NULL), as_map(scaled(NULL)), scaled(NULL)), ["left; 2 more like it"]),
        (bean("com.x.BigDecimal", scale=whole(2), intVal=NULL), []),
    ],
)
def test_a_lost_number_is_noted_once(tree: Tree, words: list[str]) -> None:
    for _ in range(2):  # what is known to be harmless is recognised at once
        tape = trees.build([tree])
        class_notes(tape)
        assert [note.code for note in tape.notes] == ["number-lost"] * len(words)
        assert all(note.text.endswith(said) for note, said in zip(tape.notes, words, strict=True))


@given(st.lists(anything, max_size=3))
def test_nothing_raises(values: list[Tree]) -> None:
    tape = trees.build(values)
    class_notes(tape)
    for node in trees.every(tape):
        meaning = annotate(node)
        assert len(meaning) <= java.MAX_SHOWN
        lines = stack_trace(node)
        assert all("\n" not in line for line in lines)
        assert len(lines) <= 2 * MAX_LINES


@given(st.lists(anything, min_size=1, max_size=3), st.data())
def test_a_cut_message_raises_nothing(values: list[Tree], data: Any) -> None:
    """The part that decoded of a damaged message: objects end before their last field."""
    tape = trees.build(values)
    tape.cut(data.draw(st.sampled_from([*tape.indexes()[1:], int(tape.size())])))
    size = tape.size()
    for index in tape.indexes():
        if tape.next(index) > size:
            tape.shrink(index, size, tape.end(index))
    class_notes(tape)
    for node in trees.every(tape):
        annotate(node)
        stack_trace(node)


def test_wide_objects_cost_little() -> None:
    """Only the first fields are looked at: what a class has after them is not its meaning."""
    fields = {f"f{number}": NULL for number in range(200)}
    node = trees.value(trees.build([bean("java.io.File", **fields, value=text("/x"))]))
    assert annotate(node) == ""
    assert isinstance(node, Node)
