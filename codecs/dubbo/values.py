"""How the values of a body are written: in Hessian one after the other, in JSONB each by itself."""

from typing import Final

from librt.strings import BytesWriter, write_i32_be
from mypy_extensions import i32

from wirelens.codecs.dubbo.schema import RESULT_WIRE
from wirelens.codecs.errors import EncodeError
from wirelens.codecs.hessian.value_encoding import Encoder
from wirelens.codecs.jsonb import vocabulary as v
from wirelens.codecs.node import Json


class Values:
    """Writes values; each method takes the place in the JSON and raises EncodeError."""

    def value(self, value: Json, path: str) -> None:
        """Write a value."""
        raise NotImplementedError

    def values(self, items: list[Json], path: str) -> None:
        """Write the values of an array."""
        raise NotImplementedError

    def integer(self, value: int, form: Json, path: str) -> None:
        """Write the kind of a result, in an unusual form if one is given."""
        raise NotImplementedError


class HessianValues(Values):
    """Values in a dialect of Hessian, which share their tables."""

    def __init__(self, out: BytesWriter, dialect: int) -> None:
        self.encoder: Final = Encoder(out, dialect)

    def value(self, value: Json, path: str) -> None:
        """See Values.value."""
        self.encoder.value(value, path)

    def values(self, items: list[Json], path: str) -> None:
        """See Values.values."""
        self.encoder.values(items, path)

    def integer(self, value: int, form: Json, path: str) -> None:
        """See Values.integer."""
        self.encoder.integer(value, form, path)


class JsonbValues(Values):
    """Values in JSONB, each a document after its length."""

    def __init__(self, out: BytesWriter) -> None:
        self.out: Final = out

    def value(self, value: Json, path: str) -> None:
        """See Values.value."""
        from wirelens.codecs.jsonb.encoding import encode_value  # not needed to decode

        content = BytesWriter()
        encode_value(value, content, path)
        self._write(content.getvalue())

    def values(self, items: list[Json], path: str) -> None:
        """See Values.values."""
        for position, item in enumerate(items):
            self.value(item, f"{path}[{position}]")

    def integer(self, value: int, form: Json, path: str) -> None:
        """See Values.integer. The usual form is a byte."""
        content = bytes([v.BYTE, value])
        if form is not None:
            where = "body.$wire.result"
            content = RESULT_WIRE.hex(
                RESULT_WIRE.members_of(form, where, 'expected {"bytes": hex}'), "bytes", where
            )
            if not _is_number(content, value):
                raise EncodeError("body.$wire.result.bytes", f"these bytes are not the number {value}")
        self._write(content)

    def _write(self, content: bytes) -> None:
        write_i32_be(self.out, i32(len(content)))
        self.out.write(content)


def _is_number(content: bytes, value: int) -> bool:
    """Whether bytes are a number of JSONB of that value."""
    if not content or (v.INT_5 < content[0] < v.SHORT):
        return False
    try:
        return v.int_at(content, 0) == (value, len(content))
    except IndexError:
        return False
