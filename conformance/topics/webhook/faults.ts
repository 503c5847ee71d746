// Servers whose webhooks are lost, misdirected or false (§6).
import type { Faults } from "../../broken/fault.ts";
import { isOf } from "../../broken/calls.ts";
import { notifies } from "../../broken/memory.ts";
import {
  changesBody,
  changesOutcome,
  delivers,
  drops,
  isOfEvent,
  isPayout,
  recordIn,
  signed,
  setsHeader,
} from "../../broken/webhooks.ts";

export const faults: Faults = {
  "webhook.disbursement-success: A successful payout has no webhook.": drops(isOfEvent("disbursement.completed")),
  "webhook.disbursement-failure: No webhook is sent for a failed payout.": drops(isOfEvent("disbursement.failed")),
  "webhook.checkout-outcome: No webhook is sent for a checkout.": drops((message) => !isPayout(message)),
  "webhook.only-with-address: A refused request triggers a webhook for a failed payout.": notifies(
    (call, { status }) => isOf(call, "createDisbursement") && status !== 401,
  ),
  "webhook.truth: A failed payout is first notified as a success.": delivers(async (message, deliver) => {
    const data = recordIn(message);
    const body = JSON.stringify({ event: "disbursement.completed", data: { ...data, status: "success" } });
    if (data["status"] === "failed" && isPayout(message)) await deliver(signed({ ...message, body }));
    return deliver(message);
  }),
  "webhook.event-names: Events have other names.": changesBody((body) => ({ ...body, event: "payout.done" })),
  "webhook.payload: A webhook contains only the reference.": changesBody(({ event, data }) => ({
    event,
    reference: (data as { reference: string }).reference,
  })),
  "webhook.headers: A webhook has an additional header.": setsHeader("x-event", "1"),
  "webhook.retries: A failed delivery is not retried.": changesOutcome((outcome) =>
    outcome.status === "pending" ? { status: "exhausted" } : outcome,
  ),
};
