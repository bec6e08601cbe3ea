"""JSON to bytes: requests, replies and their variables."""

from typing import Final

from librt.strings import BytesWriter, write_i64_be

from wirelens.codecs.errors import EncodeError
from wirelens.codecs.json_input import (
    Path,
    array_of,
    flags_of,
    hex_bytes,
    none_of,
    number_named,
    number_of,
    object_of,
    one_of,
    only,
    text_bytes,
)
from wirelens.codecs.mevent import hdf
from wirelens.codecs.mevent import vocabulary as v
from wirelens.codecs.node import Json

# What the text, or the deployed code, writes before the names.
TYPE_PREFIX: Final = "DATA_TYPE_"
COMMAND_PREFIX: Final = "REQ_CMD_"
FLAG_PREFIXES: Final = ("FLAGS_", "FLAG_")
CODE_PREFIX: Final = "REP_"

_COMMANDS: Final = {**v.COMMANDS, **v.COMMANDS_2009}


def encode(message: Json, out: BytesWriter) -> None:
    """See Codec.encode. Defaults: version 1, id 1, command 0, flags 0, eof true, no prefix."""
    members = object_of(message, "", "a message with request or reply")
    only(members, ("request", "reply", "dialect", "prefix", "extra"), "")
    if ("request" in members) == ("reply" in members):
        both = ", not both" if "reply" in members else ""
        raise EncodeError("", f'a message has one of "request" and "reply"{both}')
    dialect = one_of(members.get("dialect", "specified"), ("specified", "deployed"), "dialect")
    prefix = members.get("prefix", False)
    if not isinstance(prefix, bool):
        raise EncodeError("prefix", "expected true or false")
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
        body.write(hex_bytes(members["extra"], "extra"))
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
    only(request, ("version", "id", "command", "flags", "plugin", "variables", "eof"), "request")
    version = number_of(request.get("version", 1), {}, "request.version", 0, 15)
    request_id = number_of(request.get("id", 1), {}, "request.id", 0, v.MAX_ID)
    command = number_of(request.get("command", 0), _COMMANDS, "request.command", 0, 0xFFFF, COMMAND_PREFIX)
    flags = flags_of(request.get("flags", 0), v.FLAGS, "request.flags", 0xFFFF, *FLAG_PREFIXES)
    if "plugin" not in request:
        raise EncodeError("request", 'a request needs the member "plugin"')
    plugin = text_bytes(request["plugin"], "request.plugin")
    _write_word(out, version << 28 | request_id)
    _write_word(out, command << 16 | flags)
    _write_word(out, len(plugin))
    out.write(plugin)
    _write_variables(request.get("variables", []), "request.variables", deployed, out)
    _write_eof(request, "request", out)


def _write_reply(reply: dict[str, Json], deployed: bool, out: BytesWriter) -> None:
    only(reply, ("id", "code", "error_code", "variables", "eof", "extra"), "reply")
    if "code" not in reply:
        raise EncodeError("reply", 'a reply needs the member "code"')
    _write_word(out, number_of(reply.get("id", 1), {}, "reply.id", 0, 0xFFFFFFFF))
    code = number_of(reply["code"], v.CODES, "reply.code", -1 << 31, 0xFFFFFFFF, CODE_PREFIX)
    _write_word(out, code & 0xFFFFFFFF)
    if "variables" not in reply:
        for name in ("eof", "extra"):
            if name in reply:
                raise EncodeError(f"reply.{name}", 'only allowed with "variables"')
        if "error_code" in reply:
            error_code = number_of(reply["error_code"], v.CODES, "reply.error_code", -1 << 31, 0xFFFFFFFF)
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
        val.write(hex_bytes(reply["extra"], "reply.extra"))
    _write_word(out, len(val))
    out.write(val.getvalue())


def _write_eof(part: dict[str, Json], path: str, out: BytesWriter) -> None:
    eof = part.get("eof", True)
    if not isinstance(eof, bool):
        raise EncodeError(path + ".eof", "expected true or false")
    if eof:
        _write_word(out, v.EOF)


def _write_variables(variables: Json, path: str, deployed: bool, out: BytesWriter) -> None:
    """Write variables, nested ones with an explicit stack."""
    names = v.DEPLOYED_TYPES if deployed else v.SPECIFIED_TYPES
    work: list[tuple[Json, Path]] = []
    _push(array_of(variables, path, "variables"), Path(None, path), work)
    while work:
        item, place = work.pop()
        variable = object_of(item, place, "a variable")
        only(variable, ("type", "name", "value", "hdf"), place)
        type_place = Path(place, ".type")
        if "type" not in variable:
            raise type_place.error("a variable needs its type: one of " + ", ".join(names.values()))
        given = variable["type"]
        if not isinstance(given, str):  # a number would be another type in the other dialect
            raise type_place.error("expected one of " + ", ".join(names.values()))
        if not deployed and given.upper().removeprefix(TYPE_PREFIX) == "ULONG":
            raise type_place.error('ULONG exists only with "dialect": "deployed"')
        kind = number_named(given, names, (TYPE_PREFIX,))
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
        if "hdf" in variable and not hdf.same(content, variable["hdf"], Path(place, ".hdf")):
            text = '"value" and "hdf" do not have the same meaning; delete the one that is not to be written'
            raise Path(place, ".hdf").error(text)
        return content
    text_out = BytesWriter()
    hdf.write(variable["hdf"], Path(place, ".hdf"), text_out)
    if deployed:
        text_out.append(0)
    return text_out.getvalue()


def _push(variables: list[Json], place: Path, work: list[tuple[Json, Path]]) -> None:
    """Put variables on the stack, so that the first comes off first."""
    work.extend((variables[at], Path(place, f"[{at}]")) for at in range(len(variables) - 1, -1, -1))
