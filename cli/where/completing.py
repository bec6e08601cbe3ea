"""What an unfinished expression of --where may go on with: fields, operators, values that are known."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Final

    from wirelens.cli.where.fields import Fields

WORDS: Final = ("and", "or", "not", "has")
# The last comparison, read backwards
_LAST: Final = re.compile(r"([^\s()=!~<>]*+)([=!~<>]*+)([a-z_]*+)")


def completions(text: str, fields: Fields[Any]) -> list[tuple[str, str]]:
    """The texts that complete `text`, each with a remark; `text` is the start of an expression."""
    match = _LAST.match(text[::-1])
    assert match is not None
    value, operator, name = [part[::-1] for part in match.groups()]
    before = text[: len(text) - match.end()]
    if operator and name in fields.named:
        words = fields.named[name].words
        found = [] if words is None else sorted(word for word in words() if word.startswith(value))
        return [(f"{before}{name}{operator}{word}", name) for word in found]
    if operator:
        return []
    name += value
    items: list[tuple[str, str]] = []
    for field in sorted(fields.named):
        if not field.startswith(name):
            continue
        kind = fields.named[field].kind
        if field == name:
            items += [(f"{before}{field}{sign}", kind.name) for sign in kind.operators]
        else:
            items.append((f"{before}{field}", kind.name))
    items += [(f"{before}{root}.", "a path") for root in sorted(fields.trees) if root.startswith(name)]
    items += [(f"{before}{word}", "") for word in WORDS if word.startswith(name) and word != name]
    return items
