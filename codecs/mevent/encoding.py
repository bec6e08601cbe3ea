"""JSON to bytes: requests, replies and their variables."""

from librt.strings import BytesWriter, write_i64_be

from wirelens.codecs.errors import EncodeError
from wirelens.codecs.json_input import (
    Path,
    array_of,
    none_of,
    number_named,
    number_of,
    object_of,
    text_bytes,
)
from wirelens.codecs.mevent import hdf_encoding
from wirelens.codecs.mevent import schema as s
from wirelens.codecs.mevent import vocabulary as v
from wirelens.codecs.node import Json


def encode(message: Json, out: BytesWriter) -> None:
    """See Codec.encode. Defaults: version 1, id 1, command 0, flags 0, eof true, no prefix."""
    schema = s.MESSAGE
    members = schema.members_of(message, "", "a message with request or reply")
    if ("request" in members) == ("reply" in members):
        both = ", not both" if "reply" in members else ""
        raise EncodeError("", f'a message has one of "request" and "reply"{both}')
    dialect = schema.word(members, "dialect")
    prefix = schema.flag(members, "prefix")
    if "extra" in members and not prefix:
        raise EncodeError("extra", "only a message with prefix can have bytes after it")
    body = BytesWriter()
    deployed = dialect == "deployed"
    if "request" in members:
        _write_request(object_of(members["request"], "request", "a request"), deployed, body)
    else:
        reply = object_of(members["reply"], "reply", "a reply")
        if "dialect" in members and "variables" not in reply:
            raise EncodeError("dialect", "a reply without variables has no dialect")
        _write_reply(reply, deployed, body)
    if "extra" in members:
        body.write(schema.hex(members, "extra"))
    if prefix:
        _write_word(out, len(body) + 4)
    out.write(body.getvalue())


def _write_word(out: BytesWriter, number: int) -> None:
    """Write an unsigned 32-bit number."""
    out.append(number >> 24 & 0xFF)
    out.append(number >> 16 & 0xFF)
    out.append(number >> 8 & 0xFF)
    out.append(number & 0xFF)


def _write_request(request: dict[str, Json], deployed: bool, out: BytesWriter) -> None:
    schema = s.REQUEST
    schema.members_of(request, "request", "")
    version = schema.number(request, "version", "request")
    request_id = schema.number(request, "id", "request")
    command = schema.number(request, "command", "request")
    flags = schema.number(request, "flags", "request")
    schema.require(request, "request", "a request")
    plugin = schema.text(request, "plugin", "request")
    _write_word(out, version << 28 | request_id)
    _write_word(out, command << 16 | flags)
    _write_word(out, len(plugin))
    out.write(plugin)
    _write_variables(schema.value(request, "variables"), "request.variables", deployed, out)
    _write_eof(request, "request", out)


def _write_reply(reply: dict[str, Json], deployed: bool, out: BytesWriter) -> None:
    schema = s.REPLY
    schema.members_of(reply, "reply", "")
    schema.require(reply, "reply", "a reply")
    _write_word(out, schema.number(reply, "id", "reply"))
    code = schema.number(reply, "code", "reply")
    _write_word(out, code & 0xFFFFFFFF)
    if "variables" not in reply:
        for name in ("eof", "extra"):
            if name in reply:
                raise EncodeError(f"reply.{name}", 'only allowed with "variables"')
        if "error_code" in reply:
            error_code = schema.number(reply, "error_code", "reply")
            if error_code == 0:
                raise EncodeError("reply.error_code", "0 there is a vsize of 0; it needs a number")
            _write_word(out, error_code & 0xFFFFFFFF)
        return
    if "error_code" in reply:
        raise EncodeError("reply.error_code", "it takes the place of variables")
    val = BytesWriter()
    _write_variables(reply["variables"], "reply.variables", deployed, val)
    _write_eof(reply, "reply", val)
    if "extra" in reply:
        val.write(schema.hex(reply, "extra", "reply"))
    _write_word(out, len(val))
    out.write(val.getvalue())


def _write_eof(part: dict[str, Json], path: str, out: BytesWriter) -> None:
    if s.REQUEST.flag(part, "eof", path):
        _write_word(out, v.EOF)


def _write_variables(variables: Json, path: str, deployed: bool, out: BytesWriter) -> None:
    """Write variables, nested ones with an explicit stack."""
    names = v.DEPLOYED_TYPES if deployed else v.SPECIFIED_TYPES
    work: list[tuple[Json, Path]] = []
    _push(array_of(variables, path, "variables"), Path(None, path), work)
    while work:
        item, place = work.pop()
        variable = s.VARIABLE.members_of(item, place, "a variable")
        type_place = Path(place, ".type")
        if "type" not in variable:
            raise type_place.error("a variable needs its type: one of " + ", ".join(names.values()))
        given = variable["type"]
        if not isinstance(given, str):  # a number would be another type in the other dialect
            raise type_place.error("expected one of " + ", ".join(names.values()))
        if not deployed and given.upper().removeprefix(s.TYPE_PREFIX) == "ULONG":
            raise type_place.error('ULONG exists only with "dialect": "deployed"')
        kind = number_named(given, names, (s.TYPE_PREFIX,))
        if kind is None or kind not in names:
            raise type_place.error(none_of(given, names.values()))
        type_name = names[kind]
        if "name" not in variable:
            raise place.error('a variable needs the member "name"')
        name = text_bytes(variable["name"], Path(place, ".name"))
        _write_word(out, kind)
        _write_word(out, len(name))
        out.write(name)
        if "value" not in variable and not (type_name == "STRING" and "hdf" in variable):
            raise place.error('a variable needs the member "value"')
        where = Path(place, ".value")
        if type_name == "U32":
            _write_word(out, number_of(variable["value"], {}, where, 0, 0xFFFFFFFF))
        elif type_name == "ULONG":
            number = number_of(variable["value"], {}, where, 0, (1 << 64) - 1)
            write_i64_be(out, number - (1 << 64) if number >> 63 else number)
        elif type_name == "ARRAY":
            elements = array_of(variable["value"], where, "variables")
            _write_word(out, len(elements))
            _push(elements, where, work)
        else:
            content = _string(variable, deployed, place)
            _write_word(out, len(content))
            out.write(content)


def _string(variable: dict[str, Json], deployed: bool, place: Path) -> bytes:
    """The bytes of a STRING: its value, or else its HDF as text, with the NUL that deployed writers add.

    Raises EncodeError if it has both, and they do not agree: one of them was edited.
    """
    if "value" in variable:
        content = text_bytes(variable["value"], Path(place, ".value"))
        if "hdf" in variable and not hdf_encoding.same(content, variable["hdf"], Path(place, ".hdf")):
            text = '"value" and "hdf" do not have the same meaning; delete the one that is not to be written'
            raise Path(place, ".hdf").error(text)
        return content
    text_out = BytesWriter()
    hdf_encoding.write(variable["hdf"], Path(place, ".hdf"), text_out)
    if deployed:
        text_out.append(0)
    return text_out.getvalue()


def _push(variables: list[Json], place: Path, work: list[tuple[Json, Path]]) -> None:
    """Put variables on the stack, so that the first comes off first."""
    work.extend((variables[at], Path(place, f"[{at}]")) for at in range(len(variables) - 1, -1, -1))
