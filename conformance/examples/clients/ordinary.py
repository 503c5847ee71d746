"""A client as it is often written: it retries with the same reference, and takes statuses at their word."""

import json, os, sys, time
import urllib.error, urllib.request

BASE, KEY = os.environ["BASE_URL"], os.environ["API_KEY"]
LIMIT = int(os.environ["TIMEOUT_MS"]) / 1000
OUTCOMES = {"success": "paid", "failed": "failed", "pending": "pending"}

def pay(entry):
    headers = {"x-api-key": KEY, "content-type": "application/json"}
    for attempt in range(5):
        request = urllib.request.Request(BASE + "/v1/disbursements", json.dumps(entry).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=LIMIT) as response:
                return OUTCOMES[json.load(response)["data"]["status"]]
        except urllib.error.HTTPError as error:
            if error.code == 409:
                return "paid"
            if error.code < 500 and error.code != 429:
                return "refused"
        except Exception as error:
            print(error, file=sys.stderr)
        time.sleep(0.1 * 2**attempt)
    return "failed"

for line in sys.stdin:
    entry = json.loads(line)
    print(json.dumps({"reference": entry["reference"], "outcome": pay(entry)}), flush=True)
