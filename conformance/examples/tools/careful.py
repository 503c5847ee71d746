"""One tool with a mandatory reference, in Python's standard library: JSON-RPC on standard input and output."""

import fcntl, hashlib, json, os, re, sys, threading, time
import urllib.error, urllib.parse, urllib.request

BASE, KEY = os.environ["BASE_URL"], os.environ["API_KEY"]
LIMIT = int(os.environ["TIMEOUT_MS"]) / 1000
STATE = os.environ["STATE_DIR"]
TEXT = {"type": "string"}
PAYMENT = {
    "reference": {**TEXT, "description": "Identifies the payment. Repeat a payment with the same reference"},
    "phoneNumber": {**TEXT, "description": "10 to 15 digits"},
    "amount": {"type": "integer", "description": "In the lowest denomination"},
    "country": TEXT,
    "currency": TEXT,
    "purpose": TEXT,
}
PATTERNS = {"reference": r"[\w-]{1,60}", "phoneNumber": r"\d{10,15}", "country": "[A-Z]{2}", "currency": "[A-Z]{3}", "purpose": r"[^\0]{1,500}"}
SAME = ["phoneNumber", "amount", "country", "currency"]


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


opener = urllib.request.build_opener(NoRedirect)


def send(method, path, body=None):
    """Returns the status and the JSON of the service's response, or (0, None) if no complete response came."""
    headers = {"x-api-key": KEY, "content-type": "application/json"}
    request = urllib.request.Request(BASE + path, body and json.dumps(body).encode(), headers, method=method)
    try:
        with opener.open(request, timeout=LIMIT) as response:
            return response.status, json.loads(response.read(1_000_000))
    except urllib.error.HTTPError as error:
        try:
            content = json.loads(error.read(1_000_000))
            return (error.code, content) if content["statusCode"] == error.code and content["code"] else (0, None)
        except Exception:
            return 0, None
    except Exception:
        return 0, None


def find(payment):
    """Returns the status of the payout with this reference, "other" if it is another payment, or None."""
    query = urllib.parse.urlencode({"merchantsReference": payment["reference"]})
    status, content = send("GET", "/v1/disbursements?" + query)
    try:
        for item in content["data"]["items"] if status == 200 else []:
            if item["merchantsReference"] == payment["reference"]:
                found = {**item, "phoneNumber": item["customer"]["phoneNumber"]}
                return item["status"] if all(found[name] == payment[name] for name in SAME) else "other"
    except (KeyError, TypeError):
        pass
    return None


def path_of(reference):
    return os.path.join(STATE, hashlib.sha256(reference.encode()).hexdigest() + ".json")


def read(reference):
    try:
        with open(path_of(reference)) as file:
            return json.load(file)
    except FileNotFoundError:
        return None


def write(payment, state):
    path = path_of(payment["reference"])
    with open(path + ".new", "w") as file:
        json.dump({"payment": payment, "state": state}, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def twin(payment):
    """Returns true if another reference, which was not given up, pays the same amount to the same recipient."""
    for name in os.listdir(STATE):
        if name.endswith(".json") and os.path.join(STATE, name) != path_of(payment["reference"]):
            with open(os.path.join(STATE, name)) as file:
                kept = json.load(file)
            if kept["state"] != "free" and all(kept["payment"][each] == payment[each] for each in SAME):
                return True
    return False


def told(payment, status):
    """Keeps a status of the service, and returns it as a result."""
    write(payment, "free" if status == "failed" else "paid")
    return {"result": status if status in ("success", "failed") else "pending"}


REFUSED = {"result": "refused", "paid": False}
UNKNOWN = {"result": "unknown", "next": "Repeat this call with the same reference. Make no other payment for it."}


def pay(payment):
    kept = read(payment["reference"])
    if kept and any(kept["payment"][name] != payment[name] for name in SAME):
        return {**REFUSED, "why": "This reference belongs to another payment."}
    if twin(payment):
        return {**REFUSED, "why": "Another reference may have paid this. Repeat that one."}
    was_sent = bool(kept) and kept["state"] in ("open", "paid")
    write(payment, "open")
    body = {name: payment[name] for name in ["reference", *SAME]}
    for attempt in range(4):
        status, content = send("POST", "/v1/disbursements", body)
        data = content.get("data") if status == 200 and isinstance(content, dict) else None
        if isinstance(data, dict) and data.get("merchantsReference") == payment["reference"] and data.get("amount") == payment["amount"] and "status" in data:
            return told(payment, data["status"])
        if status == 409:
            found = find(payment)
            if found == "other":
                write(payment, "free")
                return {**REFUSED, "why": "The service has another payment with this reference."}
            if found:
                return told(payment, found)
            was_sent = True
        elif 400 <= status < 500 and status != 429 and not was_sent:
            write(payment, "free")
            return {**REFUSED, "why": {"data": str(content.get("message"))[:200]}}
        elif status != 429:
            was_sent = True
        time.sleep(0.05 * 2**attempt)
    found = find(payment)
    return told(payment, found) if found and found != "other" else UNKNOWN


def is_valid(args):
    texts = all(isinstance(args.get(name), str) and re.fullmatch(pattern, args[name], re.S) for name, pattern in PATTERNS.items())
    return texts and type(args.get("amount")) is int and 0 < args["amount"] < 2**53


def call(name, args):
    if name == "get_payout":
        kept = read(str(args.get("reference")))
        if not kept or kept["state"] == "open":
            found = find(kept["payment"]) if kept else None
            return told(kept["payment"], found) if found and found != "other" else (UNKNOWN if kept else {"result": "pending", "paid": False})
        found = find(kept["payment"])
        if kept["state"] == "free" and found in (None, "other"):
            return REFUSED
        return told(kept["payment"], found) if found and found != "other" else UNKNOWN
    if not is_valid(args):
        return {**REFUSED, "why": "The arguments are not valid."}
    # One payment at a time, also of other processes.
    with open(os.path.join(STATE, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return pay(args)


def schema(properties):
    return {"type": "object", "properties": properties, "required": list(properties)}


TOOLS = [
    {"name": "send_payout", "description": "Pays a reference at most once, however often it is called.", "inputSchema": schema(PAYMENT), "annotations": {"idempotentHint": True}},
    {"name": "get_payout", "description": "Reads a payment.", "inputSchema": schema({"reference": TEXT}), "annotations": {"readOnlyHint": True}},
]


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "careful", "version": "1"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        result = call(params["name"], params.get("arguments") or {})
        return {"content": [{"type": "text", "text": json.dumps(result)}], "structuredContent": result}
    return {} if method == "ping" else None


printing = threading.Lock()


def serve(message):
    result = answer(message["method"], message.get("params") or {})
    said = {"error": {"code": -32601, "message": "no such method"}} if result is None else {"result": result}
    with printing:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}), flush=True)


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        threading.Thread(target=serve, args=(message,), daemon=True).start()
