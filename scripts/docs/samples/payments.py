import json, os, urllib.request

def call(method, path, body=None):
    headers = {"x-api-key": os.environ["API_KEY"], "content-type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(os.environ["BASE_URL"] + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)["data"]

# createDisbursement
payout = call("POST", "/v1/disbursements", {
    "reference": "sample-py-1",
    "amount": 1500000,  # 15 000.00: 100 is one unit, in every currency
    "phoneNumber": "2257038102473",
    "country": "CI",
    "currency": "XOF",
})
print(payout["reference"], payout["status"])

# verifyDisbursement
print(call("GET", f"/v1/disbursements/{payout['reference']}")["status"])

# listDisbursements
for item in call("GET", "/v1/disbursements?status=pending")["items"]:
    print(item["merchantsReference"], item["status"])

# createCheckout
checkout = call("POST", "/v1/checkouts", {
    "amount": 250000,
    "country": "CI",
    "currency": "XOF",
    "redirectURL": "https://merchant.example/thanks",
})
print(checkout["url"])

# verifyCheckout
print(call("GET", f"/v1/checkouts/{checkout['reference']}")["status"])

# listCheckouts
for item in call("GET", "/v1/checkouts")["items"]:
    print(item["reference"], item["status"])

# listBalances
for balance in call("GET", "/v1/balances")["items"]:
    print(balance["currency"], balance["available"])

# listStatements
for entry in call("GET", "/v1/statements")["items"]:
    print(entry["kind"], entry["amount"])
