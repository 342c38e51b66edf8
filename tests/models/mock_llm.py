"""A provider on loopback that answers deterministically, faults included, in both wire formats.

`python mock_llm.py --port 0` prints its URL. Every option is a server default; a
request overrides any of them in its model name, as a query string:

    mock?tools=5&cmd=echo+hi&latency_ms=20   five turns that call bash, then the final text
    mock?faults=429,500&retry_after=0.2      this conversation's 1st request: 429, 2nd: 500

The reply depends only on the request; only `faults` keeps state, a counter per conversation (model,
system, first user message; or the header X-Mock-Key). `tools` counts the tool-calling turns since
the last plain user message, so each step of a task gets its own.

Faults: ok 429 500 503 529 badjson empty html nochoices truncate trickle hang reset badargs badtool.
badjson, html, empty, nochoices: status 200, a useless body. truncate: a third of the body, then
closes. reset: closes without a byte. trickle: correct, `chunk` bytes each trickle_ms. hang: no
answer for hang_s, then closes. badargs: a tool call whose arguments are no JSON. badtool: one to an
unknown tool. GET /mock/stats: counters, and retries that came before Retry-After was over.
"""

import argparse
import asyncio
import collections
import hashlib
import json
import sys
import time
from urllib.parse import parse_qsl

DEFAULTS = {
    "port": 0,
    "latency_ms": 0.0,
    "tools": 0,
    "parallel": 1,
    "tool": "",
    "cmd": "echo hi",
    "args": "",
    "text": "done",
    "faults": "",
    "retry_after": 1.0,
    "trickle_ms": 5.0,
    "hang_s": 600.0,
    "chunk": 8,
    "pad": 0,
}
STATUS = {
    200: "OK",
    400: "invalid_request_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "api_error",
    503: "api_error",
    529: "overloaded_error",
}
BODIES = {
    "badjson": b'{"id": "x", "choices": [',
    "empty": b"",
    "html": b"<html>502</html>",
    "nochoices": b"{}",
}
STATS = collections.Counter()
TURN = collections.Counter()  # conversation -> requests so far
NOT_BEFORE = {}  # conversation -> when its Retry-After is over


def options(model):
    opts = dict(DEFAULTS)
    for key, value in parse_qsl(model.partition("?")[2], keep_blank_values=True):
        opts[key] = type(DEFAULTS[key])(value)
    return opts


def has(message, kind):
    content = message.get("content")
    return isinstance(content, list) and any(block.get("type") == kind for block in content)


def tool_turns(messages):
    """How many assistant messages called a tool since the last plain user message."""
    turns = 0
    for message in reversed(messages):
        if message["role"] == "user" and not has(message, "tool_result"):
            break
        turns += message["role"] == "assistant" and bool(
            message.get("tool_calls") or has(message, "tool_use")
        )
    return turns


def pick_tool(request, opts):
    """(name, arguments): the tool asked for, else `bash`, else the first; `cmd` is its argument."""
    tools = {}
    for tool in request["tools"]:
        spec = tool.get("function", tool)
        schema = spec.get("parameters") or spec.get("input_schema") or {}
        tools[spec["name"]] = [
            *schema.get("required", []),
            *schema.get("properties", {}),
            "command",
        ][0]
    name = opts["tool"] or ("bash" if "bash" in tools else next(iter(tools)))
    return name, json.loads(opts["args"]) if opts["args"] else {
        tools.get(name, "command"): opts["cmd"]
    }


def plan(request, key, fault, opts):
    """What to say: (text, [(id, name, arguments as JSON text)], (tokens in, tokens out))."""
    turns, messages = tool_turns(request["messages"]), request["messages"]
    text, calls = opts["text"], []
    if request.get("tools") and (turns < opts["tools"] or fault in ("badargs", "badtool")):
        name, args = pick_tool(request, opts)
        name = "no_such_tool" if fault == "badtool" else name
        args = '{"command": "ech' if fault == "badargs" else json.dumps(args)
        text = f"call {turns + 1}"
        calls = [
            (f"call_{key[:8]}_{len(messages)}_{i}", name, args) for i in range(opts["parallel"])
        ]
    text = text.ljust(opts["pad"], "x")
    return (
        text,
        calls,
        (sum(len(str(m.get("content"))) for m in messages) // 4 + 1, len(text) // 4 + 1),
    )


def openai_reply(request, key, said):
    text, calls, (tin, tout) = said
    message = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": i, "type": "function", "function": {"name": n, "arguments": a}}
            for i, n, a in calls
        ]
    return {
        "id": f"chatcmpl-{key}",
        "object": "chat.completion",
        "created": 1700000000,
        "model": request["model"],
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        ],
        "usage": {"prompt_tokens": tin, "completion_tokens": tout, "total_tokens": tin + tout},
    }


def openai_events(request, key, said, size):
    text, calls, _ = said
    whole = openai_reply(request, key, said)
    base = whole | {"object": "chat.completion.chunk"}
    usage = base.pop("usage")
    deltas = [
        {"role": "assistant", "content": ""},
        *({"content": text[i : i + size]} for i in range(0, len(text), size)),
    ]
    for n, (cid, name, args) in enumerate(calls):
        head = {
            "index": n,
            "id": cid,
            "type": "function",
            "function": {"name": name, "arguments": ""},
        }
        deltas.append({"tool_calls": [head]})
        deltas += [
            {"tool_calls": [{"index": n, "function": {"arguments": args[i : i + size]}}]}
            for i in range(0, len(args), size)
        ]
    why = whole["choices"][0]["finish_reason"]
    for delta in [*deltas, {}]:
        yield (
            "",
            base
            | {"choices": [{"index": 0, "delta": delta, "finish_reason": None if delta else why}]},
        )
    if (request.get("stream_options") or {}).get("include_usage"):
        yield "", base | {"choices": [], "usage": usage}
    yield "", "[DONE]"


def anthropic_reply(request, key, said):
    text, calls, (tin, tout) = said
    content = [{"type": "text", "text": text}] if text else []
    content += [
        {"type": "tool_use", "id": i, "name": n, "input": json.loads(a) if a[-1] == "}" else a}
        for i, n, a in calls
    ]
    return {
        "id": f"msg_{key}",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": content,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": tin, "output_tokens": tout},
    }


def anthropic_events(request, key, said, size):
    text, calls, (_, tout) = said
    whole = anthropic_reply(request, key, said)
    yield "message_start", {"message": whole | {"content": [], "stop_reason": None}}
    blocks = [({"type": "text", "text": ""}, "text_delta", "text", text)] if text else []
    blocks += [
        (
            {"type": "tool_use", "id": i, "name": n, "input": {}},
            "input_json_delta",
            "partial_json",
            a,
        )
        for i, n, a in calls
    ]
    for n, (block, kind, field, value) in enumerate(blocks):
        yield "content_block_start", {"index": n, "content_block": block}
        for i in range(0, len(value), size):
            yield (
                "content_block_delta",
                {"index": n, "delta": {"type": kind, field: value[i : i + size]}},
            )
        yield "content_block_stop", {"index": n}
    yield (
        "message_delta",
        {
            "usage": {"output_tokens": tout},
            "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None},
        },
    )
    yield "message_stop", {}


def sse(events):
    for name, data in events:
        head, said = (f"event: {name}\n", {"type": name} | data) if name else ("", data)
        yield f"{head}data: {said if isinstance(said, str) else json.dumps(said)}\n\n".encode()


def response(status, body, extra=""):
    if isinstance(body, str):
        body = {
            "type": "error",
            "error": {"type": STATUS[status], "code": STATUS[status], "message": body},
        }
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return (
        f"HTTP/1.1 {status} {STATUS[status]}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n{extra}\r\n"
    ).encode() + body


class Server(asyncio.Protocol):
    def connection_made(self, transport):
        self.buffer, self.transport, self.task = b"", transport, None
        STATS["connections"] += 1

    def connection_lost(self, exc):
        self.task and self.task.cancel()

    def data_received(self, data):
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            first, *lines = self.buffer[:end].decode("latin-1").split("\r\n")
            headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
            stop = end + 4 + int(headers.get("content-length", 0))
            if len(self.buffer) < stop:
                return
            body, self.buffer = self.buffer[end + 4 : stop], self.buffer[stop:]
            self.route(first.split(" ")[1].partition("?")[0], headers, body)

    def route(self, path, headers, body):
        if path == "/mock/reset":
            STATS.clear(), TURN.clear(), NOT_BEFORE.clear()
        if path in (
            pages := {
                "/mock/stats": STATS,
                "/mock/reset": {},
                "/v1/models": {"data": [{"id": "mock"}]},
            }
        ):
            self.transport.write(response(200, pages[path]))
            return
        if path not in ("/v1/chat/completions", "/v1/messages"):
            self.transport.write(response(404, "no such route"))
            return
        try:
            request = json.loads(body)
            opts, messages = options(request["model"]), request["messages"]
            head = [m["content"] for m in messages if m["role"] != "assistant"][
                : 1 + (messages[0]["role"] == "system")
            ]
        except (ValueError, LookupError, TypeError, AttributeError) as exc:
            self.transport.write(response(400, f"bad request: {exc!r}"))
            return
        key = headers.get("x-mock-key") or json.dumps(
            [request["model"], request.get("system"), head]
        )
        key = hashlib.sha256(key.encode()).hexdigest()[:16]
        fault = [*opts["faults"].split(","), "ok"][
            min(TURN[key], opts["faults"].count(",") + 1)
        ] or "ok"
        TURN[key] += 1
        STATS.update(
            requests=1,
            too_early=time.monotonic() < NOT_BEFORE.pop(key, 0.0),
            **{f"fault_{fault}": 1},
        )
        job = request, key, fault, opts, path == "/v1/messages"
        if not opts["latency_ms"] and (fault.isdigit() or fault in ("ok", "badargs", "badtool")):
            self.transport.write(self.answer(*job))
        else:
            self.task = asyncio.get_running_loop().create_task(self.slow(*job))

    def answer(self, request, key, fault, opts, anthropic):
        if fault == "429":
            NOT_BEFORE[key] = time.monotonic() + opts["retry_after"]
        if fault.isdigit():
            after = f"Retry-After: {opts['retry_after']:g}\r\n"
            return response(int(fault), f"mock {fault}", after if fault in ("429", "503") else "")
        said = plan(request, key, fault, opts)
        if not request.get("stream"):
            return response(
                200, (anthropic_reply if anthropic else openai_reply)(request, key, said)
            )
        events = (anthropic_events if anthropic else openai_events)(
            request, key, said, opts["chunk"]
        )
        return (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
            + b"".join(b"%x\r\n%s\r\n" % (len(c), c) for c in sse(events))
            + b"0\r\n\r\n"
        )

    async def slow(self, *job):
        _, _, fault, opts, _ = job
        STATS["in_flight"] += 1
        STATS["peak_in_flight"] = max(STATS["peak_in_flight"], STATS["in_flight"])
        try:
            await asyncio.sleep(opts["latency_ms"] / 1000)
            if fault in ("hang", "reset"):
                await asyncio.sleep(opts["hang_s"] if fault == "hang" else 0)
                return self.transport.abort()
            whole = response(200, BODIES[fault]) if fault in BODIES else self.answer(*job)
            if fault == "truncate":
                body = whole.find(b"\r\n\r\n") + 4
                whole = whole[: body + (len(whole) - body) // 3]
            step, pause = (
                (opts["chunk"], opts["trickle_ms"] / 1000)
                if fault == "trickle"
                else (len(whole), 0)
            )
            for i in range(0, len(whole), step):
                self.transport.write(whole[i : i + step])
                await asyncio.sleep(pause)
            if fault == "truncate":
                self.transport.close()
        finally:
            STATS["in_flight"] -= 1


async def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, value in DEFAULTS.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(value), default=value)
    DEFAULTS.update(vars(parser.parse_args()))
    server = await asyncio.get_running_loop().create_server(
        Server, "127.0.0.1", DEFAULTS["port"], backlog=4096
    )
    sys.stdout.write(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    try:
        from uvloop import run
    except ImportError:
        from asyncio import run
    run(main())
