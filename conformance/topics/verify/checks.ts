// Checks the verification of a disbursement (§2.3, §4.2).
import { exceeded } from "../../allowances/table.ts";
import { judges, type Context, type Check } from "../../check.ts";
import { expectData, expectStatus, same } from "../../steps/expect.ts";
import { disbursementBody, checkoutBody, someAddress } from "../../steps/bodies.ts";
import { dataOf, isAccepted } from "../../target/exchange.ts";
import { get, pay, startCheckout, verifyDisbursement } from "../../steps/requests.ts";
import { paid, verified, recordOf } from "../../steps/records.ts";
import { settled } from "../../steps/settlement.ts";
import { textOf } from "../../target/values.ts";
import { referencesOf } from "../../steps/checkouts.ts";

const isInstant = (value: unknown) => typeof value === "string" && new Date(value).toJSON() === value;

const odd = ({ target: { merchant } }: Context) => [
  `${merchant.name}%20space`,
  `${merchant.name}%00null`,
  "%2e%2e%2f%2e%2e",
  `${merchant.name}%2Fslash`,
  "%F0%9F%92%B8",
  "%27%20OR%20%271%27%3D%271",
  "*",
  "%25",
  "x".repeat(2000),
];

export const checks: readonly Check[] = [
  judges(
    [
      "verify.found",
      "verify.status-known",
      "verify.timestamps",
      "verify.agrees-with-create",
      "verify.customer",
      "verify.webhook-address",
      "verify.record-shape",
    ],
    // Another check that moves the clock would settle the payout before its status is judged.
    { pays: 1, upTo: 12_345, alone: true },
    async (context) => {
      const webhookURL = someAddress(context);
      const { body, response: created, reference: service } = await paid(context, { amount: 12_345, webhookURL });
      const response = await verifyDisbursement(context, service);
      const when = "for the reference of a new disbursement";
      expectStatus(context, "verify.found", response, 200, when, [created, response]);
      const record = dataOf(response);
      const known = ["pending", "success", "failed"].includes(record["status"] as string);
      context.judge("verify.status-known", known, "status pending, success or failed", response);
      const { createdAt, updatedAt } = record;
      const areInstants = isInstant(createdAt) && isInstant(updatedAt);
      const times = `createdAt ${JSON.stringify(createdAt)}, updatedAt ${JSON.stringify(updatedAt)}`;
      context.judge("verify.timestamps", areInstants, "timestamps like 2026-01-31T09:30:00.000Z", times, response);
      const { phoneNumber, webhookURL: _, ...others } = recordOf(body, dataOf(created));
      expectData(context, "verify.agrees-with-create", response, others, "in the record", [created, response]);
      const kept = (record["customer"] as { phoneNumber?: unknown } | undefined)?.phoneNumber === phoneNumber;
      const number = "the recipient's phone number as it was sent";
      context.judge("verify.customer", kept, number, ["a different number, or none"], response);
      const { webhookURL: shown } = record;
      context.judge("verify.record-shape", typeof shown === "string", "webhookURL, a string", response);
      same(context, "verify.webhook-address", "webhookURL", shown, webhookURL, response);
    },
  ),
  judges(["verify.found", "verify.status-known"], { existing: true }, async (context, id) => {
    const { payout: reference = "" } = context.options;
    const response = await verifyDisbursement(context, reference);
    expectData(context, id, response, { reference }, "for an existing disbursement");
    const known = ["pending", "success", "failed"].includes(dataOf(response)["status"] as string);
    context.judge("verify.status-known", known, "status pending, success or failed", response);
  }),
  judges(
    ["verify.found", "verify.by-merchants-reference"],
    { name: "Only the service reference finds a disbursement", pays: 2 },
    async (context) => {
      const { body, reference, response: created } = await paid(context);
      const { status } = await verifyDisbursement(context, textOf(body["reference"]));
      context.observe("verify.by-merchants-reference", "response status", status ?? "none");
      // A merchant may use the service reference of a payout as its own reference of another payout.
      const named = { ...disbursementBody(context), reference };
      const second = exceeded(context.limits.all, named) === undefined ? [await pay(context, named)] : [];
      const found = await verifyDisbursement(context, reference);
      const record = { reference, merchantsReference: body["reference"] };
      expectData(context, "verify.found", found, record, "for a new disbursement", [created, ...second, found]);
      const checkout = await startCheckout(context, checkoutBody(context));
      const none = "no disbursement for the reference of a checkout";
      for (const other of referencesOf(checkout).slice(0, 3)) {
        const response = await verifyDisbursement(context, other);
        context.judge("verify.found", !isAccepted(response), none, response, [checkout, response]);
      }
    },
  ),
  judges(["verify.unknown-404", "verify.odd-references-404"], {}, async (context) => {
    for (const reference of [context.fresh(), `DSB${context.options.runId.toUpperCase()}`])
      expectStatus(context, "verify.unknown-404", await verifyDisbursement(context, reference), 404, "for no payout");
    for (const reference of odd(context)) {
      const response = await get(context, `/v1/disbursements/${reference}`);
      expectStatus(context, "verify.odd-references-404", response, "4xx", `for ${reference.slice(0, 40)}`);
    }
  }),
  judges("verify.transitions", { pays: 1, alone: true }, async function* (context, id) {
    const { data, reference } = await paid(context);
    const { data: early } = await verified(context, reference);
    yield;
    const { seen } = await settled(context, reference);
    const all = [data.status, early.status, ...seen].filter((status, index, list) => status !== list[index - 1]);
    context.observe(id, "statuses", all);
  }),
];
