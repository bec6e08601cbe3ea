"""Calls that were captured at both ends: which connection is which, which clock is ahead, where time went.

`table` keeps what is needed of each message of one end, `matching` finds the connections and messages that
both ends have in common, `splits` computes the times of each call.
"""
