"""A bank that looks for a reference, and remembers it WINDOW_MS later. With WINDOW_MS=0 it does both in one step."""

import json
import os
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

window = int(os.environ["WINDOW_MS"]) / 1000
one_step = threading.Lock()
used = set()
records = {}


def is_new(reference):
    if window > 0:
        if reference in used:
            return False
        time.sleep(window)
        used.add(reference)
        return True
    with one_step:
        if reference in used:
            return False
        used.add(reference)
        return True


class Bank(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self, status, body):
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def refuse(self, status, error):
        self.reply(status, {"statusCode": status, "error": error})

    def is_merchant(self):
        if (self.headers.get("x-api-key") or "").startswith("bank-key-"):
            return True
        self.refuse(401, "The key is missing or wrong.")
        return False

    def do_GET(self):
        if self.path == "/healthz":
            return self.reply(200, {"status": "ok", "environment": "sandbox"})
        if not self.is_merchant():
            return None
        record = records.get(unquote(self.path.removeprefix("/v1/disbursements/")))
        if record is None:
            return self.refuse(404, "There is no such disbursement.")
        return self.reply(200, {"statusCode": 200, "data": record})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self.is_merchant():
            return None
        if self.path != "/v1/disbursements":
            return self.refuse(404, "There is no such path.")
        given = json.loads(body)
        if not is_new(given["reference"]):
            return self.refuse(409, "The reference was used before.")
        created = {
            "reference": str(uuid.uuid4()),
            "merchantsReference": given["reference"],
            "amount": given["amount"],
            "fee": 0,
            "status": "success",
        }
        rest = {name: given.get(name) for name in ("country", "currency", "webhookURL")}
        records[created["reference"]] = {**rest, "customer": {"phoneNumber": given["phoneNumber"]}, **created}
        return self.reply(200, {"statusCode": 200, "data": created})

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128


Server(("127.0.0.1", int(os.environ["PORT"])), Bank).serve_forever()
