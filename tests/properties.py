"""What tests of properties share."""

from hypothesis import settings

USUAL = 100  # examples of a property that asks for no number of its own


def examples(count: int) -> settings:
    """For a property that is to have this many examples; more in a profile that draws more."""
    return settings(max_examples=max(count * settings().max_examples // USUAL, 1))
