"""What may surround a literal: an assignment, a label, a type, a call before it; closing marks after it."""

import re
from typing import Final

WORD: Final = r"[A-Za-z_$@][\w$]*+"
CHAIN: Final = rf"(?:new[ \t]++)?&?+{WORD}(?:(?:\.|::|!|->|\(\)\.)++(?:{WORD})?+)*+(?:<[\w\s,:<>]*+(?<=>))?+"

# What may precede a literal: an assignment or a label, then a type or a call.
ASSIGN: Final = re.compile(
    r"\s*+(?:(?:[\w$@&*.\[\]<>:()?]++|,[ \t]*+(?=[\w\[]++>))++[ \t\n]++){0,6}"
    r"[\w$@&*.<>-]++(?:[ \t]*+,[ \t]*+[\w$@&*.<>-]++){0,5}(?:[ \t]*+\[[\w ]*+\])*+"
    r"(?:[ \t]*+:[\w&<>\[\]:;, \t]++)?+\s*+(?::=|=(?![=>]))\s*+"
)
LABEL: Final = re.compile(r"""\s*+["']?[A-Za-z][\w .()\[\]#/-]{0,40}["']?[ \t]{0,4}(?::|=>)[ \t\n]++""")
COMMENT: Final = re.compile(r"//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)|(?<![^\s,;{\[(])#[ \t][^\n]*+")
BYTE_TYPES: Final = re.compile(
    r"(?i)byte|char|u?int8|u8|i8|buffer|bytes|array|vec|octet|as\.raw|data|payload|list|slice|blob|pack"
)
ELLIPSIS: Final = re.compile(r"(?:\.{2,}|…)\s*(?:(\d+) more (?:bytes?|items?))?")
TAIL: Final = re.compile(
    r"[\s;,)\]}>]*+(?:::\s*+\w++)?+(?:\.(?:getBytes|encode|toByteArray|pack|decode|buffer|as_bytes|to_vec|b|bytes"
    r"|unhex|fromhex|into|as_slice)\b(?:\([^()]{0,40}\))?+)*+(?:\s*+(?:as|of)\s++[\w\[\]]++)?+[\s;,)\]}>]*+"
)


def after_assignment(head: str) -> str:
    """What follows the assignment or the label in the text before a literal."""
    match = ASSIGN.match(head)
    if match and match.end() > 0:
        return head[match.end() :]
    label = LABEL.match(head)
    return head[label.end() :] if label else head
