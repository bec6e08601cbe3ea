"""Drawing messages: they know records and nodes, not protocols, and write nothing anywhere themselves.

Each formatter is a generator of lines. A line is a list of segments, (style, text); `layout.plain` joins
them, `terminal.Painter` colours them. The JSON formatters give text as it is.
"""
