"""What may surround a literal: an assignment, a label, a type, a call before it; closing marks after it."""

from typing import Final

from wirelens.codecs.captures.pasting.patterns import lazy_pattern

WORD: Final = r"[A-Za-z_$@][\w$]*+"
CHAIN: Final = rf"(?:new[ \t]++)?&?+{WORD}(?:(?:\.|::|!|->|\(\)\.)++(?:{WORD})?+)*+(?:<[\w\s,:<>]*+(?<=>))?+"

# What may precede a literal: an assignment or a label, then a type or a call.
ASSIGN: Final = lazy_pattern(
    r"\s*+(?:(?:[\w$@&*.\[\]<>:()?]++|,[ \t]*+(?=[\w\[]++>))++[ \t\n]++){0,6}"
    r"[\w$@&*.<>-]++(?:[ \t]*+,[ \t]*+[\w$@&*.<>-]++){0,5}(?:[ \t]*+\[[\w ]*+\])*+"
    r"(?:[ \t]*+:[\w&<>\[\]:;, \t]++)?+\s*+(?::=|=(?![=>]))\s*+"
)
LABEL: Final = lazy_pattern(r"""\s*+["']?[A-Za-z][\w .()\[\]#/-]{0,40}["']?[ \t]{0,4}(?::|=>)[ \t\n]++""")
COMMENT: Final = lazy_pattern(r"//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)|(?<![^\s,;{\[(])#[ \t][^\n]*+")
BYTE_TYPES: Final = lazy_pattern(
    r"(?i)byte|char|u?int8|u8|i8|buffer|bytes|array|vec|octet|as\.raw|data|payload|list|slice|blob|pack"
)
ELLIPSIS: Final = lazy_pattern(r"(?:\.{2,}|…)\s*(?:(\d+) more (?:bytes?|items?))?")
# Methods that keep the bytes of what they are called on; a slice, `reverse` and the like do not
_KEEPING: Final = (
    r"getBytes|encode|toByteArray|toCharArray|toBytes|toBuffer|pack|decode|buffer|as_bytes|as_ref|as_slice|to_vec"
    r"|to_owned|to_string|toString|to_bytes|bytes|b|unhex|fromhex|into|unwrap|unwrap_or_default|clone|copy|trim"
    r"|strip|data|c_str|freeze|hexToByteArray|hexToByteString|hexStringToByteArray|decodeHex|hex|array|retain"
)
_ARGUMENTS: Final = r"(?:\([^()\n\"']{0,60}(?:\([^()\n\"']{0,40}\)[^()\n\"']{0,20})?\))"
# Another argument after the bytes, perhaps by keyword: a name, or a call of names
_ARGUMENT: Final = (
    r",\s*+(?:[a-z_]++:\s++:?+)?+&?[A-Za-z_$][\w$]*+"
    rf"(?:(?:\.|::|->)[\w$]++)*+{_ARGUMENTS}?+(?=\s*+[,)\]}}])"
)
TAIL: Final = lazy_pattern(
    rf"(?:[\s;)\]}}>?!]++|{_ARGUMENT}|,(?=\s*+(?:[)\]}};,]|\Z))|::\s*+\w++|\.(?:{_KEEPING})\b!?{_ARGUMENTS}?+"
    r"|(?<=\s)(?:as|of)\s++[\w\[\]]++)*+"
)
# What an expression may have before bytes: names, calls, types and brackets
_TOKEN: Final = lazy_pattern(
    r"\s++|(?P<word>[A-Za-z_$@][\w$]*+)|(?P<number>[0-9]\w*+)|(?P<mark>::|->|=>|[.=!?&*,:<>()\[\]{}#@%|-])"
)
# fmt: off
_KEYWORDS: Final = frozenset([
    "new", "return", "await", "yield", "throw", "throws", "assert", "const", "let", "var", "val", "auto",
    "static", "final", "unsigned", "signed", "struct", "mut", "ref", "unsafe", "try", "not", "for", "in",
    "of", "as", "lambda", "if", "is", "and", "or", "def", "fn", "func", "public", "private", "protected",
    "void", "inline", "constexpr", "readonly", "internal", "byte", "char", "int", "uint8_t",
])
# fmt: on
# Calls whose result has other bytes than their argument
CHANGING: Final = lazy_pattern(r"(?i)(?:copyof|slice|subarray|substr|reverse|concat|xor)\w{0,20}+\s*+\(")
HEAD_LIMIT: Final = 400  # characters of code before bytes


def expression_fits(text: str) -> bool:
    """Whether the text before bytes is code: no two words in a row, except keywords and one declaration."""
    text = text.strip()
    if len(text) > HEAD_LIMIT:
        return False
    position = depth = 0
    previous = ""
    pairs: list[tuple[str, str]] = []
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            return False
        position = match.end()
        token = match[0]
        if match["word"] or match["number"]:
            if previous:
                pairs.append((previous, token))
            previous = token
        elif match["mark"]:
            if token in "([{<":
                depth += 1
            elif token in ")]}>":
                depth -= 1
            elif token in (":", "=", "=>", "-", "|", "%", "?") and not depth:
                return False
            previous = ""
    words = [pair for pair in pairs if not any(word in _KEYWORDS for word in pair)]
    return not words or (
        len(words) == 1
        and bool(_DECLARATION.match(text))
        and bool(BYTE_TYPES.search(text) or "string" in text.lower() or "auto" in text)
    )


# `std::string content(`, `byte data[] {`
_DECLARATION: Final = lazy_pattern(
    r"(?:(?:const|static|final|auto|var|unsigned)\s++){0,4}+[\w:.<>*&\[\]]++\s++\w++\s*+[(\[{]"
)


def after_assignment(head: str) -> str:
    """What follows the assignment or the label in the text before a literal."""
    match = ASSIGN.match(head)
    if match and match.end() > 0:
        return head[match.end() :]
    label = LABEL.match(head)
    return head[label.end() :] if label else head
