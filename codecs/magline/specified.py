"""The specified 16-byte head: which byte order makes sense of it, and how large its parts are.

- The byte order is the one under which Head Length is 16, or else the one under which CMD is a command.
- A Head Length of 16 or more is the length of the head with what was added to it; below 16 it is the length
  of the message header alone, which lies inside Message Length if it fits there.
"""

from typing import Final

from mypy_extensions import i64, mypyc_attr

from wirelens.codecs.magline import vocabulary as v
from wirelens.codecs.magline.fields import u16_at, u32_at


@mypyc_attr(acyclic=True, free_list_len=1)
class SpecifiedHead:
    """The 16 bytes of a head at a position: command, lengths and byte order. Sizes in bytes."""

    def __init__(self, data: bytes, at: i64) -> None:
        little = u16_at(data, at + 6, True) == v.SPECIFIED_SIZE
        if not little and u16_at(data, at + 6, False) != v.SPECIFIED_SIZE:
            if not 1 <= u16_at(data, at + 2, False) <= v.FIN:
                little = 1 <= u16_at(data, at + 2, True) <= v.FIN
        self.little: Final = little
        self.cmd: Final[i64] = u16_at(data, at + 2, little)
        self.known: Final = 1 <= self.cmd <= v.FIN
        self.head_length: Final[i64] = u16_at(data, at + 6, little)
        message_length = u32_at(data, at + 12, little)
        added: i64 = 0  # bytes of the head after the 16
        inside: i64 = 0  # bytes of a message header within the message
        if self.head_length >= v.SPECIFIED_SIZE:
            added = self.head_length - v.SPECIFIED_SIZE
        elif self.head_length <= message_length:
            inside = self.head_length
        else:
            added = self.head_length
        self.header: Final[i64] = added + inside
        self.body: Final[i64] = message_length - inside
        self.total: Final[i64] = v.SPECIFIED_SIZE + added + message_length

    def usual(self) -> bool:
        """Whether the head has a known command, no additions, and a body size that the command can have."""
        return self.known and self.head_length == v.SPECIFIED_SIZE and self.body_fits()

    def body_fits(self) -> bool:
        """Whether the body has a size that its command can have."""
        cmd = self.cmd
        size = self.body
        if cmd == v.PIN or cmd == v.PON or cmd == v.FIN:
            return size == v.WORD
        if cmd == v.ERR:
            return size == 2 * v.WORD
        if cmd == v.SYN:
            return 2 * v.WORD <= size <= 256
        if cmd == v.ACK:
            return 3 * v.WORD <= size <= 4096
        return size >= v.WORD + v.CODE_SIZE
