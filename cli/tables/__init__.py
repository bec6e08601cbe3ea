"""The tables of `bulk`, of the data source and of `query`: columns, and rows of messages, calls and flows."""
