"""`wirelens query`: SQL over the messages, calls and connections of captures, with DuckDB."""
