"""Parses the contract's example request and webhook events with the classes that quicktype generated."""

import json

import payments

CLASSES = {
    payments.EventName.DISBURSEMENT_COMPLETED: payments.DisbursementCompletedEvent,
    payments.EventName.DISBURSEMENT_FAILED: payments.DisbursementFailedEvent,
    payments.EventName.CHECKOUT_COMPLETED: payments.CheckoutCompletedEvent,
    payments.EventName.CHECKOUT_FAILED: payments.CheckoutFailedEvent,
    payments.EventName.CHECKOUT_CANCELLED: payments.CheckoutCancelledEvent,
}
assert set(CLASSES) == set(payments.EventName), "every event has a class"

with open("examples.json", encoding="utf-8") as file:
    examples = json.load(file)

request = payments.DisbursementRequest.from_dict(examples["request"])
assert request.to_dict() == examples["request"], "the request keeps every field"

# A status that a later version adds can be read, and so can its codes.
created = payments.DisbursementCreatedEnvelope.from_dict(examples["addedStatus"])
assert created.data.status == "reversed", "an added status keeps its name"
assert payments.ErrorResponse.from_dict(examples["addedCode"]).code == "asleep"

assert {body["event"] for body in examples["events"]} == {name.value for name in CLASSES}
for body in examples["events"]:
    name = payments.EventName(body["event"])
    event = CLASSES[name].from_dict(body)
    assert [member.value for member in type(event.event)] == [name.value], "the class names its event"
    assert event.data.reference == body["data"]["reference"]
    assert event.data.amount == body["data"]["amount"]
