"""Build script: maps the folders to the import package `wirelens`."""

from setuptools import setup

setup(
    packages=["wirelens.cli", "wirelens.cli.bulk", "wirelens.codecs", "wirelens.codecs.captures", "wirelens.codecs.hessian", "wirelens.formatters"],
    package_dir={"wirelens.cli": "cli", "wirelens.codecs": "codecs", "wirelens.formatters": "formatters"},
    package_data={"": ["py.typed"]},
)
