"""Magline, a gateway's frames: with the specified head (`magline`), or with the deployed one (`magline-old`).

Source of `magline`: the Magline protocol text, of which no implementation is known. It leaves open the byte
order, the values of magic and version, and how wide the randoms are, so these are read by what the bytes
allow (specified.py, decoding.py). Its head has 16 bytes. H, M, A, C are the four words of one 16-byte code.

The deployed head has 12 bytes, all little-endian: magic 0x7f, version 101 (Go) or 1 (C), command, sequence
number, length. Commands from 0x1001 on are the knot's side, with protobuf bodies.
"""
