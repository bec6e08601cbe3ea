"""Which connections of two ends are the same, and which of their messages.

The unit is the message, by its position in the stream: the two ends see other packets. Equal messages vote
for a difference of positions between two streams; a message matches only at the difference with most votes,
so equal bytes elsewhere never match. Where only addresses and ports were translated, both ends have the same
TCP sequence numbers, and one message is enough; where something rewrote those, more has to agree.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from wirelens.codecs.clocks import STEP, Bounds, Clocks, Span
from wirelens.codecs.ends.table import CUT, ONCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wirelens.codecs.ends.columns import Numbers
    from wirelens.codecs.ends.table import Connection, Table

VOTERS: Final = 1 << 16  # messages of a stream that vote; of longer ones a sample does
LEAST_VOTERS: Final = 16  # likewise, where there are many
ALL_VOTERS: Final = 1 << 17  # those of all streams of an end, some 200 bytes each
PLACES: Final = 64  # a message that is found in more places does not vote
MODULUS: Final = 1 << 32
NO_LEAST: Final = 1 << 60

# What connections with other sequence numbers need to be joined.
LEAST_CALLS: Final = 6
LEAST_COVERED: Final = 0.5  # of the messages between the first and the last one in common
MOST_CONTRADICTIONS: Final = 0.02  # of those in common: messages of both ends that differ at the same place
LEAST_NESTED: Final = 0.97  # of the calls, which take no longer at the server than at the client
LEAST_BOUNDS: Final = 12
LEAST_WIDTH: Final = 0.85  # of the time that the fastest call took on its way: the room that the bounds leave
LEAST_WIDTH_OF_MANY: Final = 0.5  # the same of MANY_BOUNDS or more
MANY_BOUNDS: Final = 40
LEAST_WIDTH_OF_KNOWN: Final = 0.9  # if the bounds leave less room than that: the share of what others leave
MOST_SHORT: Final = 0.25  # of the bounds, before the first or after the last step if those are fewer
MOST_OUTSIDE: Final = 0.02  # of the bounds on the clocks,
LEAST_FOR_FEW: Final = 30  # or fewer than a step takes, of this many bounds or more
LONGER: Final = 1 << 16  # calls that took longer at the server, which are looked at one by one

NO_MESSAGE: Final = "no message in common"
FEW_CALLS: Final = "too few calls in common"
OTHER_BYTES: Final = "other bytes at the same places"
NO_FIT: Final = "does not fit the clocks"
AMBIGUOUS: Final = "ambiguous"

NO_STREAMS: Final = (range(0), range(0))

Pair = tuple[int, int]  # the indexes of the same message, or connection, at the client and the server
Taken = tuple[set[int], set[int]]  # the numbers of connections of each end that are joined or ambiguous
Source = tuple[int, int]  # the clocks of a client's and a server's message, as the numbers of their series


class Rank(NamedTuple):
    """What is known for two connections being the same; the greater the better."""

    same_numbers: bool
    one_clock: bool
    covered: float
    nested: float
    fitting: float
    calls: int
    messages: int


class Candidate:
    """Two connections that may be the same.

    `is_alone`: whether there is no other for one of them. `differences`: of the positions of their common
    `messages`, by side. `calls`: those whose request and reply are among them, `nested` of which took no
    longer at the server. `number_of_bounds` on the clocks, `outside` of which contradict the others.
    `contradictions`: messages that differ although they are at the same place. `one_clock`: whether one clock
    fits throughout. `narrow`: whether the bounds leave less room than the fastest call took on its way.
    """

    def __init__(self, client: Connection, server: Connection) -> None:
        self.client: Final = client
        self.server: Final = server
        self.same_numbers = False
        self.is_alone = False
        self.differences: dict[int, int] = {}
        self.messages = 0
        self.covered = 0.0
        self.contradictions = 0
        self.calls = 0
        self.nested = 0
        self.least_us = NO_LEAST
        self.number_of_bounds = 0
        self.outside = 0
        self.fits = False
        self.narrow = False
        self.one_clock = True

    @property
    def rank(self) -> Rank:
        """What is known for it."""
        return Rank(
            self.same_numbers,
            self.one_clock,
            round(self.covered, 3),
            round(self.nested / self.calls, 3) if self.calls else 0.0,
            round(1 - self.outside / self.number_of_bounds, 3) if self.number_of_bounds else 0.0,
            self.calls,
            self.messages,
        )

    @property
    def refused(self) -> str:
        """Why it is not accepted, "" if it is."""
        if self.same_numbers:
            return ""
        if self.calls < LEAST_CALLS or self.covered < LEAST_COVERED:
            return FEW_CALLS
        if self.contradictions > MOST_CONTRADICTIONS * self.messages:
            return OTHER_BYTES
        if self.nested < LEAST_NESTED * self.calls or self.number_of_bounds < LEAST_BOUNDS:
            return NO_FIT
        # those after a step at the end are too few to be a span
        few = STEP - 1 if self.number_of_bounds >= LEAST_FOR_FEW else 0
        return "" if self.outside <= max(few, MOST_OUTSIDE * self.number_of_bounds) else NO_FIT


class Match:
    """Two ends, joined.

    Sets the `partners` of their tables. `series`: for each end the numbers of the series of its clocks
    (`series_of`). `connections`: the pairs of connections. `messages`: how many are joined. `clocks`: by the
    numbers of the series of both. `unjoined`: for each end, how many connections have no partner, by reason.
    """

    def __init__(self, client: Table, server: Table, series: tuple[list[int], list[int]]) -> None:
        self.client: Final = client
        self.server: Final = server
        self.series: Final = series
        self.connections: list[Candidate] = []
        self.clocks: dict[Source, Clocks] = {}
        self.bounds: dict[Source, Bounds] = {}
        self.least_us: dict[Source, int] = {}
        self.joined: dict[Source, int] = {}  # the number of connections
        self.unjoined: tuple[dict[str, int], dict[str, int]] = ({}, {})
        self._spill: Final = client.spill
        self._join()
        self.messages: Final = sum([one.messages for one in self.connections])

    def source(self, pair: Pair) -> Source:
        """The clocks of a message."""
        mine, other = pair
        return self.series[0][self.client.sources[mine]], self.series[1][self.server.sources[other]]

    def _join(self) -> None:
        candidates = left = self._candidates()
        reasons: tuple[dict[int, str], dict[int, str]] = ({}, {})
        taken: Taken = (set(), set())
        left.sort(key=lambda one: one.rank, reverse=True)
        while True:  # as the clocks of what was joined decide about more
            number = len(self.connections)
            left = self._accept_best(left, reasons, taken)
            if len(self.connections) == number:
                break
        joined = (
            {one.client.number for one in self.connections},
            {one.server.number for one in self.connections},
        )
        for end, table in enumerate((self.client, self.server)):
            for connection in table.connections:
                if connection.number not in joined[end]:
                    reason = reasons[end].get(connection.number, NO_MESSAGE)
                    self.unjoined[end][reason] = self.unjoined[end].get(reason, 0) + 1
        if len(self.connections) < len(candidates):
            self._part()
        self._settle_clocks()

    def _part(self) -> None:
        """Forget the partners of messages whose connections were not joined."""
        for end, table in enumerate((self.client, self.server)):
            joined: dict[int, tuple[range, range]] = {}
            for one in self.connections:
                both = (one.client, one.server)
                joined[both[end].number] = both[1 - end].streams
            for connection in table.connections:
                streams = joined.get(connection.number, NO_STREAMS)
                for stream, others in zip(connection.streams, streams, strict=True):
                    for index in stream:
                        partner = table.partners[index]
                        if partner >= 0 and partner not in others:
                            table.partners[index] = -1

    def _accept_best(
        self, candidates: list[Candidate], reasons: tuple[dict[int, str], dict[int, str]], taken: Taken
    ) -> list[Candidate]:
        """Join connections, the best candidates first; those that are left because of the clocks."""
        left: list[Candidate] = []
        at = 0
        while at < len(candidates):
            rank = candidates[at].rank
            end = at
            while end < len(candidates) and candidates[end].rank == rank:
                end += 1
            group = [one for one in candidates[at:end] if not self._is_taken(one, taken)]
            at = end
            accepted: list[Candidate] = []
            for one in group:
                refused = one.refused or self._contradiction(one)
                if refused:
                    reasons[0].setdefault(one.client.number, refused)
                    reasons[1].setdefault(one.server.number, refused)
                    if not one.refused:
                        left.append(one)
                else:
                    accepted.append(one)
            times_client = Counter([one.client.number for one in accepted])
            times_server = Counter([one.server.number for one in accepted])
            for one in accepted:
                client, server = one.client.number, one.server.number
                if times_client[client] > 1 or times_server[server] > 1:
                    reasons[0][client] = reasons[1][server] = AMBIGUOUS
                else:
                    self._accept(one)
                taken[0].add(client)
                taken[1].add(server)
        return left

    def _is_taken(self, one: Candidate, taken: Taken) -> bool:
        return one.client.number in taken[0] or one.server.number in taken[1]

    def _contradiction(self, one: Candidate) -> str:
        """Why a candidate with other sequence numbers does not fit those joined before it, or ""."""
        if one.same_numbers:
            return ""
        agrees = False
        for source, bounds in self._bounds(one).items():
            known = self.bounds.get(source)
            if known is None or len(known) < LEAST_BOUNDS:
                continue
            clocks = self.clocks.get(source)
            if clocks is None or 2 * clocks.count <= len(known):
                clocks = self.clocks[source] = Clocks(known, 0)
            contradicted, compared = clocks.contradicted(bounds)
            if contradicted > MOST_OUTSIDE * compared:
                return NO_FIT
            agrees = agrees or (
                compared >= LEAST_BOUNDS and (not one.narrow or _is_as_wide(Clocks(bounds, 0), clocks))
            )
        return "" if agrees or (one.fits and not one.narrow) else NO_FIT

    def _accept(self, one: Candidate) -> None:
        self.connections.append(one)
        if not one.is_alone:  # others that were compared later may have changed them
            for _, pair in self._pairs(one):
                self._put(pair)
        for source, bounds in self._bounds(one).items():
            self.bounds.setdefault(source, Bounds(self._spill)).extend(bounds)
            self.least_us[source] = min(self.least_us.get(source, NO_LEAST), one.least_us)
            self.joined[source] = self.joined.get(source, 0) + 1

    def _settle_clocks(self) -> None:
        for one in self.connections:
            self._add_acknowledgements(one)
        for source, bounds in self.bounds.items():
            least = self.least_us[source]
            self.clocks[source] = Clocks(bounds, least if least < NO_LEAST else 0)
        self.bounds = {}

    def _add_acknowledgements(self, one: Candidate) -> None:
        """Add bounds from segments without bytes, each of which acknowledges a message.

        They matter where no other message passed for some time, or few did at all. A message with its
        acknowledgement was twice on the way, as a call is.
        """
        client, server = self.client, self.server
        for side, pair in self._pairs(one):
            mine, other = pair
            here, there = client.delays[mine], server.delays[other]
            if not here or not there or client.names[mine] != server.names[other]:
                continue
            source = self.source(pair)
            time_us, other_us = client.firsts[mine], server.firsts[other]
            order = client.orders[mine] + client.places[mine]
            apart = other_us + there - time_us - here
            self.bounds.setdefault(source, Bounds(self._spill)).add(order, time_us + here, apart, side == 1)
            if client.flags[mine] & server.flags[other] & ONCE:
                way_us = there - here if side else here - there
                self.least_us[source] = min(self.least_us.get(source, NO_LEAST), max(way_us, 0))

    # --- candidates ----------------------------------------------------------------------------------

    def _candidates(self) -> list[Candidate]:
        """All pairs of connections with a message in common."""
        best: dict[tuple[int, int], dict[int, tuple[int, int]]] = {}
        for (client, server, side, difference), weight in self._votes().items():
            sides = best.setdefault((client, server), {})
            if side not in sides or sides[side] < (weight, -difference):
                sides[side] = (weight, -difference)
        found: list[Candidate] = []
        differences = {
            pair: {side: -difference for side, (_, difference) in sides.items()}
            for pair, sides in best.items()
        }
        numbered = [pair for pair in differences if self._has_same_numbers(pair, differences[pair])]
        clients = Counter([client for client, _ in numbered])
        servers = Counter([server for _, server in numbered])
        for pair, by_side in differences.items():
            client, server = pair
            one = Candidate(self.client.connections[client], self.server.connections[server])
            one.same_numbers = self._has_same_numbers(pair, by_side)
            if not one.same_numbers and (client in clients or server in servers):
                continue  # a better one has one of these connections
            if one.same_numbers:
                by_side = {**self._distances(pair), **by_side}
            self._compare(one, by_side)
            if one.messages:
                one.is_alone = one.same_numbers and clients[client] == servers[server] == 1
                self._weigh(one)
                found.append(one)
        return found

    def _has_same_numbers(self, pair: Pair, differences: dict[int, int]) -> bool:
        """Whether the sequence numbers of both ends are the same, at these differences of positions."""
        distances = self._distances(pair)
        sides = [side for side in differences if side in distances]
        apart = [(differences[side] - distances[side]) % MODULUS for side in sides]
        return bool(apart) and not any(apart)

    def _distances(self, pair: Pair) -> dict[int, int]:
        """By side the difference of positions where both ends have the same sequence numbers."""
        client, server = self.client.connections[pair[0]], self.server.connections[pair[1]]
        found: dict[int, int] = {}
        for side in (0, 1):
            mine, other = client.sequences[side], server.sequences[side]
            if mine >= 0 and other >= 0:
                distance = (mine - other) % MODULUS
                found[side] = distance - MODULUS if distance >= MODULUS // 2 else distance
        return found

    def _votes(self) -> dict[tuple[int, int, int, int], int]:
        """The votes, in bytes, for (connection of the client, of the server, side, difference)."""
        votes: dict[tuple[int, int, int, int], int] = {}
        mine, others = self.client, self.server
        voters, other_voters = _voters(mine), _voters(others)
        # with their sequence numbers even bytes that are sent all the time are found in one place
        _count(votes, mine, _numbered(mine, voters), others, _numbered(others, other_voters))
        _count(votes, mine, _keyed(mine.keys, voters), others, _keyed(others.keys, other_voters))
        for one_cut in (True, False):  # a cut message is compared by its first bytes
            first = [index for index in voters if bool(mine.flags[index] & CUT) == one_cut]
            second: Iterable[int] = other_voters
            if not one_cut:
                second = [index for index in other_voters if others.flags[index] & CUT]
            if first and second:
                _count(votes, mine, _keyed(mine.heads, first), others, _keyed(others.heads, second))
        return votes

    def _compare(self, one: Candidate, differences: dict[int, int]) -> None:
        """Find the common messages of two connections, which become partners."""
        client, server = self.client, self.server
        one.differences = differences
        covered = 1.0
        for side, difference in sorted(differences.items()):
            mine, others = one.client.streams[side], one.server.streams[side]
            first: Pair | None = None
            last = (0, 0)
            count = 0
            for last in self._common(mine, others, difference):
                first = first or last
                self._put(last)
                count += 1
            if first is None:
                continue
            one.messages += count
            # how many there are from the first to the last, at the end that has more
            covered = min(covered, count / (1 + max(last[0] - first[0], last[1] - first[1])))
            if not one.same_numbers:
                here = (client, range(first[0], last[0]), others)
                there = (server, range(first[1], last[1]), mine)
                one.contradictions += max(
                    _contradictions(here, there, difference), _contradictions(there, here, -difference)
                )
        one.covered = covered if len(differences) == 2 else 0.0

    def _put(self, pair: Pair) -> None:
        """Make messages partners."""
        mine, other = pair
        self.client.partners[mine] = other
        self.server.partners[other] = mine

    def _pairs(self, one: Candidate) -> Iterator[tuple[int, Pair]]:
        """The common messages of a candidate, by side."""
        for side, difference in sorted(one.differences.items()):
            for pair in self._common(one.client.streams[side], one.server.streams[side], difference):
                yield side, pair

    def _common(self, mine: range, others: range, difference: int) -> Iterator[Pair]:
        """The common messages of two streams."""
        starts, other_starts = self.client.starts, self.server.starts
        at, end = others.start, others.stop
        if at == end:
            return
        other_start = other_starts[at]
        for index in mine:
            start = starts[index] + difference
            while other_start < start:
                at += 1
                if at == end:
                    return
                other_start = other_starts[at]
            if other_start == start and self._are_equal(index, at):
                yield index, at

    def _bounds(self, one: Candidate) -> dict[Source, Bounds]:
        """The bounds on the clocks, by those."""
        found: dict[Source, Bounds] = {}
        client, server = self.client, self.server
        for side, pair in self._pairs(one):
            mine, other = pair
            if client.flags[mine] & server.flags[other] & ONCE:
                here, there = client.firsts[mine], server.firsts[other]
                if here >= 0 and there >= 0:
                    source = self.source(pair)
                    bounds = found.get(source)
                    if bounds is None:
                        bounds = found[source] = Bounds(self._spill)
                    bounds.add(client.orders[mine], here, there - here, not side)
        return found

    def _are_equal(self, mine: int, other: int) -> bool:
        client, server = self.client, self.server
        if (client.flags[mine] | server.flags[other]) & CUT:
            return client.heads[mine] == server.heads[other] != 0
        return client.keys[mine] == server.keys[other] and client.lengths[mine] == server.lengths[other]

    def _weigh(self, one: Candidate) -> None:
        """Count calls, those that are nested, and bounds on the clocks if that decides anything."""
        client, server = self.client, self.server
        streams = one.server.streams
        longer: list[tuple[int, int, Source]] = []  # calls that took longer at the server
        for _, (mine, other) in self._pairs(one):
            pair = client.pairs[mine]
            if pair <= 0 or client.reply_of(pair) != mine:
                continue
            request = client.request_of(pair)
            asked = client.partners[request] if request >= 0 else -1
            if asked not in streams[0] and asked not in streams[1]:
                continue
            one.calls += 1
            took = client.readables[mine] - client.firsts[request]
            worked = server.firsts[other] - server.readables[asked]
            times = (client.readables[mine], client.firsts[request])
            known = min(*times, server.firsts[other], server.readables[asked]) >= 0
            if known and took < worked:
                one.nested -= 1
                if len(longer) < LONGER:
                    longer.append((request, mine, self.source((mine, other))))
            once = client.flags[mine] & client.flags[request] & server.flags[other] & server.flags[asked]
            if once & ONCE and 0 <= took - worked < one.least_us:
                one.least_us = took - worked
        one.nested += one.calls
        one.fits = True
        if one.is_alone:
            return
        for source, bounds in self._bounds(one).items():
            one.number_of_bounds += len(bounds)
            clocks = Clocks(bounds, 0)
            one.outside += clocks.outside
            if len(clocks.spans) > 1:
                one.one_clock = False
                one.fits = one.fits and _are_long(clocks)
            share = LEAST_WIDTH if len(bounds) < MANY_BOUNDS else LEAST_WIDTH_OF_MANY
            if one.least_us < NO_LEAST and _middle(clocks)[1] < share * one.least_us:
                one.narrow = True
            for request, reply, where in longer:  # which proves nothing if a clock was set in between
                if where == source and clocks.span(client.orders[request], client.orders[reply]) is None:
                    one.nested += 1


# A table, some messages of a stream of it, and the messages of the other end's stream.
Stream = tuple["Table", range, range]


def _contradictions(one: Stream, other: Stream, difference: int) -> int:
    """The number of whole messages, from the first to the last in common, where the other end has others."""
    table, stream, others = one
    other_table, _, mine = other
    count = 0
    at = others.start
    for index in stream:
        if table.partners[index] in others or table.flags[index] & CUT:
            continue
        start = table.starts[index] + difference
        while at + 1 < others.stop and other_table.starts[at + 1] <= start:
            at += 1
        there = at
        while there < others.stop and other_table.starts[there] < start + table.lengths[index]:
            common = other_table.partners[there] in mine
            if not common and not other_table.flags[there] & CUT:
                if other_table.starts[there] + other_table.lengths[there] > start:
                    count += 1
                    break
            there += 1
    return count


def _middle(clocks: Clocks) -> tuple[int, float]:
    """The middle of the longest span, and the room that its bounds leave there."""
    longest = max(clocks.spans, key=lambda span: span.count)
    time_us = sum(longest.times) // 2
    return time_us, _room(longest, time_us)


def _room(span: Span, time_us: int) -> float:
    """The room that the bounds of a span leave at a time; NO_LEAST if that is not known."""
    limits = span.between(time_us)
    return float(NO_LEAST) if limits is None else limits[1] - limits[0]


def _is_as_wide(clocks: Clocks, known: Clocks) -> bool:
    """Whether bounds leave as much room as those of connections that were joined, which is a round trip.

    Those of two connections that only run at the same time leave less.
    """
    time_us, room = _middle(clocks)
    for span in known.spans:
        first_us, last_us = span.times
        if first_us <= time_us <= last_us:
            return room >= LEAST_WIDTH_OF_KNOWN * _room(span, time_us)
    return False


def _are_long(clocks: Clocks) -> bool:
    """Whether the spans between steps are long enough: all but a short first or last one."""
    sizes = [span.count for span in clocks.spans]
    if min(sizes[0], sizes[-1]) <= MOST_SHORT * clocks.count:
        sizes.remove(min(sizes[0], sizes[-1]))
    return min(sizes) >= LEAST_BOUNDS


def _voters(table: Table) -> array[int]:
    """The messages that vote: of long streams those with certain hashes, the same ones at both ends."""
    streams = [stream for connection in table.connections for stream in connection.streams]
    most = VOTERS
    while most > LEAST_VOTERS and sum([min(len(stream), most) for stream in streams]) > ALL_VOTERS:
        most //= 2
    found = array("q")
    for stream in streams:
        mask = 0
        while len(stream) // (mask + 1) > most:
            mask = 2 * mask + 1
        found.extend([index for index in stream if not (table.keys[index] or table.heads[index]) & mask])
    return found


Voter = tuple[int, int]  # the hash that votes, 0 for none, and the message


def _keyed(keys: Numbers, voters: Iterable[int]) -> Iterator[Voter]:
    """Voters by a hash of them."""
    return ((keys[index], index) for index in voters)


def _numbered(table: Table, voters: Iterable[int]) -> Iterator[Voter]:
    """Voters by the hash of their first bytes together with their sequence numbers."""
    for index in voters:
        number, side = table.place_of(index)
        first = table.connections[number].sequences[side]
        head = table.heads[index]
        sequence = (first + table.starts[index]) % MODULUS
        yield head ^ (sequence << 16) if head and first >= 0 else 0, index


def _count(
    votes: dict[tuple[int, int, int, int], int],
    table: Table,
    voters: Iterable[Voter],
    other_table: Table,
    other_voters: Iterable[Voter],
) -> None:
    """Add the votes of equal keys."""
    ordered = sorted([voter for voter in other_voters if voter[0]])
    sorted_keys = array("q", [key for key, _ in ordered])
    indexes = array("q", [index for _, index in ordered])
    del ordered
    for key, index in voters:
        if not key:
            continue
        first = bisect_left(sorted_keys, key)
        if first == len(sorted_keys) or sorted_keys[first] != key:
            continue
        last = bisect_right(sorted_keys, key, first)
        if last - first > PLACES:
            continue
        number, side = table.place_of(index)
        for other in indexes[first:last]:
            other_number, other_side = other_table.place_of(other)
            if other_side == side:
                vote = (number, other_number, side, other_table.starts[other] - table.starts[index])
                votes[vote] = votes.get(vote, 0) + table.lengths[index]
