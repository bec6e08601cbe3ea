"""Shorter forms of names."""

from hypothesis import given
from hypothesis import strategies as st

from wirelens.formatters.names import initials, shortened_packages, split_package


def test_packages_become_initials() -> None:
    assert split_package("com.example.shop.Order") == ("com.example.shop.", "Order")
    assert split_package("Order") == ("", "Order")
    assert initials("com.example.shop.") == "c.e.s."
    assert shortened_packages(["com.example.shop.Order[]", "int"]) == {
        "com.example.shop.Order[]": "c.e.s.Order[]",
        "int": "int",
    }


def test_names_that_would_be_the_same_keep_the_part_that_differs() -> None:
    assert shortened_packages(["com.example.shop.Order", "com.example.stock.Order", "com.x.Order"]) == {
        "com.example.shop.Order": "c.e.shop.Order",
        "com.example.stock.Order": "c.e.stock.Order",
        "com.x.Order": "c.x.Order",
    }


@given(st.lists(st.from_regex(r"([a-c]{1,3}\.){0,3}[A-C]", fullmatch=True), max_size=8))
def test_different_names_stay_different(names: list[str]) -> None:
    short = shortened_packages(names)
    assert set(short) == set(names)
    assert len(set(short.values())) == len(short)
