"""HTTP/1.1 whose bodies contain Hessian: framing that keeps every byte and its offset.

Sources: RFC 9112 (message syntax, chunks, body length), RFC 9110 (content codings, statuses without
content); the notes on deployed software, section 1.3, for what Hessian's clients and servers send.
"""
