"""Encoding frames: the message of Hessian that the notation gives, after its length."""

from librt.strings import BytesWriter, write_i32_be
from mypy_extensions import i32

from wirelens.codecs.errors import EncodeError
from wirelens.codecs.framed import schema as s
from wirelens.codecs.framed.vocabulary import MAX_CONTENT
from wirelens.codecs.hessian import encoding
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.json_input import object_of
from wirelens.codecs.node import Json
from wirelens.codecs.payload import dialect_named
from wirelens.codecs.words import count


def encode_frame(message: Json, out: BytesWriter) -> None:
    """See Codec.encode. The length is computed; "hessian" is "hessian2" if it is left out."""
    members = object_of(message, "", "a message of Hessian, such as its values")
    dialect = dialect_named(s.FRAME.value(members, "hessian"), d.FINAL, "hessian")
    content = BytesWriter()
    if "data" in members:
        content.write(s.DATA.hex(s.DATA.members_of(members, "", ""), "data"))
    else:
        s.FRAME.members_of(members, "", "")
        inner = {name: value for name, value in members.items() if name != "hessian"}
        encoding.encode_message(inner, dialect, content)
    size = len(content)
    if size > MAX_CONTENT:
        raise EncodeError("", f"it has {count(size, 'byte')}; {MAX_CONTENT} are allowed")
    write_i32_be(out, i32(size))
    out.write(content.getvalue())
