"""A server on loopback that answers as a test tells it to."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]
Reply = Callable[[BaseHTTPRequestHandler, Body], None]


class Scripted:
    """What was asked, and the replies still to come; afterwards all is answered well."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[tuple[str, dict[str, str], Body]] = []
        self.replies: list[Reply] = []
        self.always: Reply = good


def send(handler: BaseHTTPRequestHandler, status: int, text: str, **headers: str) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(text.encode())))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(text.encode())


def answer(body: Body, n: int | None = None, finish: str = "stop") -> str:
    """Choices that show which sample of which seed they are."""
    texts = [f"{body['seed']}/{i}" for i in range(body.get("n", 1) if n is None else n)]
    choices: list[Body] = [
        {
            "index": i,
            "finish_reason": finish,
            **(
                {"message": {"role": "assistant", "content": text}}
                if "messages" in body
                else {"text": text}
            ),
        }
        for i, text in enumerate(texts)
    ]
    return json.dumps({"choices": choices[::-1], "usage": {"completion_tokens": 7 * len(texts)}})


def good(handler: BaseHTTPRequestHandler, body: Body) -> None:
    send(handler, 200, answer(body))


def fixed(status: int, text: str, **headers: str) -> Reply:
    return lambda handler, _: send(handler, status, text, **headers)


def error(status: int, message: str, **headers: str) -> Reply:
    return fixed(status, json.dumps({"error": {"message": message}}), **headers)


def drop(handler: BaseHTTPRequestHandler, _: Body) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


@contextmanager
def server() -> Iterator[Scripted]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                headers = {name.lower(): value for name, value in self.headers.items()}
                script.asked.append((self.path, headers, body))
                reply = script.replies.pop(0) if script.replies else script.always
            reply(self, body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    lock = threading.Lock()
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    script = Scripted(f"http://127.0.0.1:{httpd.server_address[1]}/v1")
    thread = threading.Thread(target=httpd.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield script
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()
