"""Python's standard library alone."""

import base64
import hashlib
import hmac
import json
import os
import sqlite3
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KNOWN = {"disbursement.completed", "disbursement.failed", "checkout.completed", "checkout.failed", "checkout.cancelled"}
NAMES = ("WEBHOOK_SECRET", "WEBHOOK_SECRET_OLD")
KEYS = [base64.b64decode(os.environ[name].removeprefix("whsec_")) for name in NAMES if os.environ.get(name)]
DATABASE = os.environ.get("BOOKINGS", "bookings.db")
LARGEST = 1024 * 1024


def connect():
    return sqlite3.connect(DATABASE, timeout=1)


def is_authentic(headers, body):
    webhook_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not webhook_id or not timestamp.isdigit() or abs(time.time() - int(timestamp)) > 300:
        return False
    signed = f"{webhook_id}.{timestamp}.".encode() + body
    valid = ["v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode() for key in KEYS]
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(one.encode(), other.encode()) for one in given for other in valid)


def book(webhook_id, event, data):
    """Remembers an event and books it in one transaction, unless it was booked before."""
    with connect() as db:
        if db.execute("INSERT INTO events VALUES (?) ON CONFLICT DO NOTHING", (webhook_id,)).rowcount == 1:
            row = (webhook_id, event, data["reference"], data["merchantsReference"], data["amount"])
            db.execute("INSERT INTO bookings VALUES (?, ?, ?, ?, ?)", row)


class Receiver(BaseHTTPRequestHandler):
    def respond(self, status, body=b""):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        length = int(self.headers.get("content-length", 0))
        if length > LARGEST:
            self.close_connection = True
            return self.respond(413)
        body = self.rfile.read(length)
        if not is_authentic(self.headers, body):
            return self.respond(400)
        try:
            webhook = json.loads(body)
            event, data = webhook["event"], webhook["data"]
        except (ValueError, TypeError, KeyError):
            return self.respond(400)
        try:
            if event in KNOWN:
                book(self.headers["webhook-id"], event, data)
        except sqlite3.Error as error:
            self.log_message("%s", error)
            return self.respond(500)
        self.respond(204)

    def do_GET(self):
        if self.path != "/effects":
            return self.respond(405)
        rows = connect().execute("SELECT id, reference, merchantsReference, amount FROM bookings")
        names = ("id", "reference", "merchantsReference", "amount")
        self.respond(200, json.dumps([dict(zip(names, row)) for row in rows]).encode())

    def do_PUT(self):
        self.respond(405)

    do_DELETE = do_PUT


class Server(ThreadingHTTPServer):
    request_queue_size = 128


with connect() as database:
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY)")
    columns = "id TEXT, event TEXT, reference TEXT, merchantsReference TEXT, amount INTEGER"
    database.execute(f"CREATE TABLE IF NOT EXISTS bookings ({columns})")
Server(("127.0.0.1", int(os.environ.get("PORT", "8080"))), Receiver).serve_forever()
