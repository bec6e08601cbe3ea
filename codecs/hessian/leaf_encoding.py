"""Writing values that have nothing inside them, in their usual form."""

from typing import Any, Final

from mypy_extensions import i64, mypyc_attr

from wirelens.codecs.hessian.class_encoding import Classes
from wirelens.codecs.hessian.scalar_encoding import usual_date
from wirelens.codecs.numbers import NO_DATE

_SHORT: Final = (1 << 62) - 1  # what compiled code compares without a call


@mypyc_attr(acyclic=True)
class Leaves(Classes):
    """Writes values without members. Base of `Encoder`."""

    def leaf(self, item: Any) -> bool:
        """Write a value that has nothing inside and no mistake; False, and nothing is written, for others."""
        if isinstance(item, str):
            self.write_text(item)
        elif isinstance(item, dict):
            return len(item) == 1 and self._tagged_leaf(item)
        elif item is None:
            self.out.append(0x4E)
        elif item is True:
            self.out.append(0x54)
        elif item is False:
            self.out.append(0x46)
        elif isinstance(item, int):
            number: int = item
            if not -0x80000000 <= number <= 0x7FFFFFFF:
                return False
            self.write_int(number)
        elif isinstance(item, float):  # last, as for others this asks for their bases
            self.write_double(item)
        else:
            return False
        return True

    def _tagged_leaf(self, item: dict[str, Any]) -> bool:
        """Write a long or a date with no other member; False, and nothing is written, for others."""
        for name, value in item.items():
            if isinstance(value, int):
                number: int = value
                if name == "$long" and -_SHORT <= number <= _SHORT and not isinstance(value, bool):
                    self.write_i64(number)
                    return True
            elif isinstance(value, str) and name == "$date":
                moment = usual_date(value)
                if moment != NO_DATE:
                    self.write_moment(moment, None)
                    return True
        return False

    def leaves(self, items: list[Any]) -> i64:
        """Write the items before the first one that is no leaf; the index of that one.

        Most containers have only leaves: written at once, they need no frame.
        """
        at: i64 = 0
        size: i64 = len(items)
        while at < size and self.leaf(items[at]):
            at += 1
        return at
