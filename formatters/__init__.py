"""Views of messages: they know records and nodes but no protocols, and do no output.

Each view is a generator of lines. A line is a list of segments (style, text); `layout.plain` joins them,
`terminal.Painter` colours them. The JSON and graph formatters yield text.
"""
