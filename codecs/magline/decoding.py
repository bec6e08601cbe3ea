"""Bytes to nodes of a tape: frames with the specified head, and frames with the deployed one."""

from mypy_extensions import i64

from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.fields import read_rest, read_u8
from wirelens.codecs.magline import vocabulary as v
from wirelens.codecs.magline.deployed import CUT, head_at
from wirelens.codecs.magline.fields import read_int32, read_u16, read_u32, u32_at
from wirelens.codecs.magline.specified import SpecifiedHead
from wirelens.codecs.protobuf import read_message
from wirelens.codecs.tape import Fault, Tape
from wirelens.codecs.words import count


def decode_specified(cursor: Cursor, tape: Tape, final: bool) -> None:
    """See Codec.decode: a 16-byte head, a message header, a body by command."""
    start = cursor.pos
    if cursor.left() < v.SPECIFIED_SIZE:
        raise cursor.short(v.SPECIFIED_SIZE, "the head of a frame")
    head = SpecifiedHead(cursor.data, start)
    if not head.known and head.head_length != v.SPECIFIED_SIZE:
        raise cursor.error("no-message", start, f"no frame starts here: {head.cmd} is not a command")
    if head.total > v.MAX_FRAME:
        raise cursor.error("limit", start, f"the frame claims {head.total} bytes, {v.MAX_FRAME} at most")
    if head.total > cursor.left() and not final:
        raise cursor.short(head.total, "a frame")
    root = tape.open(v.ROOT_HEAD, start, 0)
    little = head.little
    read_u8(cursor, tape, v.MAGIC_HEAD, "the magic")
    read_u8(cursor, tape, v.VERSION_HEAD, "the version")
    read_u16(cursor, tape, v.CMD_HEAD, little)
    read_u16(cursor, tape, v.OPTIONAL_HEAD, little)
    read_u16(cursor, tape, v.HEAD_LENGTH_HEAD, little)
    read_u32(cursor, tape, v.SEQ_HEAD, little)
    read_u32(cursor, tape, v.MESSAGE_LENGTH_HEAD, little)
    tape.leaf(v.ORDER_HEAD, cursor.pos, cursor.pos, 1 if little else 0)
    header = cursor.skip(head.header, "the message header")
    tape.leaf(v.HEAD_BYTES_HEAD, header, cursor.pos, header)
    outer = cursor.end
    cut = head.body > cursor.left()
    if not cut:
        cursor.end = cursor.pos + head.body
    body = tape.open(v.BODY_HEAD, cursor.pos, 0)
    _read_specified_body(cursor, tape, head)
    tape.close(body, cursor.pos)
    if cut:
        raise DecodeError(
            "truncated",
            int(cursor.buffer.absolute(start + 12)),
            f"the frame has {head.total} bytes, {outer - start} are present",
            int(start + head.total),
        )
    cursor.end = outer
    tape.close(root, cursor.pos)
    if not head.known:
        text = f"{head.cmd} is not a command of the text"
        tape.note("unknown-command", start + 2, text, cursor.buffer)


def _read_specified_body(cursor: Cursor, tape: Tape, head: SpecifiedHead) -> None:
    """Read the body up to the cursor's end."""
    cmd = head.cmd
    if cmd == v.SYN or cmd == v.ACK:
        _read_keys(cursor, tape, cmd == v.ACK)
        return
    if not head.known:
        read_rest(cursor, tape, v.DATA_HEAD)
        return
    size: i64 = 2 * v.WORD if cmd == v.ERR else v.WORD
    if cursor.left() < size:
        text = f"{v.COMMANDS[int(cmd)]} needs {size} bytes, {cursor.left()} are present"
        fault = Fault("truncated", cursor.buffer.absolute(cursor.pos), text)
        read_rest(cursor, tape, v.DATA_HEAD)
        tape.fault(v.FAULT_HEAD, cursor.end, fault)
        return
    first: i64 = v.BUSINESS_CMD_HEAD
    if cmd == v.PIN or cmd == v.PON:
        first = v.PING_HEAD
    elif cmd == v.FIN:
        first = v.REASON_HEAD
    read_u32(cursor, tape, first, head.little)
    if cmd == v.ERR:
        read_u32(cursor, tape, v.ERROR_NUMBER_HEAD, head.little)
    if v.REQ <= cmd <= v.PSH:
        at = cursor.pos
        cursor.pos = min(at + v.CODE_SIZE, cursor.end)
        tape.leaf(v.HMAC_HEAD, at, cursor.pos, at)
        read_rest(cursor, tape, v.DATA_HEAD)
    elif cursor.pos < cursor.end:
        _read_extra(cursor, tape, v.COMMANDS[int(cmd)])


def _read_keys(cursor: Cursor, tape: Tape, sealed: bool) -> None:
    """Read a random, a public key and, in ACK, the sealed part.

    SYN's random is what precedes a key of 32 bytes; ACK's is the shortest of 4, 8, 12 and 16 bytes that
    leaves whole AES blocks, or else 4.
    """
    start = cursor.pos
    size = cursor.left()
    random: i64 = v.WORD
    if sealed:
        for width in (4, 8, 12, 16):
            if size >= width + v.KEY_SIZE + v.BLOCK and (size - width - v.KEY_SIZE) % v.BLOCK == 0:
                random = width
                break
    elif size > v.WORD + v.KEY_SIZE:
        random = size - v.KEY_SIZE
    random = min(random, size)
    key = min(v.KEY_SIZE, size - random)
    tape.leaf(v.RANDOM_HEAD, start, start + random, start)
    tape.leaf(v.PUBLIC_KEY_HEAD, start + random, start + random + key, start + random)
    cursor.pos = start + random + key
    if sealed:
        read_rest(cursor, tape, v.SEALED_HEAD)


def _read_extra(cursor: Cursor, tape: Tape, command: str) -> None:
    """Read the bytes after the body of a command."""
    text = f"{count(cursor.left(), 'byte')} after the body of {command}"
    tape.note("extra-bytes", cursor.pos, text, cursor.buffer)
    read_rest(cursor, tape, v.EXTRA_HEAD)


def decode_deployed(cursor: Cursor, tape: Tape, final: bool) -> None:
    """See Codec.decode: a 12-byte little-endian head and a body by command."""
    start = cursor.pos
    data = cursor.data
    if data[start] != v.MAGIC:
        _note_cut(cursor, tape, start)
        raise cursor.error("no-message", start, "no frame starts here: expected the magic 0x7f")
    if cursor.left() < v.DEPLOYED_SIZE:
        raise cursor.short(v.DEPLOYED_SIZE, "the head of a frame")
    length = u32_at(data, start + 8, True)
    if length > v.MAX_FRAME:
        raise cursor.error("limit", start + 8, f"the frame claims {length} bytes, {v.MAX_FRAME} at most")
    if v.DEPLOYED_SIZE + length > cursor.left() and not final:
        raise cursor.short(v.DEPLOYED_SIZE + length, "a frame")
    root = tape.open(v.ROOT_HEAD, start, 0)
    read_u8(cursor, tape, v.MAGIC_HEAD, "the magic")
    version = read_u8(cursor, tape, v.VERSION_HEAD, "the version")
    cmd = read_u16(cursor, tape, v.DEPLOYED_CMD_HEAD, True)
    read_u32(cursor, tape, v.SEQ_HEAD, True)
    read_u32(cursor, tape, v.LENGTH_HEAD, True)
    cursor.need(length, "the body")
    outer = cursor.end
    cursor.end = cursor.pos + length
    body = tape.open(v.BODY_HEAD, cursor.pos, 0)
    _read_deployed_body(cursor, tape, int(cmd))
    cursor.pos = cursor.end
    cursor.end = outer
    tape.close(body, cursor.pos)
    tape.close(root, cursor.pos)
    if version != v.GO_VERSION and version != v.C_VERSION:
        text = f"version {version}; writers send 101 (Go) or 1 (C)"
        tape.note("other-version", start + 1, text, cursor.buffer)
    if int(cmd) not in v.DEPLOYED_COMMANDS:
        tape.note("unknown-command", start + 2, f"0x{cmd:04x} is not a known command", cursor.buffer)


def _note_cut(cursor: Cursor, tape: Tape, start: i64) -> None:
    """Note that the frame before continues here, if a head is where its whole length would lead."""
    at = start + CUT
    if at + v.DEPLOYED_SIZE <= cursor.end and head_at(cursor.data, at):
        text = "the next head is 65536 bytes further on: the frame before is that much longer than it states"
        tape.note("length-cut", start, text, cursor.buffer)


def _read_deployed_body(cursor: Cursor, tape: Tape, cmd: int) -> None:
    """Read the body up to the cursor's end."""
    members = v.PROTOBUF_MEMBERS.get(cmd)
    if members is not None:
        start = cursor.pos
        try:
            read_message(cursor, tape, members)
        except DecodeError as error:
            tape.leaf(v.DATA_HEAD, start, cursor.end, start)
            text = f"the body is not protobuf: {error.text}"
            tape.fault(v.FAULT_HEAD, cursor.end, Fault("bad-protobuf", error.offset, text))
        return
    if cmd == v.NODE_MSG or cmd == v.KNOT_MSG:
        read_rest(cursor, tape, v.PAYLOAD_HEAD)
        return
    layout = v.LAYOUTS.get(cmd)
    if layout is None:
        read_rest(cursor, tape, v.DATA_HEAD)
        return
    if cmd == v.OLD_SYN and cursor.left() == 0:
        text = f"SYN has {layout.size} bytes; the packer of the Go server writes none"
        tape.note("short-body", cursor.pos, text, cursor.buffer)
        return
    if cursor.left() < layout.size:
        text = f"{v.DEPLOYED_COMMANDS[cmd]} has {layout.size} bytes, {cursor.left()} are present"
        fault = Fault("truncated", cursor.buffer.absolute(cursor.pos), text)
        read_rest(cursor, tape, v.DATA_HEAD)
        tape.fault(v.FAULT_HEAD, cursor.end, fault)
        return
    for part in layout.parts:
        if part.width == 2:
            read_u16(cursor, tape, part.head, True)
        elif part.signed:
            read_int32(cursor, tape, part.head, True)
        else:
            read_u32(cursor, tape, part.head, True)
    if cursor.pos < cursor.end:
        _read_extra(cursor, tape, v.DEPLOYED_COMMANDS[cmd])
