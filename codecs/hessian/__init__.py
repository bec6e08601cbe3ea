"""Hessian 1.0, the draft of 2.0 and 2.0 as published: values, calls and replies, packets, envelopes."""
