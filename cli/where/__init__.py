"""`--where`: conditions on messages and other rows, as one expression.

`language` is what an expression consists of, `parsing` reads its text, `values` the values of fields,
`json_paths` follows paths into a message's JSON, `fields` knows the types of fields, and `compiling` makes
the predicate. `message_fields` are the fields of messages.
"""
