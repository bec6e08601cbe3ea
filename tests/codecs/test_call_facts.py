"""What messages state of their call: service, method, status, exception, timeout, trace, id, by protocol."""

from typing import Any

import pytest

from wirelens import codecs
from wirelens.codecs.call_words import ERROR_SHOWN, error_line

SERVICE = "com.x.OrderService"
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SET = ("service", "method", "status", "exception", "failed", "timeout_us", "trace", "id", "oneway")
FAULT = {"code": "ServiceException", "message": "no such order"}
BOOM = {"$class": "com.x.OrderException", "detailMessage": "boom", "cause": None, "stackTrace": None}


def dubbo(attachments: Any = None, **more: Any) -> dict[str, Any]:
    request = {
        "dubbo_version": "2.0.2",
        "path": SERVICE,
        "version": "1.0",
        "method": "find",
        "parameter_types": "Ljava/lang/String;",
        "arguments": ["o1"],
        "attachments": {} if attachments is None else attachments,
    }
    return {"type": "request", "id": 7, "body": {**request, **more}}


def response(status: str = "OK", **body: Any) -> dict[str, Any]:
    return {"type": "response", "status": status, "id": 7, "body": body}


def bolt(**members: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "type": "request",
        "command": "request",
        "id": 8,
        "class": "com.alipay.sofa.rpc.core.request.SofaRequest",
        "headers": [],
        "content": {"values": [1]},
        **members,
    }


def esnp(*entries: Any) -> dict[str, Any]:
    return {"lines": [*entries, {"type": "END"}]}


def mevent_reply(code: int, **variable: Any) -> dict[str, Any]:
    variables = [{"type": "STRING", "name": name, "value": value} for name, value in variable.items()]
    return {"reply": {"id": 5, "code": code, "variables": variables, "eof": True}}


def http(start_line: str, *headers: tuple[str, str], body: Any = None) -> dict[str, Any]:
    return {
        "start_line": start_line,
        "headers": [list(header) for header in headers],
        "body": {"data": ""} if body is None else body,
    }


HESSIAN = ("Content-Type", "x-application/hessian")
LENGTH = ("Content-Length", "0")
FLAG = {"type": "FLAG", "flag": "REQUEST"}
RESP = {"type": "FLAG", "flag": "RESP"}

CASES: list[tuple[str, str, Any, dict[str, Any]]] = [
    (
        "dubbo: interface, method, attachments",
        "dubbo",
        dubbo({"timeout": "1500", "traceparent": TRACE}),
        {"service": SERVICE, "method": "find", "timeout_us": 1_500_000, "trace": TRACE, "id": "7"},
    ),
    (
        "dubbo: a timeout that is a number; of two traces the standard's",
        "dubbo",
        dubbo({"sw8": "1-x", "timeout": 20, "TraceParent": TRACE}),
        {"service": SERVICE, "method": "find", "timeout_us": 20_000, "trace": TRACE, "id": "7"},
    ),
    (
        "dubbo: texts that are not timeouts",
        "dubbo",
        dubbo({"timeout": "-1", "b3": "80f198ee56343ba8"}),
        {"service": SERVICE, "method": "find", "trace": "80f198ee56343ba8", "id": "7"},
    ),
    *[
        (
            f"dubbo: {timeout!r} is not a timeout",
            "dubbo",
            dubbo({"timeout": timeout}),
            {"service": SERVICE, "method": "find", "id": "7"},
        )
        for timeout in ("", "0", "12 ", "1:", "٣", "9999999999999", "10000000000000", "18446744073709551617")
    ],
    (
        "dubbo: a timeout with zeros before it",
        "dubbo",
        dubbo({"timeout": "0000000000020"}),
        {"service": SERVICE, "method": "find", "timeout_us": 20_000, "id": "7"},
    ),
    (
        "dubbo: a generic invocation's method",
        "dubbo",
        dubbo(
            method="$invoke",
            parameter_types="Ljava/lang/String;[Ljava/lang/String;[Ljava/lang/Object;",
            arguments=["place", [], []],
        ),
        {"service": SERVICE, "method": "place", "id": "7"},
    ),
    (
        "dubbo: one-way",
        "dubbo",
        {**dubbo(), "two_way": False},
        {"service": SERVICE, "method": "find", "id": "7", "oneway": True},
    ),
    ("dubbo: ok", "dubbo", response(result="value", value=5), {"status": "OK", "id": "7"}),
    (
        "dubbo: an exception's class",
        "dubbo",
        response(result="exception", value=BOOM),
        {"status": "OK", "exception": "com.x.OrderException", "failed": True, "id": "7"},
    ),
    (
        "dubbo: an error's first line",
        "dubbo",
        response("SERVER_TIMEOUT", error="waited 1000 ms\n\tat com.x.Y"),
        {"status": "SERVER_TIMEOUT", "exception": "waited 1000 ms", "failed": True, "id": "7"},
    ),
    (
        "bolt: headers",
        "bolt",
        bolt(
            timeout=3000,
            headers=[
                ["sofa_head_target_service", SERVICE],
                ["sofa_head_method_name", "find"],
                ["rpc_trace_context.sofaTraceId", "0a0b"],
            ],
        ),
        {"service": SERVICE, "method": "find", "timeout_us": 3_000_000, "trace": "0a0b", "id": "8"},
    ),
    (
        "bolt: one-way",
        "bolt",
        bolt(
            type="oneway",
            timeout=0,
            content={
                "values": [
                    {
                        "$class": "com.alipay.sofa.rpc.core.request.SofaRequest",
                        "targetServiceUniqueName": SERVICE,
                        "methodName": "find",
                    }
                ]
            },
        ),
        {"service": SERVICE, "method": "find", "id": "8", "oneway": True},
    ),
    (
        "bolt: a busy server",
        "bolt",
        {**bolt(type="response", command="response", status="SERVER_THREADPOOL_BUSY")},
        {"status": "SERVER_THREADPOOL_BUSY", "failed": True, "id": "8"},
    ),
    (
        "bolt: an error in the response",
        "bolt",
        bolt(
            type="response",
            command="response",
            status="SUCCESS",
            content={
                "values": [
                    {
                        "$class": "com.alipay.sofa.rpc.core.response.SofaResponse",
                        "isError": True,
                        "errorMsg": "no provider",
                        "appResponse": None,
                    }
                ]
            },
        ),
        {"status": "SUCCESS", "exception": "no provider", "failed": True, "id": "8"},
    ),
    (
        "esnp: service and operation",
        "esnp-line",
        esnp(
            FLAG,
            {"type": "MESSAGE_ID", "value": 9},
            {"type": "ADDRESS", "address": "SERVICE", "value": "svc"},
            {"type": "ADDRESS", "address": "OP", "value": "put"},
            {"type": "DATA", "name": "s", "value": 404},
        ),
        {"service": "svc", "method": "put", "id": "9"},
    ),
    (
        "esnp: a status",
        "esnp-line",
        esnp(RESP, {"type": "SOURCE_MESSAGE_ID", "value": 9}, {"type": "DATA", "name": "s", "value": 404}),
        {"status": "404", "failed": True, "id": "9"},
    ),
    (
        "esnp: a good status",
        "esnp-line",
        esnp(RESP, {"type": "SOURCE_MESSAGE_ID", "value": 9}, {"type": "DATA", "name": "s", "value": 200}),
        {"status": "200", "id": "9"},
    ),
    (
        "esnp: an error",
        "esnp-line",
        esnp(RESP, {"type": "SOURCE_MESSAGE_ID", "value": 9}, {"type": "ERROR", "text": "gone"}),
        {"exception": "gone", "failed": True, "id": "9"},
    ),
    (
        "mevent: plugin and command",
        "mevent",
        {
            "request": {
                "version": 1,
                "id": 5,
                "command": 1000,
                "flags": 2,
                "plugin": "skeleton",
                "variables": [],
                "eof": True,
            }
        },
        {"service": "skeleton", "method": "STATS", "id": "5"},
    ),
    ("mevent: ok", "mevent", mevent_reply(1000), {"status": "REP_OK", "id": "5"}),
    ("mevent: the application's own ok", "mevent", mevent_reply(1001), {"status": "1001", "id": "5"}),
    (
        "mevent: an error",
        "mevent",
        mevent_reply(25, errmsg="bad"),
        {"status": "REP_ERR_APP", "exception": "bad", "failed": True, "id": "5"},
    ),
    (
        "http: host and path",
        "http",
        http("GET /a/b?c=d HTTP/1.1", ("Host", "h.x:81"), ("traceparent", TRACE)),
        {"service": "h.x:81", "method": "/a/b", "trace": TRACE},
    ),
    (
        "http: through a proxy",
        "http",
        http("GET http://h.x HTTP/1.1", ("Accept", "*/*")),
        {"service": "h.x", "method": "/"},
    ),
    (
        "http: a status that is an error",
        "http",
        http("HTTP/1.1 503 Service Unavailable", LENGTH),
        {"status": "503 Service Unavailable", "failed": True},
    ),
    ("http: ok", "http", http("HTTP/1.1 204 No Content"), {"status": "204 No Content"}),
    (
        "http: a fault of Hessian",
        "http",
        http("HTTP/1.1 200 OK", HESSIAN, LENGTH, body={"version": "2.0", "fault": FAULT}),
        {"status": "200 OK", "exception": "no such order", "failed": True},
    ),
    ("hessian: a call", "hessian2", {"call": {"method": "find", "arguments": []}}, {"method": "find"}),
    (
        "hessian: a fault with its exception",
        "hessian2",
        {"version": "2.0", "fault": {**FAULT, "detail": BOOM}},
        {"exception": "com.x.OrderException", "failed": True},
    ),
    (
        "magline: a business command",
        "magline",
        {
            "magic": 1,
            "version": 1,
            "cmd": "REQ",
            "head_optional": 0,
            "seq": 3,
            "byte_order": "big",
            "head": "",
            "body": {"business_cmd": 12, "hmac": "00" * 16, "data": ""},
        },
        {"method": "12", "id": "3"},
    ),
    (
        "magline: an error",
        "magline",
        {
            "magic": 1,
            "version": 1,
            "cmd": "ERR",
            "head_optional": 0,
            "seq": 3,
            "byte_order": "big",
            "head": "",
            "body": {"business_cmd": 12, "error": 5},
        },
        {"status": "5", "failed": True, "id": "3"},
    ),
    (
        "framed: a request of XXL-RPC",
        "framed-hessian",
        {
            "hessian": "hessian2",
            "values": [
                {"$class": "com.x.Request", "requestId": "6b", "className": SERVICE, "methodName": "find"}
            ],
        },
        {"service": SERVICE, "method": "find", "id": "6b"},
    ),
    (
        "framed: its reply with an error",
        "framed-hessian",
        {
            "hessian": "hessian2",
            "values": [
                {"$class": "com.x.Response", "requestId": "6b", "errorMsg": "no\nat x", "result": None}
            ],
        },
        {"exception": "no", "failed": True, "id": "6b"},
    ),
]


@pytest.mark.parametrize(("name", "protocol", "written", "facts"), CASES, ids=[case[0] for case in CASES])
def test_facts(name: str, protocol: str, written: Any, facts: dict[str, Any]) -> None:
    (record,) = codecs.decode(codecs.encode([written], protocol), protocol)
    assert record.root is not None
    assert record.codec is not None
    found = record.codec.call(record.root)
    stated = {member: getattr(found, member) for member in SET}
    assert {member: value for member, value in stated.items() if value not in ("", None, False)} == facts


def test_the_line_of_an_error() -> None:
    assert error_line("\n  one \n two") == "one"
    assert error_line("") == ""
    assert len(error_line("x" * 10_000)) == ERROR_SHOWN
