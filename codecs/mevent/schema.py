"""The members of mevent's messages in JSON."""

from typing import Final

from wirelens.codecs.mevent import vocabulary as v
from wirelens.codecs.node import Json
from wirelens.codecs.schema import (
    FLAGS,
    Member,
    Notation,
    Schema,
    boolean,
    hexadecimal,
    integer,
    other,
    text,
    word,
)

# What the text, or the deployed code, writes before the names.
TYPE_PREFIX: Final = "DATA_TYPE_"
_COMMAND_PREFIX: Final = "REQ_CMD_"
_FLAG_PREFIXES: Final = ("FLAGS_", "FLAG_")
_CODE_PREFIX: Final = "REP_"

_EOF: Final = boolean("eof", "whether the end marker follows the variables", True)
_VARIABLES: Final = "an array of variables"

MESSAGE: Final = Schema(
    "message",
    other("request", "a request; or else a reply"),
    other("reply", "a reply"),
    word("dialect", ("specified", "deployed"), "the types of variables", "specified"),
    boolean("prefix", "over TCP: the length in four bytes comes first", False),
    hexadecimal("extra", "bytes after the message, inside the prefixed length"),
)
REQUEST: Final = Schema(
    "request",
    integer("version", 0, 15, default=1),
    integer("id", 0, v.MAX_ID, "of the request, and of its reply", 1),
    integer(
        "command",
        0,
        0xFFFF,
        "numbers above 1000 are the plugin's own",
        "NONE",
        names={**v.COMMANDS, **v.COMMANDS_2009},
        prefixes=(_COMMAND_PREFIX,),
    ),
    Member("flags", FLAGS, default="NONE", names=v.FLAGS, high=0xFFFF, prefixes=_FLAG_PREFIXES),
    text("plugin", "the plugin's name", needed=True),
    other("variables", _VARIABLES, []),
    _EOF,
)
REPLY: Final = Schema(
    "reply",
    integer("id", 0, 0xFFFFFFFF, "of the request", 1),
    integer(
        "code",
        -1 << 31,
        0xFFFFFFFF,
        "as the text numbers them",
        needed=True,
        names=v.CODES,
        prefixes=(_CODE_PREFIX,),
    ),
    integer(
        "error_code",
        -1 << 31,
        0xFFFFFFFF,
        "of a failed send, in place of variables",
        usual="none",
        names=v.CODES,
    ),
    other("variables", _VARIABLES, usual="none, and no end marker"),
    _EOF,
    hexadecimal("extra", "bytes after the end marker"),
)
VARIABLE: Final = Schema(
    "variable",
    other("type", "U32, STRING, ARRAY, or, deployed, ULONG", needed=True),
    text("name", needed=True),
    other("value", "U32, ULONG: an integer; STRING: text; ARRAY: an array of variables", usual="from hdf"),
    other("hdf", "in place of the value of a STRING: an array of items of HDF"),
)
ITEM: Final = Schema(
    "item of HDF",
    text("name", needed=True),
    other("attributes", "an object, or an array of pairs [name, value]", usual="none"),
    text("value", "or else link, copy or children"),
    text("link", "the name that it links to"),
    text("copy", "the name whose value it copies"),
    other("children", "an array of items"),
)

_REQUEST_EXAMPLE: Final[Json] = {
    "request": {
        "plugin": "skeleton",
        "id": 7,
        "command": 1001,
        "flags": "SYNC",
        "variables": [
            {"type": "U32", "name": "limit", "value": 10},
            {"type": "STRING", "name": "user", "value": "Ada"},
        ],
    }
}

SCHEMAS: Final = {
    "mevent": Notation(
        (MESSAGE, REQUEST, REPLY, VARIABLE, ITEM),
        {
            "request": _REQUEST_EXAMPLE,
            "reply": {
                "reply": {
                    "id": 7,
                    "code": "REP_OK",
                    "variables": [
                        {
                            "type": "STRING",
                            "name": "root",
                            "hdf": [
                                {"name": "user", "value": "Ada", "children": [{"name": "age", "value": "36"}]}
                            ],
                        }
                    ],
                }
            },
        },
    )
}
