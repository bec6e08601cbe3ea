"""JSON text to Python objects and back, of any nesting, with the place of every mistake.

The standard library's parser does the work; where its recursion ends, or it does not know a place, a slower
one with an explicit stack takes over.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from wirelens.codecs.errors import WirelensError
from wirelens.codecs.node import Json

if TYPE_CHECKING:
    from collections.abc import Callable
    from json import JSONDecoder, JSONEncoder

# Lone surrogates, which UTF-8 does not have, and what a terminal obeys or does not show: C1 controls, format
# characters (category Cf), lines and paragraphs. In JSON an escape is the same character. Like those below
# it is compiled when it is first used: that takes long, and ASCII without DEL does not need it.
_UNSAFE: Final = (
    r"[\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f]"
)
ESCAPED_AT_ONCE: Final = 1 << 16  # characters; until they are joined, each takes the room of a string
_SPACE: Final = r"[ \t\r\n]*"
_TOKEN: Final = r'"(?:[^"\\]|\\.)*"|[{}\[\]]|[^\s,:{}\[\]"]+'
_INDEX: Final = r"\[(\d{1,9})\]"
MOST_LEVELS: Final = 1 << 19  # arrays and objects inside one another: up to three for each container
_MOST_PATH: Final = 1 << 16  # characters of a path that are followed
_CONTENT: Final = ("$list", "$map", "$fields")  # tags whose values the paths of their members may leave out


class JsonTextError(WirelensError):
    """Text that is not JSON: what was expected, and where (line and column from 1, offset from 0)."""

    def __init__(self, text: str, line: int, column: int, offset: int) -> None:
        super().__init__(text, line, column, offset)
        self.text = text
        self.line = line
        self.column = column
        self.offset = offset

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.text}"

    def __reduce__(self) -> tuple[type[JsonTextError], tuple[str, int, int, int]]:
        return (JsonTextError, (self.text, self.line, self.column, self.offset))


def quoted(text: str) -> bytes:
    """A JSON string, in UTF-8; what is not safe to show as its escape."""
    return _escape_unsafe(_standard().quote(text)).encode()


def fault_json(code: str, offset: int, text: str, places: bool = True) -> bytes:
    """The JSON of an error or a note, without its offset unless `places`."""
    if not places:
        return b'{"code": "%b", "text": %b}' % (code.encode(), quoted(text))
    return b'{"code": "%b", "offset": %d, "text": %b}' % (code.encode(), offset, quoted(text))


def _escape_unsafe(text: str) -> str:
    if (text.isascii() and "\x7f" not in text) or re.search(_UNSAFE, text) is None:
        return text
    if len(text) <= ESCAPED_AT_ONCE:
        return re.sub(_UNSAFE, _unsafe_escape, text)
    parts = range(0, len(text), ESCAPED_AT_ONCE)
    return "".join([re.sub(_UNSAFE, _unsafe_escape, text[at : at + ESCAPED_AT_ONCE]) for at in parts])


def _unsafe_escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 | code >> 10:04x}\\u{0xDC00 | code & 0x3FF:04x}"


def dumps(value: Json) -> str:
    """JSON text on one line, of any nesting; what is not safe to show as escapes."""
    try:
        return _escape_unsafe(_standard().encoder.encode(value))
    except RecursionError:
        return _deep_dumps(value)


def _deep_dumps(value: Json) -> str:
    parts: list[str] = []
    # each entry is text to write, or a value to take apart
    work: list[tuple[bool, Json]] = [(False, value)]
    while work:
        done, item = work.pop()
        if done and isinstance(item, str):
            parts.append(item)
        elif isinstance(item, dict):
            opened = "{"
            entries: list[tuple[bool, Json]] = []
            for key, member in item.items():
                entries.append((True, opened + dumps(key) + ": "))
                entries.append((False, member))
                opened = ", "
            entries.append((True, "}" if item else "{}"))
            work.extend(reversed(entries))
        elif isinstance(item, list):
            opened = "["
            entries = []
            for member in item:
                entries.append((True, opened))
                entries.append((False, member))
                opened = ", "
            entries.append((True, "]" if item else "[]"))
            work.extend(reversed(entries))
        else:
            parts.append(_escape_unsafe(_standard().encoder.encode(item)))
    return "".join(parts)


def loads(text: str) -> Json:
    """The Python objects of one JSON text, of any nesting. Raises JsonTextError.

    A name that occurs twice in one object is refused: one of its values would be lost.
    """
    try:
        value: Json = _standard().whole.decode(text)
        return value
    except (RecursionError, _TwiceError, ValueError) as error:
        if isinstance(error, _standard().error):
            sentence = _json_sentence(error.msg)
            raise JsonTextError(sentence, error.lineno, error.colno, error.pos) from None
        # nested deeply; or a name twice, NaN, a number too large: the slower parser finds the place
        value, place = _deep_loads(text, 0)
        rest = _skip_space(text, place)
        if rest < len(text):
            raise _json_error(text, rest, "expected the end of the text") from None
        return value


class _TwiceError(Exception):
    """A name occurs twice in one object; the slower parser finds the place."""


def _object(members: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(members)
    if len(found) != len(members):
        raise _TwiceError
    return found


def _json_sentence(message: str) -> str:
    return message[:1].lower() + message[1:]


def _no_constant(word: str) -> Json:
    raise ValueError(f'{word} is not a JSON number; the notation has {{"$double": "NaN"}} and the like')


def _finite(digits: str) -> float:
    number = float(digits)
    if number - number != 0.0:
        raise ValueError(f'{digits} is too large for a double; the notation has {{"$double": "Infinity"}}')
    return number


def _whole(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        raise ValueError(f"a number of {len(digits):,} digits is too long") from None


def _json_error(text: str, at: int, message: str) -> JsonTextError:
    line = text.count("\n", 0, at) + 1
    return JsonTextError(message, line, at - text.rfind("\n", 0, at), at)


def place_of(text: str, path: str) -> tuple[int, int]:
    """Line and column, from 1, of the value at a path such as `lines[2].value` in JSON text.

    Of what is not there, or beyond 65,536 characters of the path, the place of the innermost value
    around it. A path may leave out tags: the step after a value's own path is looked for in its `$map`,
    `$list`, … too.
    """
    path = path[:_MOST_PATH]
    ends = _container_ends(text) if path else {}
    at = _skip_space(text, 0)
    while path:
        opening = text[at : at + 1]
        if opening == "{":
            found, rest = _member_at(text, at, path, ends)
        elif opening == "[":
            found, rest = _item_at(text, at, path, ends)
        else:
            break
        if found < 0:
            break
        at, path = found, rest
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def _member_at(text: str, at: int, path: str, ends: dict[int, int]) -> tuple[int, str]:
    """Where the value of the object's member is to which a path leads, and the rest of the path; or -1."""
    wanted = path.removeprefix(".")
    found = tagged = -1
    rest = path
    at = _skip_space(text, at + 1)
    while text[at : at + 1] == '"':
        key, at = _deep_key(text, at)
        at = _skip_space(text, at)
        if wanted.startswith(key) and wanted[len(key) : len(key) + 1] in ("", ".", "["):
            if found < 0 or len(wanted) - len(key) < len(rest):
                found, rest = at, wanted[len(key) :]
        elif key in _CONTENT and text[at : at + 1] in ("{", "["):
            tagged = at
        at = _skip_space(text, _value_end(text, at, ends))
        if text[at : at + 1] == ",":
            at = _skip_space(text, at + 1)
    return (tagged, path) if found < 0 else (found, rest)


def _item_at(text: str, at: int, path: str, ends: dict[int, int]) -> tuple[int, str]:
    """Where the item of an array is to which a path leads, and the rest of the path; or -1."""
    step = re.match(_INDEX, path)
    if step is None:
        return -1, path
    at = _skip_space(text, at + 1)
    for _ in range(int(step[1])):
        at = _skip_space(text, _value_end(text, at, ends))
        if text[at : at + 1] != ",":
            return -1, path
        at = _skip_space(text, at + 1)
    return at, path[step.end() :]


def _container_ends(text: str) -> dict[int, int]:
    """Where each array and object ends, by where it starts; the text is known to be JSON."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for token in re.compile(_TOKEN).finditer(text):
        mark = token[0]
        if mark in "{[":
            opened.append(token.start())
        elif mark in "}]" and opened:
            ends[opened.pop()] = token.end()
    return ends


def _value_end(text: str, at: int, ends: dict[int, int]) -> int:
    """Where the value at a position ends."""
    end = ends.get(at)
    if end is None:
        token = re.compile(_TOKEN).match(text, at)
        end = len(text) if token is None else token.end()
    return end


def _skip_space(text: str, at: int) -> int:
    match = re.compile(_SPACE).match(text, at)
    return at if match is None else match.end()


class _Standard:
    """The standard library's coders: of one text, of its scalars, and back.

    Made when they are first used: importing them is a fiftieth of the start of `wirelens decode`.
    """

    def __init__(self) -> None:
        import json.encoder

        self.quote: Final[Callable[[str], str]] = json.encoder.encode_basestring
        self.encoder: Final[JSONEncoder] = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
        self.whole: Final[JSONDecoder] = json.JSONDecoder(
            object_pairs_hook=_object, parse_constant=_no_constant, parse_float=_finite
        )
        self.scalars: Final[JSONDecoder] = json.JSONDecoder(
            parse_constant=_no_constant, parse_float=_finite, parse_int=_whole
        )
        self.error: Final = json.JSONDecodeError


_made: Final[list[_Standard]] = []


def _standard() -> _Standard:
    if not _made:
        _made.append(_Standard())
    return _made[0]


def _deep_loads(text: str, at: int) -> tuple[Json, int]:
    """Parse one value without recursion, however deep its nesting."""
    stack: list[Json] = []
    keys: list[str | None] = []
    while True:
        at = _skip_space(text, at)
        if len(stack) > MOST_LEVELS:
            raise _json_error(text, at, f"more than {MOST_LEVELS:,} arrays and objects inside one another")
        opening = text[at : at + 1]
        value: Json
        if opening == "{":
            after = _skip_space(text, at + 1)
            if text[after : after + 1] != "}":
                key, at = _deep_key(text, after)
                stack.append({})
                keys.append(key)
                continue
            value, at = {}, after + 1
        elif opening == "[":
            after = _skip_space(text, at + 1)
            if text[after : after + 1] != "]":
                stack.append([])
                keys.append(None)
                at = after
                continue
            value, at = [], after + 1
        else:
            value, at = _scalar(text, at)
        while stack:
            into = stack[-1]
            key_now = keys[-1]
            closing = "]"
            if isinstance(into, dict) and key_now is not None:
                into[key_now] = value
                closing = "}"
            elif isinstance(into, list):
                into.append(value)
            at = _skip_space(text, at)
            mark = text[at : at + 1]
            if mark == ",":
                at = _skip_space(text, at + 1)
                if isinstance(into, dict):
                    place = at
                    key, at = _deep_key(text, at)
                    if key in into:
                        raise _json_error(text, place, f"the name {dumps(key)} occurs twice in one object")
                    keys[-1] = key
                break
            if mark != closing:
                raise _json_error(text, at, f"expected ',' or '{closing}'")
            at += 1
            value = stack.pop()
            keys.pop()
        else:
            return value, at


def _deep_key(text: str, at: int) -> tuple[str, int]:
    if text[at : at + 1] != '"':
        raise _json_error(text, at, "expected a property name in double quotes")
    key, at = _scalar(text, at)
    at = _skip_space(text, at)
    if text[at : at + 1] != ":":
        raise _json_error(text, at, "expected ':'")
    return str(key), at + 1


def _scalar(text: str, at: int) -> tuple[Json, int]:
    try:
        value, end = _standard().scalars.raw_decode(text, at)
    except ValueError as error:
        if isinstance(error, _standard().error):
            raise _json_error(text, error.pos, _json_sentence(error.msg)) from None
        raise _json_error(text, at, str(error)) from None
    return value, int(end)
