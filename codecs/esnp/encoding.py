"""Writing the bodies of entries from the JSON notation."""

from typing import Final

from librt.strings import BytesWriter, write_f32_be, write_f64_be, write_i64_be

from wirelens.codecs.errors import EncodeError
from wirelens.codecs.esnp.vocabulary import (
    ADDRESS,
    ADDRESSES,
    KINDS,
    MEMBERS,
    MESSAGE_ID,
    SOURCE_ADDRESS,
    SOURCE_MESSAGE_ID,
    TYPES,
    VAR_TAGS,
    XDATA,
)
from wirelens.codecs.json_input import NOT_FINITE, Path, hex_bytes, number_of, text_bytes, wrong
from wirelens.codecs.node import Json

SINGLE_MAX: Final = float.fromhex("0x1.ffffffp127")  # what rounds to more is infinite as a single

VARINTS: Final = ("flag", "address", "current", "last", "id", "name")
"""Members that are a varint, or have one before them, in whatever entry they are."""


class Encoder:
    """Writes the bodies of entries."""

    def __init__(self, out: BytesWriter, unsigned: bool, flags: dict[int, str]) -> None:
        self.out: Final = out
        self.unsigned: Final = unsigned
        self.flags: Final = flags

    def entry(self, entry: Json, path: str) -> int:
        """Write an entry's body; its type number."""
        if not isinstance(entry, dict):
            raise EncodeError(path, 'expected an object with a "type"')
        kind = number_of(entry.get("type"), TYPES, path + ".type", 0, 255)
        wire = entry.get("$wire", {})
        if not isinstance(wire, dict):
            raise EncodeError(path + ".$wire", "expected an object: member names to bytes of their varints")
        members = MEMBERS.get(kind, ("data",))
        if "data" in entry and (
            kind not in MEMBERS or "error" in entry or not any(m in entry for m in members)
        ):
            members = ("data",)
        for name in entry:
            if name not in members and name not in ("type", "extra", "error", "$wire"):
                raise EncodeError(f"{path}.{name}", f"no member of {TYPES.get(kind, kind)}")
        for name in wire:
            if name not in members or not (name in VARINTS or kind in (ADDRESS, SOURCE_ADDRESS)):
                raise EncodeError(f"{path}.$wire.{name}", f"no varint of {TYPES.get(kind, kind)}")
        if kind == XDATA and "value" in entry and "data" in entry and "error" not in entry:
            raise EncodeError(path, 'XDATA has one of "value" and "data"')
        for name in members:
            if name == "data" and kind == XDATA and "data" not in entry:
                continue
            if name == "value" and kind == XDATA and "value" not in entry and "data" in entry:
                continue
            if name not in entry:
                raise EncodeError(path, f'{TYPES.get(kind, kind)} needs the member "{name}"')
            self.member(kind, name, entry[name], wire.get(name), f"{path}.{name}")
        if "extra" in entry:
            self.out.write(hex_bytes(entry["extra"], path + ".extra"))
        return kind

    def member(self, kind: int, name: str, value: Json, wire: Json, path: str) -> None:
        out = self.out
        if name == "data":
            out.write(hex_bytes(value, path))
        elif name == "text":
            out.write(text_bytes(value, path))
        elif name == "version":
            out.write(_version_bytes(value, path))
        elif name == "kind":
            out.append(number_of(value, KINDS, path, 0, 255))
        elif name == "flag":
            self.zigzag(number_of(value, self.flags, path, -1 << 63, (1 << 63) - 1), wire, path)
        elif name == "address":
            self.zigzag(number_of(value, ADDRESSES, path, -1 << 63, (1 << 63) - 1), wire, path)
        elif name in ("current", "last", "id"):
            self.zigzag(number_of(value, {}, path, -1 << 63, (1 << 63) - 1), wire, path)
        elif name == "name" or kind in (ADDRESS, SOURCE_ADDRESS):
            self.sized(text_bytes(value, path), wire, path)
        elif kind in (MESSAGE_ID, SOURCE_MESSAGE_ID):
            number = number_of(value, {}, path, 0, (1 << 64) - 1)
            write_i64_be(out, number - (1 << 64) if number >> 63 else number)
        else:
            self.var(value, path)

    def varint(self, number: int, wire: Json, where: Path | str) -> None:
        """Write an unsigned varint, over `wire` bytes where that is given."""
        size = 0
        if wire is not None:
            if isinstance(wire, bool) or not isinstance(wire, int) or not 1 <= wire <= 10:
                raise wrong(where, "expected as $wire the bytes of the varint, 1 to 10")
            size = wire
            if number >> (7 * size):
                raise wrong(where, f"{number} does not fit in a varint of {size} bytes")
        while number >= 0x80 or size > 1:
            self.out.append(number & 0x7F | 0x80)
            number >>= 7
            size -= 1
        self.out.append(number)

    def zigzag(self, number: int, wire: Json, where: Path | str) -> None:
        self.varint((number << 1) ^ -(number < 0), wire, where)

    def sized(self, content: bytes, wire: Json, where: Path | str) -> None:
        """Write a LenString or LenBytes."""
        self.zigzag(len(content), wire, where)
        self.out.write(content)

    def var(self, value: Json, path: str) -> None:
        """Write a Var; nested ones by an explicit stack."""
        work: list[tuple[Json, Path, bool]] = [(value, Path(None, path), False)]
        while work:
            item, where, is_key = work.pop()
            if is_key:
                self.key(item, where)
                continue
            wire: Json = None
            tag = -1
            if isinstance(item, dict):
                tagged = _tagged(item, where)
                if tagged:
                    tag = VAR_TAGS[tagged]
                    wire = item.get("$wire")
                    item = item[tagged]
                    if tagged == "$raw":
                        item = {"$raw": item}
                else:
                    tag = 21
            elif item is None:
                tag = 0
            elif isinstance(item, bool):
                tag = 1
            elif isinstance(item, int):
                tag = 5 if -1 << 31 <= item < 1 << 31 else 6 if -1 << 63 <= item < 1 << 63 else 11
            elif isinstance(item, float):
                tag = 14
            elif isinstance(item, str):
                tag = 24
            else:
                tag = 23
            self.out.append(tag)
            if tag == 21:
                work.extend(reversed(self.map_items(item, wire, where)))
            elif tag == 23:
                if not isinstance(item, list):
                    raise wrong(where, "expected an array")
                self.count(len(item), wire, where)
                work.extend(
                    (item[position], Path(where, f"[{position}]"), False)
                    for position in range(len(item) - 1, -1, -1)
                )
            else:
                self.scalar(tag, item, wire, where)

    def count(self, number: int, wire: Json, where: Path) -> None:
        if self.unsigned:
            self.varint(number, wire, where)
        else:
            self.zigzag(number, wire, where)

    def map_items(self, item: Json, wire: Json, where: Path) -> list[tuple[Json, Path, bool]]:
        items: list[tuple[Json, Path, bool]] = []
        if isinstance(item, dict):
            self.count(len(item), wire, where)
            for key, value in item.items():
                items.append((key, where, True))
                items.append((value, Path(where, "." + key), False))
        elif isinstance(item, list):
            self.count(len(item), wire, where)
            for position, pair in enumerate(item):
                step = Path(where, f"[{position}]")
                if not isinstance(pair, list) or len(pair) != 2:
                    raise wrong(step, "expected a pair [key, value]")
                items.append((pair[0], Path(step, "[0]"), True))
                items.append((pair[1], Path(step, "[1]"), False))
        else:
            raise wrong(where, "expected an object, or an array of pairs [key, value]")
        return items

    def key(self, item: Json, where: Path) -> None:
        wire: Json = None
        if isinstance(item, dict):
            wire = item.get("$wire")
            if "$string" in item:
                item = item["$string"]
        self.sized(text_bytes(item, where), wire, where)

    def scalar(self, tag: int, item: Json, wire: Json, where: Path | str) -> None:
        out = self.out
        if tag == 0:
            if item is not None:
                raise wrong(where, "expected null")
        elif tag == 1:
            if not isinstance(item, bool):
                raise wrong(where, "expected true or false")
            if wire is None:
                out.append(1 if item else 0)
            else:
                byte = number_of(wire, {}, where, 0, 255)
                if (byte != 0) != item:
                    raise wrong(where, f"{byte} does not say {'true' if item else 'false'}")
                out.append(byte)
        elif tag in (13, 14):
            self.real(tag, item, wire, where)
        elif tag == 17:
            self.sized(hex_bytes(item, where), wire, where)
        elif tag == 24:
            self.sized(text_bytes(item, where), wire, where)
        elif tag == 3:
            out.append(number_of(item, {}, where, -128, 127) & 0xFF)
        elif tag == 8:
            out.append(number_of(item, {}, where, 0, 255))
        elif tag in (2, 4, 5, 6):
            self.zigzag(number_of(item, {}, where, -1 << 63, (1 << 63) - 1), wire, where)
        else:
            self.varint(number_of(item, {}, where, 0, (1 << 64) - 1), wire, where)

    def real(self, tag: int, item: Json, wire: Json, where: Path | str) -> None:
        """Write a Float32 or Float64."""
        digits = 8 if tag == 13 else 16
        if wire is not None:
            raw = hex_bytes(wire, where)
            if len(raw) * 2 != digits:
                raise wrong(where, f"expected the {digits} hex digits of a NaN")
            self.out.write(raw)
            return
        number = NOT_FINITE.get(item) if isinstance(item, str) else item
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise wrong(where, 'expected a number, "NaN", "Infinity" or "-Infinity"')
        try:
            value = float(number)
        except OverflowError:
            raise wrong(where, "the number is too large for a float") from None
        if value != value:
            self.out.write(b"\x7f\xc0\0\0" if tag == 13 else b"\x7f\xf8\0\0\0\0\0\0")
        elif tag == 14:
            write_f64_be(self.out, value)
        elif SINGLE_MAX < abs(value) < float("inf"):
            raise wrong(where, f"{value} is too large for Float32")
        else:
            write_f32_be(self.out, value)


def _tagged(item: dict[str, Json], where: Path) -> str:
    """The tag of a tagged value; empty for a plain Map."""
    found = ""
    for key in item:
        if key.startswith("$"):
            if key == "$wire":
                continue
            if key not in VAR_TAGS or found:
                raise wrong(where, f"{key} is no tag of an ESNP value here; keys with $ need the form $map")
            found = key
    if "$wire" in item and not found:
        raise wrong(where, "$wire stands only beside a tag")
    if found and len(item) > (2 if "$wire" in item else 1):
        raise wrong(where, f"nothing but $wire may stand beside {found}")
    return found


def _version_bytes(value: Json, path: str) -> bytes:
    parts = value.split(".") if isinstance(value, str) else []
    if len(parts) != 4 or not all(
        part.isascii() and part.isdigit() and len(part) <= 3 and int(part) < 256 for part in parts
    ):
        raise EncodeError(path, 'expected four numbers up to 255, as "1.2.3.4"')
    return bytes(int(part) for part in parts)
