"""What is measured: `python -m bench` from the project's root; see its `--help` and bench/README.md."""
