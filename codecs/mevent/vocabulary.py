"""mevent's numbers and names: types of variables, commands, flags, reply codes; the nodes of a message.

No form of mevent needs a `$wire`: members of the message state whatever is readable. `eof` is false if the
end marker is missing, `error_code` is the number of a failed send, `extra` holds bytes after the end marker
(in a reply: inside its vsize; with `prefix`: inside the prefixed length).
"""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.node import Json, Node, field

# Types of variables; EOF is the end marker.
EOF: Final = 0
U32: Final = 1
STRING: Final = 2  # the text's numbers
ARRAY: Final = 3
ULONG: Final = 2  # the deployed ones
DEPLOYED_STRING: Final = 3
DEPLOYED_ARRAY: Final = 4
SMALL_TYPE: Final = 255  # a number up to here, in the place of a type, is an unknown type

SPECIFIED_TYPES: Final[dict[int, str]] = {U32: "U32", STRING: "STRING", ARRAY: "ARRAY"}
DEPLOYED_TYPES: Final[dict[int, str]] = {
    U32: "U32",
    ULONG: "ULONG",
    DEPLOYED_STRING: "STRING",
    DEPLOYED_ARRAY: "ARRAY",
}

COMMANDS: Final[dict[int, str]] = {
    0: "NONE",
    100: "CACHE_GET",
    101: "CACHE_SET",
    102: "CACHE_DEL",
    103: "CACHE_EMPTY",
    1000: "STATS",
}
# Of May to September 2009. Numbers above MAX_SYSTEM_COMMAND have always been the plugin's own.
COMMANDS_2009: Final[dict[int, str]] = {
    1: "GET",
    2: "INSERT",
    3: "SET",
    4: "UPDATE",
    5: "DELETE",
    6: "INC",
    7: "CAS",
    8: "STATS",
}
MAX_SYSTEM_COMMAND: Final = 1000
FLAGS: Final[dict[int, str]] = {0: "NONE", 1: "CACHE_ONLY", 2: "SYNC"}
FLAG_SYNC: Final = 2

# Reply codes. ERRORS in the order of their numbers, which start differently in each era (`code_meaning`).
ERRORS: Final = (
    "REP_ERR",
    "REP_ERR_VER",
    "REP_ERR_SEND",
    "REP_ERR_BROKEN",
    "REP_ERR_UNKREQ",
    "REP_ERR_MEM",
    "REP_ERR_DB",
    "REP_ERR_BUSY",
    "REP_ERR_PACK",
    "REP_ERR_BADPARAM",
    "REP_ERR_CACHE_MISS",
)
REP_OK: Final = 1000
REP_ERR_APP: Final = 25  # the first of the application's own
FIRST_SPECIFIED_ERROR: Final = 14  # REP_ERR as in the text
TYPED_OK: Final = 100  # TYPED: the typed era of 2009 and 2010
TYPED_ERROR: Final = 512
TYPED_APP: Final = 1024
FIRST_ERROR: Final = 0x800  # May 2009
LAST_ERROR: Final = 0x805
FAILED: Final = (13, 14, TYPED_ERROR, FIRST_ERROR)  # REP_ERR by era: the code before a bare error code

# Reply codes by name, as the text numbers them.
CODES: Final[dict[int, str]] = {
    **{FIRST_SPECIFIED_ERROR + place: name for place, name in enumerate(ERRORS)},
    REP_ERR_APP: "REP_ERR_APP",
    REP_OK: "REP_OK",
}

# Sizes in bytes.
REQUEST_HEAD: Final = 12
SHORTEST_REQUEST: Final = 17  # as the text has it: a head with a plugin of one byte, and the end marker
LONGEST_NAME: Final = 64  # of a plugin or variable, in evidence and where a message is searched for
LONGEST_HEAD: Final = 4 + REQUEST_HEAD + LONGEST_NAME
MAX_LENGTH: Final = 1 << 16  # of a datagram, and of what the server accepts over TCP
MAX_CLAIM: Final = 1 << 26  # that any length here may claim

MAX_ID: Final = 0x0FFFFFFF  # of a request
MAX_NOTES: Final = 20  # of one kind, in one message


def known_code(code: i64) -> bool:
    """Whether a number has been one of the system's own reply codes."""
    return (
        13 <= code <= 24
        or code == TYPED_OK
        or code == REP_OK
        or TYPED_ERROR <= code <= 522
        or FIRST_ERROR <= code <= LAST_ERROR
    )


def signed_code(code: int) -> int:
    """A reply code as servers keep it, in 32 signed bits."""
    return code - (1 << 32) if code >> 31 else code


def _dialect(node: Node) -> Json:
    return "deployed" if node.number else "specified"


# HEAD words of the nodes.
ROOT_HEAD: Final[i64] = t.head(t.STRUCT)
PREFIX_HEAD: Final[i64] = t.head(t.BOOLEAN, field("prefix"))
REQUEST_NODE: Final[i64] = t.head(t.STRUCT, field("request"))
REPLY_NODE: Final[i64] = t.head(t.STRUCT, field("reply"))
VERSION_HEAD: Final[i64] = t.head(t.INTEGER, field("version"))
ID_HEAD: Final[i64] = t.head(t.INTEGER, field("id"))
COMMAND_HEAD: Final[i64] = t.head(t.INTEGER, field("command"))
FLAGS_HEAD: Final[i64] = t.head(t.INTEGER, field("flags"))
PLUGIN_HEAD: Final[i64] = t.head(t.TEXT, field("plugin"))
CODE_HEAD: Final[i64] = t.head(t.INTEGER, field("code"))
VSIZE_HEAD: Final[i64] = t.head(t.LENGTH, field("vsize")) | t.HIDDEN
ERROR_CODE_HEAD: Final[i64] = t.head(t.INTEGER, field("error_code"))
VARIABLES_HEAD: Final[i64] = t.head(t.ARRAY, field("variables"))
EOF_HEAD: Final[i64] = t.head(t.BOOLEAN, field("eof"))
EXTRA_HEAD: Final[i64] = t.head(t.HEX, field("extra"))
DIALECT_HEAD: Final[i64] = t.head(t.COMPUTED, field("dialect", None, _dialect))
VARIABLE_HEAD: Final[i64] = t.head(t.STRUCT)
SPECIFIED_TYPE_HEAD: Final[i64] = t.head(t.NAMED, field("type", SPECIFIED_TYPES))
DEPLOYED_TYPE_HEAD: Final[i64] = t.head(t.NAMED, field("type", DEPLOYED_TYPES))
NAME_HEAD: Final[i64] = t.head(t.TEXT, field("name"))
_VALUE_FIELD: Final[i64] = field("value")
NUMBER_HEAD: Final[i64] = t.head(t.UNSIGNED, _VALUE_FIELD)
TEXT_HEAD: Final[i64] = t.head(t.TEXT, _VALUE_FIELD)
ELEMENTS_HEAD: Final[i64] = t.head(t.ARRAY, _VALUE_FIELD)
