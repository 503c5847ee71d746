"""A careful client in Python, with nothing but the standard library."""

import email.utils, json, os, sys, time
import urllib.error, urllib.parse, urllib.request

BASE, KEY = os.environ["BASE_URL"], os.environ["API_KEY"]
LIMIT = int(os.environ["TIMEOUT_MS"]) / 1000
OUTCOMES = {"success": "paid", "failed": "failed", "pending": "pending"}
STATE = os.environ.get("STATE_DIR")
NOTES = open(STATE + "/sent", "a+", encoding="utf-8") if STATE else None
IN_DOUBT = {}
if NOTES:
    NOTES.seek(0)
    for line in NOTES.read().split("\n"):
        # A line that a killed start did not finish is about a payment that it had not sent.
        if line.endswith("}"):
            IN_DOUBT.update(json.loads(line))
    NOTES.write("\n")

class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None

opener = urllib.request.build_opener(NoRedirects)

def call(path, entry=None):
    """Returns status, headers and JSON of a response. The status is None if no complete response came in time."""
    headers = {"x-api-key": KEY, "content-type": "application/json"}
    request = urllib.request.Request(BASE + path, json.dumps(entry).encode() if entry else None, headers)
    end, text = time.monotonic() + LIMIT, b""
    try:
        try:
            response = opener.open(request, timeout=LIMIT)
        except urllib.error.HTTPError as error:
            response = error
        # timeout limits each read, not all of them, so a slow response could take for ever.
        while part := response.read1(65536):
            text += part
            if time.monotonic() > end or len(text) > 1_000_000:
                return None, {}, {}
    except Exception:
        return None, {}, {}
    try:
        body = json.loads(text)
    except ValueError:
        body = {}
    return response.status, response.headers, body if isinstance(body, dict) else {}

def record(value):
    """Returns a JSON object, or an empty one: a gateway may send anything."""
    return value if isinstance(value, dict) else {}

def read(entry, reference):
    """Reads the payout with the service's reference. Returns None if it is not the entry's."""
    status, _, body = call("/v1/disbursements/" + urllib.parse.quote(str(reference), safe=""))
    found = record(body.get("data")) if status == 200 else {}
    return found if found.get("merchantsReference") == entry["reference"] else None

def find(entry, location):
    """Reads the payout with the entry's reference: where the Location points, else from the list."""
    path = urllib.parse.urlsplit(location or "").path
    if path.startswith("/v1/disbursements/"):
        if found := read(entry, urllib.parse.unquote(path.split("/")[-1])):
            return found
    status, _, body = call("/v1/disbursements?" + urllib.parse.urlencode({"merchantsReference": entry["reference"]}))
    items = record(body.get("data")).get("items") if status == 200 else []
    for each in items if isinstance(items, list) else []:
        if record(each).get("merchantsReference") == entry["reference"]:
            # An item of a list may lack fields.
            return each if same(entry, each) is not None else read(entry, each.get("reference"))
    return None

def same(entry, found):
    """Returns whether a payout pays the entry, or None if it lacks a field."""
    names = ("amount", "country", "currency")
    pairs = [(entry[name], found.get(name)) for name in names]
    pairs.append((entry["phoneNumber"], record(found.get("customer")).get("phoneNumber")))
    if any(value is None for _, value in pairs):
        return None
    return all(wanted == value for wanted, value in pairs)

def outcome(found):
    """A status that a later version of the contract adds is not final."""
    return OUTCOMES.get(str(found.get("status")), "pending")

def wait(headers):
    text = headers.get("retry-after") or ""
    date = email.utils.parsedate_to_datetime(text) if "GMT" in text else None
    seconds = date.timestamp() - time.time() if date else float(text) if text.isdigit() else 0
    return min(max(seconds, 0), 3)

def note(entry, doubt):
    """Stores whether a payment may have been sent: then a later refusal proves nothing, also in another start."""
    IN_DOUBT[entry["reference"]] = doubt
    if NOTES:
        NOTES.write(json.dumps({entry["reference"]: doubt}) + "\n")
        NOTES.flush()
        os.fsync(NOTES.fileno())

def pay(entry):
    # Without notes, an earlier start may have sent anything.
    doubt = IN_DOUBT.get(entry["reference"], NOTES is None)
    note(entry, True)
    outcome = send(entry, doubt)
    if outcome == "refused":
        note(entry, False)
    return outcome

def send(entry, doubt):
    for attempt in range(9):
        status, headers, body = call("/v1/disbursements", entry)
        data = record(body.get("data"))
        if status == 200 and data.get("merchantsReference") == entry["reference"] and data.get("amount") == entry["amount"]:
            return outcome(data)
        # Only the service's own JSON says no. A gateway's page says nothing about the payout, and its JSON has no code.
        refused = status is not None and 400 <= status < 500 and body.get("statusCode") == status and "code" in body
        if refused and status == 409:
            found = find(entry, headers.get("location"))
            if found and same(entry, found) is not None:
                return outcome(found) if same(entry, found) else "refused"
            doubt = True
        elif refused and status != 429:
            # After a lost response a refusal may be due to the payout itself, for example for lack of balance.
            return "unknown" if doubt else "refused"
        elif status != 429:
            doubt = True
        time.sleep(wait(headers) + 0.05 * 2 ** min(attempt, 4))
    return "unknown" if doubt else "refused"

for line in sys.stdin:
    entry = json.loads(line)
    print(json.dumps({"reference": entry["reference"], "outcome": pay(entry)}), flush=True)
