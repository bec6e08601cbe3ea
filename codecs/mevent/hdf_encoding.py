"""JSON of items of HDF to text; hdf.py reads it."""

from librt.strings import BytesWriter

from wirelens.codecs import tape as t
from wirelens.codecs.errors import EncodeError
from wirelens.codecs.json_input import Path, array_of, text_bytes
from wirelens.codecs.json_text import dumps, loads
from wirelens.codecs.mevent import hdf
from wirelens.codecs.mevent.schema import ITEM
from wirelens.codecs.node import Json
from wirelens.codecs.notation import Writer
from wirelens.codecs.tape import Buffer, Tape


def same(text: bytes, items: Json, place: Path) -> bool:
    """Whether HDF text holds exactly these items, in whatever form the text has them.

    Raises EncodeError for what is not an array of items.
    """
    tree = _tree(text)
    if tree is None:
        return False
    array_of(items, place, "items of HDF")
    if dumps(items) == dumps(tree):
        return True
    out = BytesWriter()
    try:
        write(items, place, out)
    except EncodeError:  # such items are not those of any text
        return False
    again = _tree(out.getvalue())
    return again is not None and dumps(again) == dumps(tree)


def _tree(text: bytes) -> Json:
    """The items of HDF text as JSON; None if it is not HDF."""
    buffer = Buffer(text)
    tape = Tape(buffer)
    root = tape.open(t.head(t.STRUCT), 0, 0)
    hdf.read(tape, buffer, 0, len(text))
    tape.close(root, len(text))
    if tape.size() == t.WIDTH:
        return None
    writer = Writer()
    writer.write(tape, t.WIDTH, buffer)
    return loads(writer.out.getvalue().decode())


def write(items: Json, place: Path, out: BytesWriter) -> None:
    """Write the text of an array of items, as ClearSilver dumps a data set.

    A value of several lines becomes a here-document, which ends with a newline. Raises EncodeError for
    content that the text cannot hold.
    """
    work: list[tuple[Json, Path | None]] = []
    _push(items, place, work)
    while work:
        item, here = work.pop()
        if here is None:
            out.write(b"}\n")
            continue
        members = ITEM.members_of(item, here, "an item of HDF")
        head = _head(members, here)
        done = False
        if "value" in members:
            where = Path(here, ".value")
            _value(head, text_bytes(members["value"], where), where, out)
            done = True
        for member, operator in (("link", b" : "), ("copy", b" := ")):
            if member in members:
                where = Path(here, "." + member)
                if done:
                    raise where.error("an item has one of value, link and copy")
                out.write(head + operator + _line(text_bytes(members[member], where), where) + b"\n")
                done = True
        if "children" in members:
            out.write((_name(members, here) if done else head) + b" {\n")
            work.append((None, None))
            _push(members["children"], Path(here, ".children"), work)
        elif not done:
            raise here.error("an item needs value, link, copy or children")


def _push(items: Json, place: Path, work: list[tuple[Json, Path | None]]) -> None:
    """Put items on the stack, so that the first comes off first."""
    array = array_of(items, place, "items of HDF")
    work.extend((array[at], Path(place, f"[{at}]")) for at in range(len(array) - 1, -1, -1))


def _name(members: dict[str, Json], place: Path) -> bytes:
    """An item's name. Raises EncodeError for one that HDF cannot hold."""
    where = Path(place, ".name")
    if "name" not in members:
        raise place.error('an item needs the member "name"')
    name = text_bytes(members["name"], where)
    if not name or not all(hdf.is_name(byte) for byte in name):
        raise where.error("a name in HDF consists of letters, digits, _ and dots")
    return name


def _head(members: dict[str, Json], place: Path) -> bytes:
    """The name and attributes of an item, up to its operator."""
    name = _name(members, place)
    if "attributes" not in members:
        return name
    where = Path(place, ".attributes")
    attributes = members["attributes"]
    if isinstance(attributes, dict) and list(attributes) == ["$map"]:
        attributes = attributes["$map"]
    pairs: list[tuple[Json, Json]] = []
    if isinstance(attributes, dict):
        pairs.extend(attributes.items())
    else:
        for pair in array_of(attributes, where, "pairs [name, value], or an object"):
            if not isinstance(pair, list) or len(pair) != 2:
                raise where.error("expected pairs [name, value]")
            pairs.append((pair[0], pair[1]))
    parts: list[bytes] = []
    for key, value in pairs:
        word = text_bytes(key, where)
        if not word or not all(hdf.is_key(byte) for byte in word):
            raise where.error(f"{key!r}: the name of an attribute consists of letters and digits")
        content = text_bytes(value, where)
        if b"\0" in content:
            raise where.error("HDF text cannot hold a NUL")
        parts.append(word if content == b"1" else word + b'="' + _escaped(content) + b'"')
    return name + b" [" + b", ".join(parts) + b"]"


def _escaped(content: bytes) -> bytes:
    """The inside of a quoted attribute; `hdf.unescape` is the inverse."""
    content = content.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    return content.replace(b"\n", b"\\n").replace(b"\t", b"\\t").replace(b"\r", b"\\r")


def _line(content: bytes, place: Path) -> bytes:
    """Content that has to fit on one line."""
    if b"\n" in content or b"\0" in content:
        raise place.error("it has to fit on one line, without NUL")
    if content != content.strip(hdf.BLANKS):
        raise place.error("one line of HDF cannot keep blanks at its ends")
    return content


def _value(head: bytes, content: bytes, place: Path, out: BytesWriter) -> None:
    """Write an item with a value: on its line, or as a here-document."""
    if b"\n" not in content:
        out.write(head + b" = " + _line(content, place) + b"\n")
        return
    if b"\0" in content:
        raise place.error("HDF text cannot hold a NUL")
    firsts = {line.split(None, 1)[0] for line in content.split(b"\n") if line and not hdf.is_blank(line[0])}
    mark = b"EOM"
    number = 0
    while mark in firsts:
        number += 1
        mark = b"EOM%d" % number
    out.write(head + b" << " + mark + b"\n" + content)
    out.write(mark + b"\n" if content.endswith(b"\n") else b"\n" + mark + b"\n")
