"""Values of java.time, from the handles of Hessian's writers or from their own fields."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from wirelens.codecs import tape as t
from wirelens.codecs.hessian.members import Members, text_of, whole_of
from wirelens.codecs.node import ONLY_VALUE, Node
from wirelens.codecs.numbers import date_text

Reader: TypeAlias = Callable[[Members], str]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _year_text(year: int) -> str:
    if 0 <= year <= 9999:
        return f"{year:04d}"
    return f"{year:+d}" if year > 0 else f"-{-year:04d}"


def _local_date(members: Members) -> str:
    year, month, day = members.whole("year"), members.whole("month"), members.whole("day")
    if year is None or month is None or day is None or not (1 <= month <= 12 and 1 <= day <= 31):
        return ""
    return f"{_year_text(year)}-{month:02d}-{day:02d}"


def _clock(hour: int, minute: int, second: int, nanos: int) -> str:
    """As java.time.LocalTime.toString: seconds and fractions only if they are not zero."""
    text = f"{hour:02d}:{minute:02d}"
    if not second and not nanos:
        return text
    text += f":{second:02d}"
    if not nanos:
        return text
    digits = f"{nanos:09d}"
    if digits.endswith("000000"):
        return f"{text}.{digits[:3]}"
    return f"{text}.{digits[:6] if digits.endswith('000') else digits}"


def _local_time(members: Members) -> str:
    hour, minute = members.whole("hour"), members.whole("minute")
    second, nano = members.whole("second"), members.whole("nano")
    if hour is None or minute is None or second is None or nano is None:
        return ""
    if not (0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60 and 0 <= nano < 10**9):
        return ""
    return _clock(hour, minute, second, nano)


def _inner(members: Members, *names: str) -> str:
    """The meaning of the first of the members that exists: of an object, or the text itself."""
    for name in names:
        node = members.get(name)
        if node is None:
            continue
        if node.kind == t.OBJECT or node.kind == t.MAP:
            inner = Members(node)
            simple = inner.type[inner.type.rfind(".") + 1 :].removesuffix("Handle")
            reader = _PARTS.get(simple)
            return "" if reader is None else reader(inner)
        text = text_of(node)
        if text is not None:
            return text
        number = whole_of(node)
        if number is not None and name in ("date", "time"):
            return _day_text(number) if name == "date" else _nano_text(number)
    return ""


def _local_date_time(members: Members) -> str:
    date, time = _inner(members, "date"), _inner(members, "time")
    return f"{date}T{time}" if date and time else ""


def _zone_offset(members: Members) -> str:
    seconds = members.whole("seconds")
    if seconds is None:
        seconds = members.whole("totalSeconds")
    if seconds is None or abs(seconds) > 18 * 3600:
        return members.text("id") or ""
    return _offset_text(seconds)


def _offset_text(seconds: int) -> str:
    if abs(seconds) > 18 * 3600:
        return ""
    if seconds == 0:
        return "Z"
    minutes, rest = divmod(abs(seconds), 60)
    text = f"{'-' if seconds < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"
    return f"{text}:{rest:02d}" if rest else text


def _zone(members: Members) -> str:
    return members.text("zoneId") or members.text("id") or ""


def _offset_date_time(members: Members) -> str:
    date_time, offset = _inner(members, "dateTime"), _inner(members, "offset")
    return date_time + offset if date_time and offset else ""


def _offset_time(members: Members) -> str:
    time, offset = _inner(members, "localTime", "time"), _inner(members, "zoneOffset", "offset")
    return time + offset if time and offset else ""


def _zoned_date_time(members: Members) -> str:
    date_time, offset = _inner(members, "dateTime"), _inner(members, "offset")
    zone = _inner(members, "zoneId", "zone")
    if not date_time and not offset and zone:
        date_time = _local_date_time(members)
        return date_time and f"{date_time}[{zone}]"
    if not date_time or not offset:
        return ""
    return date_time + offset + (f"[{zone}]" if zone and zone != offset else "")


def _instant(members: Members) -> str:
    seconds, nanos = members.whole("seconds"), members.whole("nanos")
    if seconds is None or nanos is None or not 0 <= nanos < 10**9 or abs(seconds) > 10**12:
        return ""
    try:
        moment = _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        return ""
    # Instant.toString always has the seconds.
    clock = _clock(moment.hour, moment.minute, moment.second, nanos)
    return f"{moment.year:04d}-{moment.month:02d}-{moment.day:02d}T{clock}{':00' if len(clock) == 5 else ''}Z"


def _duration(members: Members) -> str:
    """As java.time.Duration.toString."""
    seconds, nanos = members.whole("seconds"), members.whole("nanos")
    if seconds is None or nanos is None or not 0 <= nanos < 10**9:
        return ""
    total = seconds * 10**9 + nanos
    sign = "-" if total < 0 else ""
    rest, fraction = divmod(abs(total), 10**9)
    minutes, second = divmod(rest, 60)
    hours, minute = divmod(minutes, 60)
    text = "PT" + (f"{sign}{hours}H" if hours else "") + (f"{sign}{minute}M" if minute else "")
    if second or fraction or text == "PT":
        text += f"{sign}{second}" + (f".{fraction:09d}".rstrip("0") if fraction else "") + "S"
    return text


def _period(members: Members) -> str:
    years, months, days = members.whole("years"), members.whole("months"), members.whole("days")
    if years is None or months is None or days is None:
        return ""
    parts = [f"{number}{unit}" for number, unit in ((years, "Y"), (months, "M"), (days, "D")) if number]
    return "P" + ("".join(parts) or "0D")


def _year(members: Members) -> str:
    year = members.whole("year")
    return "" if year is None else str(year)


def _year_month(members: Members) -> str:
    year, month = members.whole("year"), members.whole("month")
    return "" if year is None or month is None or not 1 <= month <= 12 else f"{_year_text(year)}-{month:02d}"


def _month_day(members: Members) -> str:
    month, day = members.whole("month"), members.whole("day")
    if month is None or day is None or not (1 <= month <= 12 and 1 <= day <= 31):
        return ""
    return f"--{month:02d}-{day:02d}"


# --- io.github.wuwen5.hessian: one value, or numbers of days and nanoseconds as fields --------------------


def _day_text(day: int | None) -> str:
    """The date of a day since 1970; empty outside the years 1 to 9999."""
    if day is None or abs(day) > 10**7:
        return ""
    try:
        return (_EPOCH + timedelta(days=day)).date().isoformat()
    except OverflowError:
        return ""


def _nano_text(nanos: int | None) -> str:
    """The time of a nanosecond of the day."""
    if nanos is None or not 0 <= nanos < 86400 * 10**9:
        return ""
    seconds, fraction = divmod(nanos, 10**9)
    return _clock(seconds // 3600, seconds // 60 % 60, seconds % 60, fraction)


def _value_date(members: Members) -> str:
    return _day_text(members.whole(ONLY_VALUE))


def _value_time(members: Members) -> str:
    return _nano_text(members.whole(ONLY_VALUE))


def _value_year(members: Members) -> str:
    year = members.whole(ONLY_VALUE)
    return "" if year is None else str(year)


def _value_zone(members: Members) -> str:
    return members.text(ONLY_VALUE) or ""


def _value_offset(members: Members) -> str:
    seconds = members.whole(ONLY_VALUE)
    return _value_zone(members) if seconds is None else _offset_text(seconds)


def _value_calendar(members: Members) -> str:
    return date_of(members.get(ONLY_VALUE))


def date_of(node: Node | None) -> str:
    """The ISO text of a date value in UTC; empty outside the years 1 to 9999."""
    if node is None or node.kind != t.DATE:
        return ""
    return iso(node.number)


def iso(milliseconds: int) -> str:
    """ISO 8601 in UTC of milliseconds since 1970; empty outside the years 1 to 9999."""
    try:
        return date_text(milliseconds)
    except (OverflowError, ValueError):
        return ""


TIMES: Final[dict[str, Reader]] = {
    "LocalDate": _local_date,
    "LocalTime": _local_time,
    "LocalDateTime": _local_date_time,
    "Instant": _instant,
    "Duration": _duration,
    "Period": _period,
    "Year": _year,
    "YearMonth": _year_month,
    "MonthDay": _month_day,
    "OffsetDateTime": _offset_date_time,
    "OffsetTime": _offset_time,
    "ZonedDateTime": _zoned_date_time,
    "ZoneId": _zone,
    "ZoneRegion": _zone,
    "ZoneOffset": _zone_offset,
}

# Of objects that have one value, by the class.
VALUES: Final[dict[str, Reader]] = {
    "java.time.LocalDate": _value_date,
    "java.time.LocalTime": _value_time,
    "java.time.Year": _value_year,
    "java.time.ZoneId": _value_zone,
    "java.time.ZoneRegion": _value_zone,
    "java.time.ZoneOffset": _value_offset,
    "java.util.Calendar": _value_calendar,
    "java.util.GregorianCalendar": _value_calendar,
}

# The parts of other times, each read one level deep.
_PARTS: Final[dict[str, Reader]] = {
    "LocalDate": _local_date,
    "LocalTime": _local_time,
    "LocalDateTime": _local_date_time,
    "ZoneId": _zone,
    "ZoneRegion": _zone,
    "ZoneOffset": _zone_offset,
}
