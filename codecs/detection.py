"""Detection: which protocol the bytes are of, as evidence in bits.

Theory. For each protocol P the evidence is the log-likelihood ratio log2(Pr(bytes | P) / Pr(bytes | B)),
where B is the background, a model of foreign data. Each codec's probe gives a lower bound of it: it
adds, for every part of the input that P constrains (a magic, a length, an opcode, a name, an end), what
that part costs under B less what it costs a writer of P, and subtracts what a writer would hardly do.
Parts that P leaves free (values, payloads) cost the same under both and add nothing.

B is not uniform. Most foreign data consists of zeros, runs, small numbers and text, so B is a mixture of
those kinds, and a part counts what it costs under the kind in which it is cheapest: a zero byte
counts 1 bit or less, a small number 3, a letter among text 4 to 5, any other byte 6 to 8; a change of kind
between neighbours adds 3. What repeats is cheap too: the k-th part of the same kind counts a k-th of the
first, so that a bad reading does not grow by continuing. A length counts only by what is at its end: another
header, a change of kind, the end of the input. That everything parses adds nothing by itself.

Pr(the ratio is 2^T or more | B) is at most 2^-T, so a threshold follows from prior odds and from how many
wrong claims are tolerated. A stream in traffic is of one given protocol of the list once in 2^10, the
list and its variants (dialects, byte orders, transports) are 2^4 hypotheses, and one wrong claim in 2^10
claims is tolerated: `THRESHOLD` = 10 + 4 + 10 bits. Bytes that are a whole input, and messages of the
protocol up to the last byte, were mostly cut out on purpose: someone pasted a payload. Their odds are
even, within a factor of 2^2 for not knowing which protocol is meant: `WHOLE` = 2 + 10 bits.
A few bytes cannot carry that, and whole foreign inputs are rarer the shorter they are. So no bits are asked
of `FEW` bytes, `SLOPE` bits more for each further byte, up to `WHOLE`, and that much less for each byte less
if they are exactly one message or value: they are named for their prior.

Between two protocols under which the bytes mean different things, the better needs `MARGIN` bits more.
If they mean the same there is nothing to decide: the one is named whose writers have the fewest unusual
forms in the bytes, of several the usual one; the others are `equal`.
Bytes from the middle of a stream are judged from the first place where a codec can prove a message; the
places tried count against it, each doubling of their number one bit. Whether they are a whole input is only
asked of those whose beginning is known to be missing: where it is there, a stream begins with it.
"""

from typing import Final, NamedTuple

from mypy_extensions import i64

from wirelens.codecs import registry
from wirelens.codecs.codec import Codec, Evidence
from wirelens.codecs.codes import CODES
from wirelens.codecs.registry import UNKNOWN

ENOUGH_BYTES: Final = 1 << 17  # of a stream, after which detection does not wait for more
THRESHOLD: Final = 24.0  # bits asked of a stream
WHOLE: Final = 12.0  # bits asked of a whole input that consists of messages up to the last byte
FEW: Final = 8  # bytes from which no evidence is asked if they are whole messages
SLOPE: Final = 0.75  # bits asked more, or less, for each byte more, or less, than that
MARGIN: Final = 7.0  # bits between two readings with different meanings
LOOKED_FOR: Final = 1 << 12  # bytes in which a first message is looked for, in mid-stream
MIDDLE: Final = 4.0  # bits that starting in mid-stream costs, besides the places tried


class Candidate(NamedTuple):
    """A protocol with some evidence.

    `bits` is its evidence, `asked` what it would need to be named, `reasons` what it consists of; `settle`
    states what more input would settle, or is empty.
    """

    protocol: str
    bits: float
    reasons: tuple[str, ...]
    settle: str
    asked: float = THRESHOLD


class Detection(NamedTuple):
    """What detection found.

    `protocol` is "unknown" if no candidate has enough evidence; `reason` then states why. `equal` names the
    protocols under which the bytes mean the same; of these the one with the fewest unusual forms, else the
    usual one, is `protocol`. `candidates` has it first, then most evidence first. `margin` is how many bits
    the best has more than the next of another meaning (all of its own where there is none). `code` is the
    error code of bytes that are not named. `unfinished`: they may be the start of one long value.
    """

    protocol: str
    equal: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    reason: str = ""
    margin: float = 0.0
    code: str = "unknown-protocol"
    unfinished: bool = False


class _Weighed:
    """A codec with its evidence."""

    def __init__(self, codec: Codec, found: Evidence, size: i64, final: bool, stream: bool) -> None:
        self.codec: Final = codec
        self.found: Final = found
        bits = found.bits
        asked = THRESHOLD
        if final:
            bits += found.at_end
        if final and found.whole:
            asked = WHOLE if stream else min(SLOPE * float(size - FEW), WHOLE)
            if not found.one:
                asked = max(asked, 0.0)
        self.bits: Final = bits
        self.asked: Final = asked

    def candidate(self) -> Candidate:
        """The candidate, as a Detection has it."""
        settle = self.found.settle
        if not settle and self.bits < self.asked:
            settle = "more bytes, or the other direction"
        return Candidate(self.codec.name, self.bits, self.found.reasons, settle, self.asked)


def detect(
    data: bytes,
    other: bytes = b"",
    final: bool = True,
    everything: bool = True,
    stream: bool = False,
    joined: bool = False,
) -> Detection:
    """The protocol of a stream that starts with `data`; `other` is the start of the opposite direction.

    `final`: nothing follows `data`; without it, evidence that needs the end does not count. Without
    `everything` the protocols that the named one contains are not candidates: they do not change the result,
    and probing them takes most of the time. `stream`: nobody asked about these bytes, so `WHOLE` bits are
    asked of them however few they are. `joined`: bytes before them are missing, so that this holds from
    their first message on. Work is bounded by the first 128 KiB, and linear in them; beyond them only what
    may be one long value is read.
    """
    if not data:
        return Detection(UNKNOWN, (), (), "there are no bytes")
    weighed: list[_Weighed] = []
    refused = ""
    instead: tuple[str, ...] = ()
    for codec in _probed(data[0], everything):
        if not everything and _contained(codec, weighed):
            continue
        found = codec.probe(data, other)
        if found.refused and final:
            refused = found.refused
            instead = (codec.name, *found.equal)
        elif found.bits > 0 or found.whole:
            one = _Weighed(codec, found, len(data), final, stream)
            if one.bits > 0 or one.bits >= one.asked:
                weighed.append(one)
    if refused:
        weighed = [one for one in weighed if one.codec.name not in instead]
    if refused and not [one for one in weighed if one.bits >= one.asked]:
        return Detection(UNKNOWN, (), _candidates(weighed), CODES[refused].text, 0.0, refused)
    if not [one for one in weighed if one.bits >= one.asked]:
        known = [one.codec.name for one in weighed]
        weighed.extend(_middle(data, other, final, stream and joined, known))
    if not weighed:
        return Detection(UNKNOWN, (), (), "no protocol fits")
    weighed.sort(key=_most_first)
    candidates = _candidates(weighed)
    best = _best(weighed)
    named = [one for one in weighed if one is not best]
    equal = list(best.found.equal)
    if best.bits >= best.asked:
        for name in registry.names():
            if name != best.codec.name and name not in equal and best.codec.same_meaning(name, data):
                equal.append(name)
    margin = best.bits
    rival = ""
    for one in named:
        name = one.codec.name
        if name not in equal and name not in best.codec.carries:
            margin = best.bits - one.bits
            rival = name
            break
    if best.bits < best.asked:
        reason = f"{best.codec.name} has {best.bits:.0f} of the {best.asked:.0f} bits asked"
        unfinished = any(one.found.unfinished for one in weighed)
        if everything:
            candidates = tuple([_settling(one, data, other) for one in weighed])
        return Detection(UNKNOWN, (), candidates, reason, margin, unfinished=unfinished)
    if rival and margin < MARGIN:
        reason = f"the bytes fit {best.codec.name} and {rival} with different meanings"
        return Detection(UNKNOWN, (), candidates, reason, margin)
    known = [candidate.protocol for candidate in candidates]
    name = _plainest(best.codec, [other for other in equal if other in known], data)
    if name != best.codec.name:
        equal = [other for other in (best.codec.name, *equal) if other != name]
        place = known.index(name)
        candidates = (candidates[place], *candidates[:place], *candidates[place + 1 :])
    return Detection(name, tuple(equal), candidates, "", margin)


def _settling(one: _Weighed, data: bytes, other: bytes) -> Candidate:
    """A candidate, whose number of missing bytes is what settles it; if more are needed, it is the least."""
    candidate = one.candidate()
    number, _, unit = candidate.settle.partition(" ")
    if candidate.bits >= candidate.asked or not unit.startswith("more byte") or not number[:1].isdigit():
        return candidate
    missing = int(number.replace(",", ""))
    if 1 < missing <= ENOUGH_BYTES:  # one byte may be the first of a longer value
        # a letter goes on with text and with numbers
        whole = data + b"N" * missing
        found = one.codec.probe(whole, other)
        then = _Weighed(one.codec, found, len(whole), True, False)
        if found.whole and then.bits >= then.asked:
            return candidate
    return candidate._replace(settle=f"at least {candidate.settle}")


def _plainest(codec: Codec, equal: list[str], data: bytes) -> str:
    """Of protocols under which the bytes mean the same, the one with the fewest unusual forms in them."""
    best = codec.name
    if not equal:
        return best
    fewest = codec.unusual_forms(data)
    for name in equal:
        if fewest == 0:
            break
        found = registry.get(name).unusual_forms(data)
        if found < fewest:
            fewest = found
            best = name
    return best


_in_order: Final[dict[int, list[Codec]]] = {}  # by a stream's first byte


def _probed(first: int, everything: bool) -> list[Codec]:
    """The codecs that a first byte leaves; without `everything` those that others contain come last."""
    if everything:
        return registry.starting_with(first)
    ordered = _in_order.get(first)
    if ordered is None:
        codecs = registry.starting_with(first)
        contained = {name for codec in codecs for name in codec.carries}
        ordered = [codec for codec in codecs if codec.name not in contained]
        ordered += [codec for codec in codecs if codec.name in contained]
        _in_order[first] = ordered
    return ordered


def _contained(codec: Codec, weighed: list[_Weighed]) -> bool:
    """Whether the best so far has enough evidence and contains this protocol, which then is not named."""
    best: _Weighed | None = None
    for one in weighed:
        if best is None or one.bits > best.bits:
            best = one
    return best is not None and best.bits >= best.asked and codec.name in best.codec.carries


def _best(weighed: list[_Weighed]) -> _Weighed:
    """The first, or the one that contains it if that has enough evidence of its own."""
    best = weighed[0]
    for one in weighed:
        if best.codec.name in one.codec.carries and one.bits >= one.asked:
            return one
    return best


def _candidates(weighed: list[_Weighed]) -> tuple[Candidate, ...]:
    return tuple([one.candidate() for one in weighed])


def _middle(data: bytes, other: bytes, final: bool, joined: bool, known: list[str]) -> list[_Weighed]:
    """Codecs that can prove a message further on, where a stream was joined in its middle.

    `joined`: it certainly was, so that they are whole messages if they end with the bytes.
    """
    found: list[_Weighed] = []
    end = min(len(data), LOOKED_FOR)
    if end < 2 * FEW:
        return found
    head = data[:end]
    for codec in registry.codecs():
        if codec.name in known or (codec.tunnelled and final):
            continue
        at = codec.resync(head, 1, end)
        if at >= end:
            continue
        there = codec.probe(data[at : at + ENOUGH_BYTES], other)
        # what ends with the bytes may end with a message that contains it
        ends = final and not codec.contained
        bits = there.bits + (there.at_end if ends else 0.0) - MIDDLE
        place: i64 = at
        while place > 0:
            bits -= 1.0
            place >>= 1
        if bits > 0:
            reasons = (f"a first message at offset {at}", *there.reasons)
            whole = ends and joined and there.whole
            evidence = Evidence(bits=bits, reasons=reasons, settle=there.settle, whole=whole)
            found.append(_Weighed(codec, evidence, len(data), whole, True))
    return found


def _most_first(one: _Weighed) -> float:
    return -one.bits
