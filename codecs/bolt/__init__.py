"""Bolt v1 and v2, the protocol of SOFA: a header, a class name, a header map, content mostly in Hessian.

Source: the notes on deployed software, section 1.3 (Bolt v1, v2).
"""
