"""The settings of a run: its options and the versions it ran with, which belong to what it wrote.

They are in the ledger, a column of each row, and in the metadata of Parquet files, as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Final

from wirelens.cli.bulk.ledger import NotAllowedError
from wirelens.cli.points import NONE
from wirelens.cli.version import codecs_digest, version
from wirelens.cli.where.language import quoted

FORM: Final = ("--format", "--document")  # that all rows of a table share
METADATA: Final = b"wirelens.settings"  # key of a Parquet file's metadata
_UNSET: Final = {"--separate": "no", "--point": NONE}  # "" for others

Settings = Mapping[str, str]


def settings(
    protocol: str, point: str, separate: bool, selection: str, quarantine: str, form: str, document: str
) -> Settings:
    """The settings of a run of this wirelens with these options."""
    return {
        "--as": protocol,
        "--point": point,
        "--separate": "yes" if separate else "no",
        "--where": selection,
        "--quarantine": quarantine,
        "--format": form,
        "--document": document,
        "wirelens": version(),
        "codecs": codecs_digest(),
    }


def dumps(values: Settings) -> str:
    """Settings as text."""
    return json.dumps(values, ensure_ascii=False)


@cache
def loads(text: str) -> Settings:
    """Settings from text; few runs share many rows."""
    values: dict[str, str] = json.loads(text) if text else {}
    return values


def check_form(place: str, before: Settings, own: Settings) -> None:
    """Check that rows can be added to tables. Raises NotAllowedError."""
    for option in FORM:
        value = before.get(option, own[option])
        if value != own[option]:
            raise NotAllowedError(
                f"the tables in {place} were written with {option} {value}: use it here too"
            )


def check_resumable(place: str, before: Settings, own: Settings, redo: bool) -> None:
    """Check that a run can continue what one with other settings began. Raises NotAllowedError.

    `redo`: whether it converts again what other versions converted.
    """
    for option in own:
        if redo and not option.startswith("--"):
            continue
        value = before.get(option, own[option])
        if value == own[option]:
            continue
        if option == "codecs":
            by = f"by another build of wirelens {own['wirelens']} (codecs {value}, here {own[option]})"
        elif option == "wirelens":
            by = f"by wirelens {value}, and this is {own[option]}"
        else:
            raise NotAllowedError(f"{place} was converted {_with(option, value)}: --resume needs the same")
        raise NotAllowedError(
            f"{place} was converted {by}: --resume would mix them; continue with that one, or convert again "
            "what older ones wrote, with --redo-before VERSION, or everything, with --mode overwrite"
        )


def _with(option: str, value: str) -> str:
    if value == _UNSET.get(option, ""):
        return f"without {option}"
    if option == "--separate":
        return f"with {option}"
    return f"with {option} {quoted(value) if option == '--where' else value}"
