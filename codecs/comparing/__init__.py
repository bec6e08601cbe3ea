"""Comparing messages by their meaning: values, not offsets, reference numbers or wire forms."""

from wirelens.codecs.comparing.call_pairs import CallPair, compare_calls
from wirelens.codecs.comparing.comparison import Change, Differences, Place, compare
from wirelens.codecs.comparing.graph import Graph, Ignored
from wirelens.codecs.comparing.paths import PathError, Pattern, pattern
from wirelens.codecs.comparing.sequences import MessagePair, compare_messages

__all__ = [
    "CallPair",
    "Change",
    "Differences",
    "Graph",
    "Ignored",
    "MessagePair",
    "PathError",
    "Pattern",
    "Place",
    "compare",
    "compare_calls",
    "compare_messages",
    "pattern",
]
