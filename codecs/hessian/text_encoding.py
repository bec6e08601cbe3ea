"""Writing strings, XML and bytes: whole or in chunks, as a dialect's writer does or as `$wire` gives."""

from typing import Final

from librt.strings import BytesWriter, write_i64_le
from mypy_extensions import i64, mypyc_attr, u8

from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.forms import CHUNK_BYTES, CHUNK_UNITS, usual_binary, usual_string
from wirelens.codecs.hessian.scalar_encoding import Scalars
from wirelens.codecs.hessian.texts import as_units, cesu8, cesu8_of, units_of_raw
from wirelens.codecs.json_input import hex_bytes
from wirelens.codecs.node import Json, utf16_text

_FEW: Final = 7  # characters: as many, of ASCII, make a word with their number
_COMPILED: Final = not __file__.endswith(".py")
_OTHER_TEXT: Final = "these bytes are another text: delete $wire to encode the text"


def _write_few(out: BytesWriter, text: str, size: i64) -> None:
    """Write text of `size` characters, at most _FEW, after its length.

    An object of its UTF-8 takes longer: 3 % of a message.
    """
    word: i64 = 0
    found: i64 = 0
    at = size
    while at > 0:
        at -= 1
        code: i64 = ord(text[at])
        found |= code
        word = word << 8 | code
    start: i64 = len(out)
    if found < 0x80:
        write_i64_le(out, word << 8 | size)
        out.truncate(start + size + 1)
        return
    out.append(0)
    units = size
    while at < size:
        code = ord(text[at])
        if code >= 0x10000:
            units += 1
            _write_unit(out, 0xD7C0 + (code >> 10))
            code = 0xDC00 | code & 0x3FF
        _write_unit(out, code)
        at += 1
    out[start] = u8(units)


def _write_unit(out: BytesWriter, unit: i64) -> None:
    """Write a unit of UTF-16 as UTF-8."""
    if unit < 0x80:
        out.append(u8(unit))
        return
    if unit < 0x800:
        out.append(u8(0xC0 | unit >> 6))
    else:
        out.append(u8(0xE0 | unit >> 12))
        out.append(u8(0x80 | unit >> 6 & 0x3F))
    out.append(u8(0x80 | unit & 0x3F))


@mypyc_attr(acyclic=True)
class Texts(Scalars):
    """Writes texts and bytes. Base of `Encoder`."""

    def write_text(self, text: str) -> None:
        """Write a string as the writer of the dialect sends it."""
        size: i64 = len(text)
        if size > 31 or self.dialect == d.V1:
            content, units = cesu8(text)
            self.write_content(text, content, units)
            return
        out = self.out
        if size <= _FEW and _COMPILED:
            _write_few(out, text, size)
            return
        try:
            content = text.encode()
        except UnicodeEncodeError:
            content, units = cesu8(text)
        else:
            if len(content) == size:  # as most texts are: 1 % of a message
                out.append(u8(size))
                out.write(content)
                return
            content, units = cesu8_of(content, size)
        self.write_content(text, content, units)

    def write_content(self, text: str, content: bytes, count: int) -> None:
        """Write a string whose content is known, cut as writers cut it."""
        units: i64 = count
        if units <= 31 and self.dialect != d.V1:
            self.out.append(u8(units))
            self.out.write(content)
            return
        if units <= CHUNK_UNITS:
            self._string_opcode(usual_string(self.dialect, units), units)
            self.out.write(content)
            return
        wide = as_units(text)
        sizes: list[int] = []
        at = 0
        while units - at > CHUNK_UNITS:
            size = CHUNK_UNITS
            if 0xD800 <= ord(wide[at + size - 1]) <= 0xDBFF:  # the other half of a surrogate pair follows
                size -= 1
            sizes.append(size)
            at += size
        sizes.append(units - at)
        self._cut_string(wide, sizes, usual_string(self.dialect, units - at), False)

    def _cut_string(self, wide: str, sizes: list[int], last: str, xml: bool) -> None:
        """Write a string, one character for each unit, in chunks of given sizes."""
        at = 0
        for position, size in enumerate(sizes):
            final = position == len(sizes) - 1
            self._string_opcode(last if final else "more", size, xml)
            self.out.write(wide[at : at + size].encode("utf-8", "surrogatepass"))
            at += size

    def _string_opcode(self, name: str, units: int, xml: bool = False) -> None:
        """Write the opcode of a chunk of a string: "short", "medium", "S" or "more" (not the last one)."""
        out = self.out
        dialect = self.dialect
        if name == "short" and not xml and dialect != d.V1 and units <= 31:
            out.append(u8(units))
        elif name == "medium" and not xml and dialect == d.FINAL and units <= 1023:
            out.append(u8(0x30 + (units >> 8)))
            out.append(u8(units & 0xFF))
        elif name in ("S", "more") and units <= 0xFFFF:
            if name == "S":
                out.append(0x58 if xml else 0x53)
            else:
                out.append(0x78 if xml else 0x52 if dialect == d.FINAL else 0x73)
            self.write_u16(units)
        else:
            raise self.error(f"{d.NAMES[dialect]} has no chunk {name!r} of {units} units", ".$wire")

    def string(self, value: Json, wire: Json, step: str = "", xml: bool = False) -> None:
        """Write a string, which may be {"$raw": hex} or {"$string": text}, in the form that `$wire` gives."""
        if isinstance(value, dict) and ("$string" in value or "$raw" in value):
            wire = value.get("$wire", wire)
            if "$string" in value:
                value = value["$string"]
        if isinstance(wire, dict) and "exact" in wire:
            self._exact(value, wire["exact"], step, xml)
            return
        if isinstance(value, dict) and "$raw" in value:
            content = hex_bytes(value["$raw"], self.error("", step + ".$raw").path)
            units = self._declared(wire, step)
            if units < 0:
                units = units_of_raw(content)
            self._string_opcode("S" if xml else usual_string(self.dialect, units), units, xml)
            self.out.write(content)
            return
        if not isinstance(value, str):
            raise self.error("expected text", step)
        if wire is None and not xml:
            self.write_text(value)
            return
        if isinstance(wire, dict) and "utf8" in wire:
            content = self._overlong(value, wire["utf8"], step)
            units = units_of_raw(content)
            self._string_opcode("S" if xml else usual_string(self.dialect, units), units, xml)
            self.out.write(content)
            return
        units = self._declared(wire, step)
        if units >= 0:
            self._string_opcode("S" if xml else usual_string(self.dialect, units), units, xml)
            self.out.write(value.encode("utf-8", "surrogatepass"))
            return
        wide = as_units(value)
        if wire is None:
            sizes = [CHUNK_UNITS] * (len(wide) // CHUNK_UNITS) if len(wide) > CHUNK_UNITS else []
            sizes = sizes or [len(wide)]
            if sum(sizes) < len(wide):
                sizes.append(len(wide) - sum(sizes))
            self._cut_string(wide, sizes, "S", xml)
        elif isinstance(wire, str):
            self._cut_string(wide, [len(wide)], wire, xml)
        else:
            sizes = self._sizes(wire, len(wide), step)
            last = wire.get("last") if isinstance(wire, dict) else None
            usual = "S" if xml else usual_string(self.dialect, sizes[-1])
            self._cut_string(wide, sizes, last if isinstance(last, str) else usual, xml)

    def _declared(self, wire: Json, step: str) -> int:
        """The `units` of a `$wire`; -1 if it has none."""
        if not isinstance(wire, dict) or "units" not in wire:
            return -1
        units = wire["units"]
        if isinstance(units, bool) or not isinstance(units, int) or units < 0:
            raise self.error("expected a number of units", step + ".$wire.units")
        return units

    def _overlong(self, text: str, given: Json, step: str) -> bytes:
        """The bytes that `$wire` gives for text, which readers must take for that text."""
        content = hex_bytes(given, self.error("", step + ".$wire.utf8").path)
        if utf16_text(content) != text:
            raise self.error(
                "these bytes are another text: delete $wire to encode the text", step + ".$wire.utf8"
            )
        return content

    def _sizes(self, wire: Json, total: int, step: str) -> list[int]:
        """The `chunks` of a `$wire`; their sum must be `total`."""
        chunks = wire.get("chunks") if isinstance(wire, dict) else None
        sizes: list[int] = []
        if isinstance(chunks, list):
            for size in chunks:
                if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= 0xFFFF:
                    raise self.error("expected sizes of chunks, up to 65535", step + ".$wire.chunks")
                sizes.append(size)
        if not sizes:
            raise self.error("expected an opcode's name, chunks, units, utf8 or exact", step + ".$wire")
        if sum(sizes) != total:
            raise self.error(f"the chunks have {sum(sizes)}, the value {total}", step + ".$wire.chunks")
        return sizes

    def _exact(self, value: Json, chunks: Json, step: str, xml: bool) -> None:
        """Write a string given chunk by chunk; a text that accompanies it must be the same."""
        if not isinstance(chunks, list):
            raise self.error("expected chunks: [opcode, units, hex]", step + ".$wire.exact")
        pieces: list[bytes] = []
        for chunk in chunks:
            if not isinstance(chunk, list) or len(chunk) != 3:
                raise self.error("expected chunks: [opcode, units, hex]", step + ".$wire.exact")
            name, units, digits = chunk
            if not isinstance(name, str) or isinstance(units, bool) or not isinstance(units, int):
                raise self.error("expected chunks: [opcode, units, hex]", step + ".$wire.exact")
            content = hex_bytes(digits, self.error("", step + ".$wire.exact").path)
            pieces.append(content)
            self._string_opcode(name, units, xml)
            self.out.write(content)
        if isinstance(value, str) and utf16_text(b"".join(pieces)) != value:
            raise self.error(
                "these bytes are another text: delete $wire to encode the text", step + ".$wire.exact"
            )

    def counted(self, value: Json, wire: Json, step: str = "") -> bytes:
        """Write text after a 16-bit count of units (types, methods, header names); returns its content."""
        content, units = self.text_of(value, wire, step)
        if units > 0xFFFF:
            raise self.error("a name has at most 65535 units", step)
        self.write_u16(units)
        self.out.write(content)
        return content

    def text_of(self, value: Json, wire: Json = None, step: str = "") -> tuple[bytes, int]:
        """The content of text that may be tagged, and its number of units."""
        if isinstance(value, dict) and ("$string" in value or "$raw" in value):
            wire = value.get("$wire", wire)
            if "$string" in value:
                value = value["$string"]
        units = self._declared(wire, step)
        if isinstance(value, dict) and "$raw" in value:
            content = hex_bytes(value["$raw"], self.error("", step + ".$raw").path)
            return content, units_of_raw(content) if units < 0 else units
        if not isinstance(value, str):
            raise self.error("expected text", step)
        if isinstance(wire, dict) and "utf8" in wire:
            content = self._overlong(value, wire["utf8"], step)
            return content, units_of_raw(content) if units < 0 else units
        if units >= 0:
            return value.encode("utf-8", "surrogatepass"), units
        return cesu8(value)

    def binary(self, content: bytes, wire: Json, step: str = "") -> None:
        """Write bytes, in the usual chunks or as `$wire` gives them."""
        size = CHUNK_BYTES[self.dialect]
        sizes: list[int] = []
        last = ""
        if wire is None:
            left = len(content)
            while left > size:
                sizes.append(size)
                left -= size
            sizes.append(left)
        elif isinstance(wire, str):
            sizes = [len(content)]
            last = wire
        else:
            sizes = self._sizes(wire, len(content), step)
            opcode = wire.get("last") if isinstance(wire, dict) else None
            last = opcode if isinstance(opcode, str) else ""
        at = 0
        for position, part in enumerate(sizes):
            if position < len(sizes) - 1:
                self.out.append(0x41 if self.dialect == d.FINAL else 0x62)
                self.write_u16(part)
            else:
                self._binary_opcode(last or usual_binary(self.dialect, part), part, step)
            self.out.write(content[at : at + part])
            at += part

    def _binary_opcode(self, name: str, size: int, step: str) -> None:
        """Write the opcode of the last chunk of bytes: "short", "medium" or "B"."""
        out = self.out
        if name == "short" and self.dialect != d.V1 and size <= 15:
            out.append(u8(0x20 + size))
        elif name == "medium" and self.dialect == d.FINAL and size <= 1023:
            out.append(u8(0x34 + (size >> 8)))
            out.append(u8(size & 0xFF))
        elif name == "B" and size <= 0xFFFF:
            out.append(0x42)
            self.write_u16(size)
        else:
            raise self.error(
                f"{d.NAMES[self.dialect]} has no chunk {name!r} of {size} bytes", step + ".$wire"
            )
