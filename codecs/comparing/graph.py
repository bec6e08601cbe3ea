"""What the values of a message mean, as a graph, with a key for each value by which equal ones are found.

A key is a digest of the value and of all below it. A back reference has the key of what it refers to, so that
renumbered references, and a copy in place of a reference, mean the same. A reference to a value around it
has the number of levels in between as its key: items of a list that refer to the list's owner stay equal when
another item changes. A reference to a closed value that itself refers outwards is *loose*: what it means
depends on more than keys hold, so it is compared by following it.
"""

import re
from bisect import bisect_right
from hashlib import blake2b
from typing import Final, TypeAlias

from wirelens.codecs import tape as t
from wirelens.codecs.codec import Codec
from wirelens.codecs.comparing.paths import Matcher, Pattern, States, Step
from wirelens.codecs.json_text import dumps
from wirelens.codecs.node import Node
from wirelens.codecs.numbers import PLAIN_NAN, PLAIN_SINGLE_NAN

DIGEST: Final = 16  # bytes
SKETCH: Final = 48  # values of a subtree, at most, by which two are compared for likeness
NOWHERE: Final = 1 << 60  # deeper than any level: refers to nothing around it

# Sorts of values: those of one sort can be compared part by part.
SCALAR: Final = 0
KEYED: Final = 1  # members with names: structs, objects, maps, remote objects
ITEMS: Final = 2  # members by position: arrays, lists
REFERENCE: Final = 3

LEFT_OUT: Final = -1  # in place of the number of a value that is ignored
KEY: Final = "$key"  # the step to a map's key

Edge: TypeAlias = tuple[bytes, int]  # the digest of a member's name or key, and its number among equal ones

_TIME_CLASSES: Final = re.compile(
    r"java\.util\.Date|java\.sql\.(?:Date|Time|Timestamp)|joda\.time\..*"
    r"|(?:java\.time\.|.*\.io\.java8\.)"
    r"(?:Instant|Local(?:Date|Time|DateTime)|Offset(?:Time|DateTime)|ZonedDateTime|Year|YearMonth|MonthDay)"
    r"(?:Handle)?"
)
_TIME_TEXT: Final = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?: ?(?:Z|[+-]\d\d:?\d\d))?)?(?:\[[\w/+-]+\])?"
    r"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT"
)
_LONGEST_TIME: Final = 64  # characters of a text that may be a time
# Names of attachments and headers that identify a request or its trace.
_TRACE_NAMES: Final = re.compile(
    r"traceparent|tracestate|b3|sw8(?:-x|-correlation)?|x-b3-.+|x-request-id|uber-trace-id|trace[-_]?id|span[-_]?id"
    r"|(?:rpc_trace_context\.)?sofa(?:trace|rpc|pentrace)\w*|eagleeye-\w+|request[-_]?id",
    re.IGNORECASE,
)


class Ignored:
    """What is not compared: the values at paths, dates and times, ids of messages and traces.

    `derived`: lengths and checksums, which follow from other values.
    """

    def __init__(
        self,
        patterns: tuple[Pattern, ...] = (),
        dates: bool = False,
        ids: bool = False,
        derived: bool = True,
    ) -> None:
        self.patterns: Final = patterns
        self.dates: Final = dates
        self.ids: Final = ids
        self.derived: Final = derived


class Graph:
    """The values of one message: rows with a number each, a value before all that it contains.

    `nodes`: the view of each value; `sorts`, `labels` (what it is besides its members), `keys`, `depths`;
    `ends`: the first number after its members; `parents` and `steps`: where it is in the message; `members`:
    of KEYED and ITEMS values, by edge or in order; `targets`: of a REFERENCE, -1 if it dangles.
    `loose`: whether it contains a loose reference; `reach`: the least level that a reference from inside it
    reaches, so that a value with `reach` not below its own depth means the same everywhere. `left_out`
    counts values that are ignored.
    """

    def __init__(self, root: Node, codec: Codec | None = None, ignored: Ignored | None = None) -> None:
        self.ignored: Final = ignored if ignored is not None else Ignored()
        self.codec: Final = codec
        self.nodes: Final[list[Node]] = []
        self.sorts: Final[list[int]] = []
        self.labels: Final[list[bytes]] = []
        self.keys: Final[list[bytes]] = []
        self.depths: Final[list[int]] = []
        self.ends: Final[list[int]] = []
        self.parents: Final[list[int]] = []
        self.steps: Final[list[Step]] = []
        self.members: Final[list[dict[Edge, int]]] = []
        self.items: Final[list[list[int]]] = []
        self.targets: Final[list[int]] = []
        self.loose: Final[list[bool]] = []
        self.reach: Final[list[int]] = []
        self.left_out = 0
        self.scalars: Final[list[int]] = [0]  # values without members before each number
        self.matcher: Final = Matcher(self.ignored.patterns)
        self._numbers: Final[dict[int, int]] = {}  # of lists, maps and objects, by their index on the tape
        self._open: Final[list[int]] = []
        self._refers = False  # whether it has a reference so far
        self._classes: Final[dict[int, list[str]]] = {}  # names of classes by where they are defined
        self._sketches: Final[dict[int, frozenset[bytes]]] = {}
        self._read(root)

    def closed(self, number: int) -> bool:
        """Whether no reference leads from inside a value to what is around it."""
        return self.reach[number] >= self.depths[number]

    def size(self, number: int) -> int:
        """How many values without members are in a value, itself included."""
        return self.scalars[self.ends[number]] - self.scalars[number]

    def path(self, number: int) -> list[Step]:
        """The steps from the root to a value."""
        steps: list[Step] = []
        while self.parents[number] >= 0:
            steps.append(self.steps[number])
            number = self.parents[number]
        steps.reverse()
        return steps

    def sketch(self, number: int) -> frozenset[bytes]:
        """Keys of values inside a value, with their names, by which likeness is measured."""
        found = self._sketches.get(number)
        if found is None:
            found = frozenset(
                [
                    self.keys[inner] + str(self.steps[inner]).encode("utf-8", "surrogatepass")
                    if isinstance(self.steps[inner], str)
                    else self.keys[inner]
                    for inner in range(number + 1, min(self.ends[number], number + 1 + SKETCH))
                ]
            )
            self._sketches[number] = found
        return found

    def _read(self, root: Node) -> None:
        """Read the tree, with an explicit stack of containers being read."""
        stack: list[_Container] = []
        self._enter(stack, root, -1, "", self.matcher.start)
        while stack:
            container = stack[-1]
            at = container.at
            if at == len(container.children):
                stack.pop()
                self._close(container)
                continue
            container.at += 1
            child = container.children[at]
            states: States | None = container.states
            step: Step = KEY
            if not container.is_map or at & 1:
                step = container.step(at)
                if states:
                    states = self.matcher.follow(states, step, container.length)
                derived = self._derives(container, child)
                if derived or states is None or self._identifies(container, child, step):
                    self.left_out += not derived
                    container.inside.append(LEFT_OUT)
                    continue
            container.inside.append(len(self.nodes))
            self._enter(stack, child, container.number, step, states or ())

    def _enter(self, stack: list["_Container"], node: Node, parent: int, step: Step, states: States) -> None:
        """Add a value; one with members is closed later."""
        kind = node.kind
        plain = kind not in _CONTAINERS
        number = len(self.nodes)
        self.nodes.append(node)
        self.scalars.append(self.scalars[-1] + (plain and step != KEY))
        self.parents.append(parent)
        self.steps.append(step)
        depth = self.depths[parent] + 1 if parent >= 0 else 0
        self.depths.append(depth)
        self.ends.append(number + 1)
        self.targets.append(-1)
        self.loose.append(False)
        self.reach.append(NOWHERE)
        self.members.append(_NO_MEMBERS)
        self.items.append(_NO_ITEMS)
        if plain:
            if kind == t.REF:
                self.sorts.append(REFERENCE)
                self.labels.append(b"")
                self.keys.append(b"")
                self._refer(node, number, depth)
                return
            label = self._label(node, kind)
            self.sorts.append(SCALAR)
            self.labels.append(label)
            self.keys.append(_key(label))
            return
        if kind == t.LIST or kind == t.MAP or kind == t.OBJECT:
            self._numbers[node.index] = number
        names = self._class_names(node) if kind == t.OBJECT else _NO_NAMES
        if self.ignored.dates and names and _TIME_CLASSES.fullmatch(names[0]):
            self.left_out += 1
            self.sorts.append(SCALAR)
            self.labels.append(b"t")
            self.keys.append(_key(b"t"))
            return
        self.sorts.append(ITEMS if kind == t.ARRAY or kind == t.LIST else KEYED)
        self.labels.append(_container_label(node, kind, names))
        self.keys.append(b"")
        stack.append(_Container(number, node, names, states))
        self._open.append(number)

    def _class_names(self, node: Node) -> list[str]:
        """An object's class and the names of its fields."""
        index = node.number & t.LOW_HALF
        names = self._classes.get(index)
        if names is None:
            names = self._classes[index] = node.names_of_class(index)
        return names

    def _refer(self, node: Node, number: int, depth: int) -> None:
        """The key of a reference."""
        self._refers = True
        target = self._numbers.get(node.target, -1)
        if target < 0:
            self.keys[number] = _key(b"?%d" % node.reference)
            return
        self.targets[number] = target
        around = self._open[bisect_right(self._open, target) - 1]
        if around == target:
            self.reach[number] = self.depths[target]
            self.keys[number] = _key(b"^%d" % (depth - self.depths[target]))
        elif self.closed(target):
            self.keys[number] = self.keys[target]
            self.loose[number] = self.loose[target]
        else:
            self.reach[number] = min(self.reach[target], self.depths[around])
            self.keys[number] = _key(b"~" + self.keys[target])
            self.loose[number] = True

    def _close(self, container: "_Container") -> None:
        """Complete a value that has members."""
        number = container.number
        self._open.pop()
        self.ends[number] = len(self.nodes)
        inside = [inner for inner in container.inside if inner != LEFT_OUT]
        label = self.labels[number]
        keys = self.keys
        if self._refers:
            for inner in inside:
                self.loose[number] = self.loose[number] or self.loose[inner]
                self.reach[number] = min(self.reach[number], self.reach[inner])
        if self.sorts[number] == ITEMS:
            self.items[number] = inside
            keys[number] = _key(label + b"\0" + b"".join([keys[inner] for inner in inside]))
            return
        members: dict[Edge, int] = {}
        parts: list[bytes] = []
        for place, inner in enumerate(container.inside):
            if inner == LEFT_OUT or (container.is_map and not place & 1):
                continue
            name = (
                keys[container.inside[place - 1]]
                if container.is_map
                else _key(str(self.steps[inner]).encode("utf-8", "surrogatepass"))
            )
            edge = (name, 0)
            while edge in members:
                edge = (name, edge[1] + 1)
            members[edge] = inner
            parts.append(name + keys[inner])
        self.members[number] = members
        parts.sort()
        keys[number] = _key(label + b"\0" + b"".join(parts))

    def _derives(self, container: "_Container", child: Node) -> bool:
        """Whether a value follows from others."""
        if not self.ignored.derived or (container.kind != t.STRUCT and container.kind != t.ARRAY):
            return False
        return self.codec is not None and self.codec.derives(child)

    def _identifies(self, container: "_Container", child: Node, step: Step) -> bool:
        """Whether a value is an id that is ignored."""
        if not self.ignored.ids:
            return False
        if container.kind == t.STRUCT:
            return self.codec is not None and self.codec.identifies(child)
        if container.is_map:
            return isinstance(step, str) and _TRACE_NAMES.fullmatch(step) is not None
        if container.kind == t.ARRAY and step == 1 and len(container.children) == 2:  # a header
            return _TRACE_NAMES.fullmatch(container.children[0].shown) is not None
        return False

    def _label(self, node: Node, kind: int) -> bytes:
        """What a value without members is, its type included."""
        if kind in (t.STRING, t.STRING16, t.TEXT) or kind in t.ENCODINGS:
            text = node.text
            if text is None:
                return b"r" + node.content
            if self.ignored.dates and len(text) <= _LONGEST_TIME and _TIME_TEXT.fullmatch(text):
                self.left_out += 1
                return b"t"
            return b"s" + text.encode("utf-8", "surrogatepass")
        if kind in (t.INT, t.INT32, t.INTEGER):
            return b"i%d" % node.number
        if kind in (t.NULL, t.ABSENT):
            return b"n"
        if kind == t.DATE:
            if self.ignored.dates:
                self.left_out += 1
                return b"t"
            return b"t%d" % node.number
        if kind == t.DOUBLE:
            bits = node.number
            nan = bits & 0x7FFFFFFFFFFFFFFF > 0x7FF0000000000000
            return b"d%d" % (PLAIN_NAN if nan else bits)
        if kind == t.FLOAT32:
            bits = node.number & 0xFFFFFFFF
            return b"f%d" % (PLAIN_SINGLE_NAN if bits & 0x7FFFFFFF > 0x7F800000 else bits)
        value = node.value
        if isinstance(value, bytes):
            return (b"h" if kind == t.HEX else b"x" if kind == t.XML else b"y") + value
        if kind == t.FAULT:
            fault = node.tape.faults[node.number]
            return f"!{fault.code} {fault.text}".encode("utf-8", "surrogatepass")
        if kind == t.COMPUTED:
            render = node.field.render
            return b"j" + ("" if render is None else dumps(render(node))).encode()
        if kind == t.NAMED and isinstance(value, str):
            return b"s" + value.encode()
        if isinstance(value, bool):
            return b"b1" if value else b"b0"
        if isinstance(value, str):
            return b"x" + value.encode("utf-8", "surrogatepass")
        if kind in (t.NAMED, t.UNSIGNED):
            return b"i%d" % (node.number & 0xFFFFFFFFFFFFFFFF if kind == t.UNSIGNED else node.number)
        return f"{node.kind_name} {value}".encode()


class _Container:
    """A value whose members are being read: its children, of which `at` are done."""

    def __init__(self, number: int, node: Node, names: list[str], states: States) -> None:
        self.number: Final = number
        self.kind: Final = node.kind
        self.is_map: Final = self.kind == t.MAP
        self.children: Final = node.children
        self.length: Final = len(self.children)
        self.names: Final = names  # of an object: its class and its fields
        self.states: Final = states
        self.at = 0
        self.inside: Final[list[int]] = []  # the numbers of the children; LEFT_OUT for one that is ignored

    def step(self, at: int) -> Step:
        """How the child at a position is reached; of a map, a value."""
        if self.kind == t.ARRAY or self.kind == t.LIST:
            return at
        if self.kind == t.OBJECT:
            return self.names[at + 1] if at + 1 < len(self.names) else str(at)
        if self.is_map:
            return _key_text(self.children[at - 1])
        return self.children[at].field.name or str(at)


_CONTAINERS: Final = frozenset(t.CONTAINERS)
_LENGTHS: Final = [bytes([length]) for length in range(DIGEST)]
_NO_MEMBERS: Final[dict[Edge, int]] = {}
_NO_ITEMS: Final[list[int]] = []
_NO_NAMES: Final[list[str]] = []


def _key(label: bytes) -> bytes:
    """A digest of a label; short labels stand for themselves."""
    if len(label) < DIGEST:
        return _LENGTHS[len(label)] + label
    return b"\x10" + blake2b(label, digest_size=DIGEST).digest()


def _container_label(node: Node, kind: int, names: list[str]) -> bytes:
    """What a value with members is besides them: its sort and its class or type."""
    if kind == t.STRUCT:
        return b"{"
    if kind == t.OBJECT:
        return b"o" + (names[0] if names else "").encode("utf-8", "surrogatepass")
    name = (node.type_name or "").encode("utf-8", "surrogatepass")
    return (
        b"o" if kind == t.OBJECT else b"(" if kind == t.MAP else b"R" if kind == t.REMOTE else b"["
    ) + name


def _key_text(node: Node) -> str:
    """A map's key as a step of a path."""
    value = node.value
    if isinstance(value, str):
        return value
    return "null" if value is None and node.kind not in t.CONTAINERS else node.shown
