"""The members of frames with Hessian in JSON: those of the message in it, and the dialect."""

from typing import Final

from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.schema import MESSAGES
from wirelens.codecs.hessian.schema import SCHEMAS as HESSIAN
from wirelens.codecs.payload import PROTOCOLS
from wirelens.codecs.schema import DAMAGED, PARTIAL, Notation, Schema, word

DIALECT: Final = word("hessian", PROTOCOLS, "the dialect of the message", "hessian2")
FRAME: Final = Schema(
    "message: one of these, and what goes with it", *MESSAGES[d.FINAL].members.values(), DIALECT
)
DATA: Final = Schema("message that is not decoded", *DAMAGED, PARTIAL, DIALECT)
_INSIDE: Final = HESSIAN[d.NAMES[d.FINAL]]

SCHEMAS: Final = {
    "framed-hessian": Notation(
        (FRAME, *_INSIDE.objects[1:], *HESSIAN[d.NAMES[d.V1]].objects[1:3], DATA),
        {
            "request": {
                "values": [
                    {
                        "$class": "com.xxl.rpc.remoting.net.params.XxlRpcRequest",
                        "requestId": "7",
                        "className": "com.example.shop.OrderService",
                        "methodName": "find",
                        "parameters": ["Ada"],
                    }
                ]
            },
            "response": {
                "values": [
                    {
                        "$class": "com.xxl.rpc.remoting.net.params.XxlRpcResponse",
                        "requestId": "7",
                        "result": "found",
                    }
                ]
            },
        },
        _INSIDE.values,
    )
}
