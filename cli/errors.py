"""Errors that end a command; click prints them and exits with their status."""

import click


class RefusedError(click.ClickException):
    """The command or an input that it names is wrong; nothing was done."""

    exit_code = 2
