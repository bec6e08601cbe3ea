"""The commands, one module each; `main` loads them when they are called."""
