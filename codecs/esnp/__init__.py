"""ESNP: messages made of lines (`esnp-line`) or, in the older text, of frames (`esnp-frame`).

The two texts lay out the same bytes: entries of a type byte, a 24-bit big-endian size and a body, up to
an END entry. One implementation serves both with two vocabularies. Sources: the ESNP line text and the
ESNP frame text (message structure, basic types, entry types).
"""
