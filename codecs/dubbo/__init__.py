"""Dubbo: a header of 16 bytes, and a body that is mostly final Hessian 2.0, or JSONB.

Source: the notes on deployed software, section 1.3 (Dubbo frame; dubbox).
"""
