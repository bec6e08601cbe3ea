"""The first bytes of each flow of a capture, for detection: no decoding, bounded memory."""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs.captures.flow import Flow, Piece

HEAD_BYTES: Final = 1 << 12  # bytes kept of each direction
ALL_HEADS: Final = 1 << 25  # bytes of all flows that are kept; then the oldest flow is given out
FLOW_COST: Final = 512  # what a flow counts besides its bytes


class Head:
    """The first bytes of both directions of a flow; `whole[d]`: whether direction d has no others."""

    __slots__ = ("_ended", "_parts", "_sizes", "flow")

    def __init__(self, flow: Flow) -> None:
        self.flow: Final = flow
        self._parts: tuple[list[bytes], list[bytes]] = ([], [])
        self._sizes: list[int] = [0, 0]
        self._ended: list[bool] = [False, False]

    @property
    def data(self) -> tuple[bytes, bytes]:
        """The start of both directions."""
        return b"".join(self._parts[0]), b"".join(self._parts[1])

    @property
    def whole(self) -> tuple[bool, bool]:
        """Whether each start is all that its direction sent."""
        return self._sizes[0] < HEAD_BYTES, self._sizes[1] < HEAD_BYTES

    @property
    def cost(self) -> int:
        """What it takes of the memory that is allowed, in bytes."""
        return FLOW_COST + self._sizes[0] + self._sizes[1]

    def add(self, piece: Piece) -> bool:
        """Take a piece; whether both directions have ended."""
        direction = piece.direction
        if piece.data and not piece.late and self._sizes[direction] < HEAD_BYTES:
            self._parts[direction].append(piece.data)
            self._sizes[direction] += len(piece.data)
        if piece.end:
            self._ended[direction] = True
        return self._ended[0] and self._ended[1]


class Heads:
    """Pieces of streams in, the head of each flow out: at its end, or earlier when ALL_HEADS is reached."""

    def __init__(self) -> None:
        self._heads: dict[int, Head] = {}  # by the flow's number
        self._given: set[int] = set()  # flows that go on after their head was given out
        self._held: i64 = 0

    def feed(self, pieces: list[Piece]) -> list[Head]:
        """The heads that these pieces complete."""
        complete: list[Head] = []
        for piece in pieces:
            number = piece.flow.number
            if number in self._given:
                continue
            head = self._heads.get(number)
            if head is None:
                head = Head(piece.flow)
                self._heads[number] = head
                self._held += head.cost
            before = head.cost
            ended = head.add(piece)
            self._held += head.cost - before
            if ended:
                complete.append(self._take(number))
            elif self._held > ALL_HEADS:
                oldest = next(iter(self._heads))
                self._given.add(oldest)
                complete.append(self._take(oldest))
        return complete

    def close(self) -> list[Head]:
        """The heads that are left, in order of the flows' appearance."""
        return [self._take(number) for number in sorted(self._heads)]

    def _take(self, number: int) -> Head:
        head = self._heads.pop(number)
        self._held -= head.cost
        return head
