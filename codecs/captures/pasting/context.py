"""What may surround a literal: an assignment, a label, a type, a call before it; closing marks after it."""

import re
from typing import Final

WORD: Final = r"[A-Za-z_$@][\w$]*"
CHAIN: Final = rf"(?:new[ \t]+)?&?{WORD}(?:(?:\.|::|!|->|\(\)\.)+(?:{WORD})?)*(?:<[\w\s,:<>]*>)?"

# What may precede a literal: an assignment or a label, then a type or a call.
ASSIGN: Final = re.compile(
    r"\s*+(?:(?:[\w$@&*.\[\]<>:()?]++|,[ \t]*(?=[\w\[]+>))++[ \t\n]+){0,6}"
    r"[\w$@&*.<>-]+(?:[ \t]*\[[\w ]*\])*(?:[ \t]*:[ \t]*[\w&<>\[\]:;, ]+?)?"
    r"[ \t]*(?::=|=(?![=>]))[ \t]*\n?[ \t]*"
)
LABEL: Final = re.compile(r"""\s*(?:["']?[A-Za-z][\w .()\[\]#/-]{0,40}["']?[ \t]*(?::|=>)[ \t\n]+)""")
COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/|(?m:(?<![^\s,;{\[(])#[ \t][^\n]*$)", re.S)
BYTE_TYPES: Final = re.compile(
    r"(?i)byte|char|u?int8|u8|i8|buffer|bytes|array|vec|octet|as\.raw|data|payload|list|slice|blob|pack"
)
ELLIPSIS: Final = re.compile(r"(?:\.{2,}|…)\s*(?:(\d+) more (?:bytes?|items?))?")
TAIL: Final = re.compile(
    r"(?s)[\s;,)\]}>]*(?:::\s*\w+)?(?:\.(?:getBytes|encode|toByteArray|pack|decode|buffer|as_bytes|to_vec|b|bytes"
    r"|unhex|fromhex|into|as_slice)(?:\([^()]{0,40}\))?)*(?:\s*(?:as|of)\s+[\w\[\]]+)?[\s;,)\]}>]*"
)


def after_assignment(head: str) -> str:
    """What follows the assignment or the label in the text before a literal."""
    match = ASSIGN.match(head)
    if match and match.end() > 0:
        return head[match.end() :]
    label = LABEL.match(head)
    return head[label.end() :] if label else head
