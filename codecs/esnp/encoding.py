"""JSON to bytes: messages, and the bodies of their entries."""

from typing import Final

from librt.strings import BytesWriter, write_f32_be, write_f64_be, write_i64_be

from wirelens.codecs.errors import EncodeError
from wirelens.codecs.esnp import schema as s
from wirelens.codecs.esnp import vocabulary as v
from wirelens.codecs.json_input import (
    NOT_FINITE,
    Path,
    hex_bytes,
    none_of,
    number_of,
    object_of,
    text_bytes,
    wrong,
)
from wirelens.codecs.node import Json
from wirelens.codecs.schema import Member, Schema

SINGLE_MAX: Final = float.fromhex("0x1.ffffffp127")  # what rounds to more is infinite as a single

# Bits of the integers, by the tag of their Var.
_BITS: Final = {2: 32, 3: 8, 4: 16, 5: 32, 6: 64, 7: 32, 8: 8, 9: 16, 10: 32, 11: 64}

# Members that are a varint, or start with one, in every entry that has them.
VARINTS: Final = ("flag", "address", "current", "last", "id", "name")


def encode(message: Json, out: BytesWriter, lines: bool) -> None:
    """See Codec.encode. An END is added if the entries do not end with one."""
    member = "lines" if lines else "frames"
    schema = s.LINES if lines else s.FRAMES
    if not isinstance(message, dict) or not isinstance(message.get(member), list):
        if isinstance(message, dict):
            schema.members_of(message, "", "")
        raise EncodeError("", f'expected an object with the array "{member}"')
    schema.members_of(message, "", "")
    counts = schema.word(message, "counts")
    entries = message[member]
    assert isinstance(entries, list)
    schemas = s.ENTRIES if lines else s.FRAME_ENTRIES
    ended = False
    for position, entry in enumerate(entries):
        path = f"{member}[{position}]"
        if ended:
            raise EncodeError(path, "nothing may follow END in a message")
        body = BytesWriter()
        kind = BodyWriter(body, counts == "unsigned", schemas).entry(entry, path)
        size = len(body)
        if size > v.MAX_SIZE:
            raise EncodeError(path, f"its body has {size} bytes, {v.MAX_SIZE} at most")
        out.append(kind)
        out.append(size >> 16)
        out.append(size >> 8 & 0xFF)
        out.append(size & 0xFF)
        out.write(body.getvalue())
        ended = kind == v.END
    if not ended:
        out.write(b"\0\0\0\0")


class BodyWriter:
    """Writes the bodies of entries."""

    def __init__(self, out: BytesWriter, unsigned: bool, schemas: dict[int, Schema]) -> None:
        self.out: Final = out
        self.unsigned: Final = unsigned
        self.schemas: Final = schemas  # of entries, by type

    def entry(self, entry: Json, path: str) -> int:
        """Write an entry's body; returns its type number."""
        entry = object_of(entry, path, 'an entry with a "type"')
        if "type" not in entry:
            raise EncodeError(path + ".type", f"an entry needs its type; {_known(s.TYPES)}")
        kind = s.RAW_ENTRY.number(entry, "type", path)
        wire = object_of(entry.get("$wire", {}), path + ".$wire", "member names to bytes of their varints")
        members = v.MEMBERS.get(kind, ("data",))
        schema = self.schemas.get(kind, s.RAW_ENTRY)
        if "data" in entry and (
            kind not in v.MEMBERS or "error" in entry or not any(m in entry for m in members)
        ):
            members = ("data",)
            schema = s.RAW_ENTRY
        schema.members_of(entry, path, "")
        address = kind == v.ADDRESS or kind == v.SOURCE_ADDRESS
        varints = [name for name in members if name in VARINTS or (address and name == "value")]
        s.FORMS[tuple(varints)].members_of(wire, path + ".$wire", "")
        if kind == v.XDATA and "value" in entry and "data" in entry and "error" not in entry:
            raise EncodeError(path, 'XDATA has one of "value" and "data"')
        for name in members:
            if name == "data" and kind == v.XDATA and "data" not in entry:
                continue
            if name == "value" and kind == v.XDATA and "value" not in entry and "data" in entry:
                continue
            if name not in entry:
                raise EncodeError(path, f'{v.TYPES.get(kind, kind)} needs the member "{name}"')
            self.member(kind, schema.members[name], entry[name], wire.get(name), f"{path}.{name}")
        if "extra" in entry:
            self.out.write(schema.hex(entry, "extra", path))
        return kind

    def member(self, kind: int, member: Member, value: Json, wire: Json, path: str) -> None:
        """Write one member of an entry of type `kind`."""
        out = self.out
        name = member.name
        if name == "data":
            out.write(hex_bytes(value, path))
        elif name == "text":
            out.write(text_bytes(value, path))
        elif name == "version":
            out.write(_version_bytes(value, path))
        elif name == "kind":
            out.append(number_of(value, member.names, path, member.low, member.high, *member.prefixes))
        elif name in ("flag", "address", "current", "last", "id"):
            self.integer(value, member.names, wire, path, 32, True, *member.prefixes)
        elif name == "name" or kind in (v.ADDRESS, v.SOURCE_ADDRESS):
            self.sized(text_bytes(value, path), wire, path)
        elif kind in (v.MESSAGE_ID, v.SOURCE_MESSAGE_ID):
            number = number_of(value, {}, path, member.low, member.high)
            write_i64_be(out, number - (1 << 64) if number >> 63 else number)
        else:
            self.var(value, path)

    def varint(self, number: int, wire: Json, where: Path | str) -> None:
        """Write an unsigned varint, in `wire` bytes if that is given."""
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
        """Write a signed varint."""
        self.varint((number << 1) ^ -(number < 0), wire, where)

    def integer(
        self,
        value: Json,
        names: dict[int, str],
        wire: Json,
        where: Path | str,
        bits: int,
        signed: bool,
        prefix: str = "",
    ) -> None:
        """Write an integer of this many bits as a varint; of up to 64 bits if `wire` marks it as wide."""
        wide = wire == "wide"
        if isinstance(wire, dict):
            s.WIDE.members_of(wire, where, "")
            wide = "wide" in wire
            wire = wire.get("wide")
        elif wide:
            wire = None
        low, high = _limits(64 if wide else bits, signed)
        number = number_of(value, names, where, -1 << 128, 1 << 128, prefix)
        if not low <= number <= high:
            least, most = _limits(64, signed)
            hint = ""
            if not wide and bits < 64 and least <= number <= most:
                hint = '; with "$wire": "wide" it is written all the same'
            raise wrong(where, f"{number} is not in {low} … {high}{hint}")
        if signed:
            self.zigzag(number, wire, where)
        else:
            self.varint(number, wire, where)

    def sized(self, content: bytes, wire: Json, where: Path | str) -> None:
        """Write a LenString or LenBytes."""
        self.zigzag(len(content), wire, where)
        self.out.write(content)

    def var(self, value: Json, path: str) -> None:
        """Write a Var; nested ones with an explicit stack."""
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
                    tag = v.VAR_TAGS[tagged]
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
                number_of(item, {}, where, -1 << 63, (1 << 64) - 1)
                tag = 5 if -1 << 31 <= item < 1 << 31 else 6 if item < 1 << 63 else 11
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
        """Write the count of a Map or List, under the message's rule."""
        if self.unsigned:
            self.varint(number, wire, where)
        else:
            self.zigzag(number, wire, where)

    def map_items(self, item: Json, wire: Json, where: Path) -> list[tuple[Json, Path, bool]]:
        """Write a Map's count; returns its keys and values, in order."""
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
        """Write a Map's key."""
        wire: Json = None
        if isinstance(item, dict):
            wire = item.get("$wire")
            if "$string" in item:
                item = item["$string"]
        self.sized(text_bytes(item, where), wire, where)

    def scalar(self, tag: int, item: Json, wire: Json, where: Path | str) -> None:
        """Write the value of a Var that is neither a Map nor a List."""
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
                    raise wrong(where, f"{byte} does not mean {'true' if item else 'false'}")
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
        else:
            self.integer(item, {}, wire, where, _BITS[tag], tag <= 6)

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


def _limits(bits: int, signed: bool) -> tuple[int, int]:
    """The smallest and the largest integer of this many bits."""
    return (-1 << (bits - 1), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)


def _known(names: dict[int, str]) -> str:
    """The names that exist, for an error."""
    return "there are " + ", ".join(names.values())


def _tagged(item: dict[str, Json], where: Path) -> str:
    """The tag of a tagged value; empty for a plain Map."""
    tag = ""
    for key in item:
        if key.startswith("$"):
            if key == "$wire":
                continue
            if key not in v.VAR_TAGS or tag:
                if key in v.VAR_TAGS:
                    raise wrong(where, f"{tag} and {key} cannot stand together")
                raise wrong(where, f"as a tag, {none_of(key, v.VAR_TAGS)} (a map with such keys needs $map)")
            tag = key
    if "$wire" in item and not tag:
        raise wrong(where, "$wire is only allowed together with a tag")
    if tag and len(item) > (2 if "$wire" in item else 1):
        raise wrong(where, f"only $wire is allowed together with {tag}")
    return tag


def _version_bytes(value: Json, path: str) -> bytes:
    """The four bytes of "1.2.3.4"."""
    parts = value.split(".") if isinstance(value, str) else []
    if len(parts) != 4 or not all(
        part.isascii() and part.isdigit() and len(part) <= 3 and int(part) < 256 for part in parts
    ):
        raise EncodeError(path, 'expected four numbers up to 255, as "1.2.3.4"')
    return bytes(int(part) for part in parts)
