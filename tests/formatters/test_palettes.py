"""Colours: each style can be read on the backgrounds of its theme, and loses nothing without colour."""

import pytest

from wirelens.formatters import layout as lay
from wirelens.formatters.palettes import (
    BACKGROUNDS,
    LOOKS,
    THEMES,
    contrast,
    luminance,
    rgb,
    style,
    theme_for,
)
from wirelens.formatters.terminal import Painter


def test_contrast_is_that_of_the_recommendation() -> None:
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)
    assert contrast((255, 255, 255), (0x77, 0x77, 0x77)) == pytest.approx(4.48, abs=0.005)
    assert luminance((255, 0, 0)) == pytest.approx(0.2126)
    assert [rgb(number) for number in (16, 231, 232, 255, 80)] == [
        (0, 0, 0),
        (255, 255, 255),
        (8, 8, 8),
        (238, 238, 238),
        (95, 215, 215),
    ]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", LOOKS)
def test_every_style_can_be_read_on_every_background(name: str, theme: str) -> None:
    colour = getattr(LOOKS[name], theme)
    if colour is None:
        return  # the terminal's own
    for where, background in BACKGROUNDS[theme].items():
        assert contrast(rgb(colour), background) >= 4.5, where


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("colours", [16, 256])
def test_colour_adds_nothing_but_sequences(theme: str, colours: int) -> None:
    painter = Painter(theme, colours)
    line = [(name, f"<{name}>") for name in LOOKS]
    painted = painter.paint(line)
    for name in LOOKS:
        assert f"<{name}>" in painted
    assert painted.count("\x1b[0m") <= len(LOOKS)
    if colours == 256:
        assert painted.endswith("\x1b[0m")


def test_sixteen_colours_have_no_red_on_an_unknown_background() -> None:
    assert style(lay.ERROR, "either", 16) == "bold reverse"
    assert {style(name, "either", 16) for name in LOOKS} <= {"", "bold", "underline", "bold reverse"}


@pytest.mark.parametrize(
    ("background", "theme"),
    [((0, 0, 0), "dark"), ((30, 30, 30), "dark"), ((255, 255, 255), "light"), ((253, 246, 227), "light")],
)
def test_the_theme_for_a_background(background: tuple[int, int, int], theme: str) -> None:
    assert theme_for(background) == theme
