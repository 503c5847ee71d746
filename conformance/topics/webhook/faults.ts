// Servers whose webhooks are lost, misdirected, false, late, repeated or signed incorrectly (§6, D11, D12).
import { isOf, withKey, type Fields } from "../../broken/calls.ts";
import { data, forwards } from "../../broken/changes.ts";
import type { Faults, Message } from "../../broken/fault.ts";
import { notifies } from "../../broken/memory.ts";
import {
  changesBody,
  changesMessage,
  changesOutcome,
  changesRecord,
  delivers,
  drops,
  isOfEvent,
  isPayout,
  losesHeader,
  recordIn,
  setsHeader,
  signed,
  timestampOf,
  withWebhookHeaders,
} from "../../broken/webhooks.ts";

const renames = (from: string, to: string) =>
  changesBody((body) => ({ ...body, event: String(body["event"]).replace(from, to) }));

const otherSecret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
/** Sends another timestamp, under a valid signature. */
const dates = (change: (message: Message) => number) =>
  changesMessage((message) => signed(withWebhookHeaders(message, { "webhook-timestamp": String(change(message)) })));

export const faults: Faults = {
  "webhook.disbursement-success: A successful payout has no webhook.": drops(isOfEvent("disbursement.completed")),
  "webhook.disbursement-failure: No webhook is sent for a failed payout.": drops(isOfEvent("disbursement.failed")),
  "webhook.checkout-outcome: No webhook is sent for a checkout.": drops((message) => !isPayout(message)),
  "webhook.only-with-address: A refused request triggers a webhook for a failed payout.": notifies(
    (call, { status }) => isOf(call, "createDisbursement") && status !== 401,
  ),
  "webhook.truth: A failed payout is first notified as a success.": delivers(async (message, deliver) => {
    const record = recordIn(message);
    const body = JSON.stringify({ event: "disbursement.completed", data: { ...record, status: "success" } });
    if (record["status"] === "failed" && isPayout(message)) await deliver(signed({ ...message, body }));
    return deliver(message);
  }),
  "webhook.event-names: Events have other names.": changesBody((body) => ({ ...body, event: "payout.done" })),
  "webhook.payload: A webhook contains only the reference.": changesBody((body) => ({
    event: body["event"],
    reference: (body["data"] as { reference: string }).reference,
  })),
  "webhook.headers: A webhook has an additional header.": setsHeader("x-event", "1"),
  "webhook.retries: A failed delivery is not retried.": changesOutcome((outcome) =>
    outcome.status === "pending" ? { status: "exhausted" } : outcome,
  ),
  "events.disbursement: The event of a failed payout is disbursement.completed.": renames(
    "disbursement.failed",
    "disbursement.completed",
  ),
  "events.checkout: A cancelled checkout's event is checkout.failed.": renames("checkout.cancelled", "checkout.failed"),
  "events.data-is-the-record: An event's amount differs from the record's by 1.": changesRecord((record) => ({
    ...record,
    amount: Number(record["amount"]) + 1,
  })),
  "events.json: Events are sent as text/plain.": setsHeader("content-type", "text/plain"),
  "events.once: Each event is sent twice with two webhook-ids.": delivers(async (message, deliver) => {
    const id = `${message.headers["webhook-id"]?.slice(0, -1)}x`;
    const reply = await deliver(message);
    await deliver(signed(withWebhookHeaders(message, { "webhook-id": id })));
    return reply;
  }),
  "signature.headers: Webhooks are not signed.": losesHeader("webhook-signature"),
  "signature.headers: webhook-timestamp is in milliseconds.": dates((message) => timestampOf(message) * 1000),
  "signature.timestamp-real: webhook-timestamp is in sandbox time.": dates(({ at }) => Math.floor(at / 1000)),
  "signature.verifies: Webhooks are signed with a secret that is not the merchant's.": changesMessage((message) =>
    signed(message, [otherSecret]),
  ),
  "signature.verifies: The signature is computed over the body in Latin-1.": changesMessage((message) => ({
    ...signed({ ...message, body: Buffer.from(message.body, "latin1").toString("latin1") }),
    body: message.body,
  })),
  "signature.rotation: After a rotation the old secret stops signing immediately.": changesMessage((message) =>
    signed(message, message.secrets.slice(0, 1)),
  ),
  "signature.rotation: After a rotation the old secret never stops signing.": () => {
    const all = new Set<string>();
    return changesMessage((message) => {
      for (const secret of message.secrets) all.add(secret);
      return signed(message, [...new Set([...message.secrets, ...all])]);
    });
  },
  "signature.rotation-own: Merchants share one webhook secret.": forwards((call, { secondKey }) =>
    isOf(call, "readWebhookSecret") ? withKey(call, secondKey) : call,
  ),
  "signature.five-secrets: An old secret never expires.": data("readWebhookSecret", ({ secret, previousSecrets }) => {
    const old = [{ secret, expiresAt: "2020-01-01T00:00:00.000Z" }];
    return { secret, previousSecrets: (previousSecrets as Fields[]).length === 0 ? old : previousSecrets };
  }),
};
