"""HTTP/2, with gRPC and Dubbo's Triple inside: a record is a frame.

What spans frames (header tables, header blocks, gRPC messages, calls) is kept for each flow in `streams`, and
shown with the record of its last frame. Sources: RFC 9113 (HTTP/2), RFC 7541 (HPACK), gRPC over HTTP2, Apache
Dubbo's triple_wrapper.proto.
"""
