"""An ordinary client in Python, with nothing but the standard library."""

import json, os, sys, time
import urllib.error, urllib.parse, urllib.request

BASE, KEY = os.environ["BASE_URL"], os.environ["API_KEY"]
LIMIT = int(os.environ.get("TIMEOUT_MS", "15000")) / 1000
OUTCOMES = {"success": "paid", "failed": "failed", "pending": "pending"}


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


opener = urllib.request.build_opener(NoRedirects)


def call(path, body=None):
    """Returns status, headers and the parsed body; None for what did not arrive."""
    headers = {"x-api-key": KEY, "content-type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    try:
        response = opener.open(urllib.request.Request(BASE + path, data, headers), timeout=LIMIT)
    except urllib.error.HTTPError as error:
        response = error
    except Exception:
        return None, {}, None
    try:
        return response.status, response.headers, json.loads(response.read(1_000_000))
    except Exception:
        return response.status, response.headers, None


def find(entry, location):
    path = urllib.parse.urlsplit(location or "").path
    if path.startswith("/v1/disbursements/"):
        status, _, body = call("/v1/disbursements/" + path.split("/")[-1])
        if status == 200 and body and body["data"]["merchantsReference"] == entry["reference"]:
            return body["data"]
    query = urllib.parse.urlencode({"merchantsReference": entry["reference"]})
    status, _, body = call("/v1/disbursements?" + query)
    items = body["data"]["items"] if status == 200 and body else []
    return next((item for item in items if item["merchantsReference"] == entry["reference"]), None)


def same(entry, found):
    fields = ("amount", "country", "currency")
    return found["customer"]["phoneNumber"] == entry["phoneNumber"] and all(found[f] == entry[f] for f in fields)


def pay(entry):
    doubt = False
    for attempt in range(9):
        status, headers, body = call("/v1/disbursements", entry)
        data = (body.get("data") if isinstance(body, dict) else None) or {}
        own = isinstance(body, dict) and body.get("statusCode") == status and "error" in body
        if status == 200 and data.get("merchantsReference") == entry["reference"]:
            return OUTCOMES[data["status"]]
        if status == 409 and own:
            found = find(entry, headers.get("location"))
            if found:
                return OUTCOMES[found["status"]] if same(entry, found) else "refused"
            doubt = True
        elif status and 400 <= status < 500 and status != 429 and own:
            return "unknown" if doubt else "refused"
        elif status != 429:
            doubt = True
        wait = headers.get("retry-after") or ""
        time.sleep(min(int(wait), 5) if wait.isdigit() else 0.05 * 2 ** min(attempt, 4))
    return "unknown" if doubt else "refused"


for line in sys.stdin:
    entry = json.loads(line)
    print(json.dumps({"reference": entry["reference"], "outcome": pay(entry)}), flush=True)
