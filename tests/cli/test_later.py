import sys

from wirelens.cli.later import Later


def test_a_module_is_imported_when_it_is_used() -> None:
    sys.modules.pop("colorsys", None)
    with Later("colorsys"):
        import colorsys
    assert "colorsys" not in sys.modules
    found = colorsys.rgb_to_hsv
    assert sys.modules["colorsys"] is not colorsys
    assert sys.modules["colorsys"].rgb_to_hsv is found


def test_one_that_is_used_at_once_or_imported_already_is_the_module_itself() -> None:
    sys.modules.pop("colorsys", None)
    with Later("colorsys"):
        import colorsys

        assert colorsys.rgb_to_hsv is sys.modules["colorsys"].rgb_to_hsv
    loaded = sys.modules["colorsys"]
    with Later("colorsys"):
        assert sys.modules["colorsys"] is loaded
    assert sys.modules["colorsys"] is loaded


def test_a_function_may_be_asked_for_before_it_is_called() -> None:
    sys.modules.pop("colorsys", None)
    with Later("colorsys", "rgb_to_hsv"):
        from colorsys import rgb_to_hsv
    assert "colorsys" not in sys.modules
    assert rgb_to_hsv(1.0, 1.0, 1.0) == (0.0, 0.0, 1.0)
    assert "colorsys" in sys.modules
