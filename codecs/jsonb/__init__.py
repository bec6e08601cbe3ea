"""JSONB, the binary form of alibaba's fastjson2, which Dubbo 3.2 uses by default.

Source: alibaba/fastjson2, docs/jsonb_format_cn.md, and its reader and writer (2.0.x).
"""
