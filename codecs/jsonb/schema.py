"""The members of JSONB's messages in JSON, and the tags of its values."""

from typing import Final

from wirelens.codecs.schema import Notation, Schema, other

MESSAGE: Final = Schema("message", other("value", "a value", needed=True))
EXACT: Final = Schema(
    "$wire of a scalar, name or reference", other("bytes", "hex: all of its bytes", needed=True)
)
CONTAINER: Final = Schema(
    "$wire of a list, map, object or typed value",
    other("type", "hex: the type as it is"),
    other("length", "hex: of a list, its first byte and length"),
)

VALUES: Final[dict[str, str]] = {
    "$class": "an object: the class's name (null: none), then its fields, whose names are sent with numbers",
    "$list": "an array of values; $type names its class, $id labels it",
    "$map": "an object, or an array of pairs [key, value]; $type and $id likewise",
    "$value": "any other value with a $type",
    "$int": "an integer of 32 bits",
    "$long": "an integer of 64 bits",
    "$int16": "an integer of 16 bits",
    "$int8": "an integer of 8 bits",
    "$double": 'a number of 64 bits, "NaN", "Infinity" or "-Infinity"',
    "$float32": "a number of 32 bits, likewise",
    "$string": "text",
    "$bytes": "hex: bytes",
    "$date": "milliseconds since 1970, or text: 2026-01-17T10:40:00.000Z",
    "$ref": "a path as it is sent ($.lines[1], .., #-1), or the $id of an earlier value",
    "$symbol": "a name with a number in another place, or the negative index of one that is not in the data",
    "$text_symbol": "the negative index of a text that is not in the data",
    "$char": "a character",
    "$bigint": "an integer of any size",
    "$decimal": "a decimal number as text, which states the scale, or [unscaled, scale]",
    "$localtime": "text: 23:59:58.5",
    "$localdate": "text: 2026-11-28",
    "$localdatetime": "text: 2026-11-28T23:59:58.5",
    "$zoned": "text: 2026-11-28T23:59:58.5[Europe/Berlin]",
    "$instant": "text: 2026-11-28T23:59:58.5Z",
}

SCHEMAS: Final = {
    "jsonb": Notation(
        (MESSAGE, EXACT, CONTAINER),
        {
            "object": {
                "value": {
                    "$class": "com.example.shop.Order",
                    "id": {"$long": 20260117001},
                    "buyer": "Ada",
                    "total": {"$decimal": "41.90"},
                    "deliverOn": {"$localdate": "2026-01-20"},
                }
            },
            "map": {"value": {"id": 7, "tags": ["new"]}},
        },
        VALUES,
    )
}
