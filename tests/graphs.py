"""Hessian values of any shape in the notation, with references between them."""

from typing import Any

from hypothesis import strategies as st

from wirelens import codecs

TEXT = st.text(st.characters(codec="utf-16-be", exclude_categories=[]), max_size=40)
NAMES = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=12)
MILLISECONDS = st.integers(-(1 << 62), 1 << 62)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 31), (1 << 31) - 1),
    st.builds(lambda number: {"$long": number}, st.integers(-(1 << 63), (1 << 63) - 1)),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([{"$double": "NaN"}, {"$double": "Infinity"}, {"$double": "-Infinity"}]),
    TEXT,
    st.builds(lambda content: {"$bytes": content.hex()}, st.binary(max_size=40)),
    st.builds(lambda moment: {"$date": moment}, st.integers(-(1 << 63), -(1 << 50))),
)


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = NAMES
    return st.one_of(
        st.lists(inner, max_size=9),
        st.builds(lambda name, items: {"$type": name, "$list": items}, NAMES, st.lists(inner, max_size=9)),
        st.dictionaries(keys, inner, max_size=5),
        st.builds(
            lambda name, items: {"$type": name, "$map": items},
            NAMES,
            st.dictionaries(keys, inner, max_size=5),
        ),
        st.builds(
            lambda items: {"$map": [[{"$long": 1}, None], *[[key, value] for key, value in items]]},
            st.lists(st.tuples(inner, inner), max_size=4),
        ),
        st.builds(
            lambda name, items: {"$class": name, **items}, NAMES, st.dictionaries(keys, inner, max_size=5)
        ),
        st.just({"$ref": "any"}),
    )


VALUES = st.lists(st.recursive(SCALARS, containers, max_leaves=25), min_size=1, max_size=4)


def opened(
    values: list[Any], references: list[tuple[dict[str, Any], int]] | None = None
) -> list[dict[str, Any]]:
    """The lists, maps and objects in order of opening, plain ones put in their tagged form in place.

    `references` gets every reference, with how many were opened before it.
    """
    found: list[dict[str, Any]] = []
    work: list[tuple[Any, int | str]] = [(values, at) for at in reversed(range(len(values)))]
    while work:
        inside, key = work.pop()
        item = inside[key]
        inner: list[tuple[Any, int | str]] = []
        if isinstance(item, list):
            item = {"$list": item}
        elif isinstance(item, dict) and not any(name.startswith("$") for name in item):
            item = {"$map": item}
        if not isinstance(item, dict):
            continue
        inside[key] = item
        if "$list" in item:
            inner = [(item["$list"], at) for at in range(len(item["$list"]))]
        elif "$map" in item:
            mapped = item["$map"]
            if isinstance(mapped, dict):
                inner = [(mapped, name) for name in mapped]
            else:
                inner = [(pair, at) for pair in mapped for at in (0, 1)]
        elif "$class" in item:
            inner = [(item, name) for name in item if not name.startswith("$")]
        else:
            if "$ref" in item and references is not None:
                references.append((item, len(found)))
            continue
        found.append(item)
        work.extend(reversed(inner))
    return found


def shared_graph(drawn: list[Any], chance: Any) -> list[Any]:
    """A copy in which every reference means one of its lists, maps or objects, by labels of all sorts."""
    values = codecs.loads(codecs.dumps(drawn))
    assert isinstance(values, list)
    references: list[tuple[dict[str, Any], int]] = []
    things = opened(values, references)
    used: dict[int, Any] = {}
    for item, before in references:
        if not things:
            item["$ref"] = 5
            continue
        target = chance.randrange(len(things))
        text = target < before and target % 2
        label = used.setdefault(target, f"label {target}" if text else 1000 + target)
        things[target]["$id"] = label
        item["$ref"] = label
    return values
