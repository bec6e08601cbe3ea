"""Hessian after its length: four bytes, big-endian, then that many bytes of one message or of values.

No text specifies it: XXL-RPC sends it over TCP, and so do most servers made with Netty's
LengthFieldBasedFrameDecoder and a Hessian serializer.
"""
