"""Streams that have not ended, as plain values, so that another process can continue them later.

The classes save and load their own state: nested tuples of numbers, text and bytes. This joins the state of
an assembler with that of the conversations that decode its pieces, and gives both a version.
"""

from typing import Any, Final

from wirelens.codecs.captures.streams import Assembler
from wirelens.codecs.conversations import Conversations

State = tuple[Any, ...]

VERSION: Final = 9  # of the form of states; raise it with every change in what a class saves


def save(assembler: Assembler, conversations: Conversations) -> State:
    """The state of an assembler that has at most one flow, and of what decodes its pieces.

    () if there is nothing to continue. Raises ValueError for several flows.
    """
    streams = assembler.save()
    return (VERSION, streams, conversations.save()) if streams else ()


def load(
    state: State, protocol: str | None = None, sources: bool = True, arrivals: bool = False
) -> tuple[Assembler, Conversations]:
    """An assembler and conversations that continue where `save` was called; options as of `Conversations`.

    `payload` of the assembler counts the bytes that wait in it, `delivered` and `retransmitted` start at 0.
    Raises ValueError for a state of another version.
    """
    version = state[0] if state else None
    if version != VERSION:
        saved = version if isinstance(version, int) else 1
        raise ValueError(
            f"streams saved in form {saved} cannot be continued: this wirelens reads form {VERSION}"
        )
    assembler = Assembler()
    assembler.load(state[1])
    conversations = Conversations(protocol, sources=sources, arrivals=arrivals)
    conversations.load(state[2], [flow for flow, _ in assembler.known_flows()])
    return assembler, conversations
