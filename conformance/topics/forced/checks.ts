// Checks the outcomes that the last three digits of the phone number force in a sandbox, and that a failed payment says
// why it failed in every place (D17, D75).
import { judges, type Check, given } from "../../check.ts";
import { expectStatus, same } from "../../steps/expect.ts";
import { first, mailbox } from "../../steps/notifications.ts";
import { listed } from "../../steps/responses.ts";
import { dataOf } from "../../target/exchange.ts";
import { disbursementBody } from "../../steps/bodies.ts";
import { listNamed, pay } from "../../steps/requests.ts";
import { paid, verified } from "../../steps/records.ts";
import { advance, forcing } from "../../steps/sandbox-controls.ts";
import { settled, settledByClock } from "../../steps/settlement.ts";
import { otherStatus } from "../webhook/checks.ts";

/**
 * Client timeout for a delayed response. It is shorter than the sandbox's delay, but longer than other responses take.
 */
const delayedMs = 3000;

/** Judges that a disbursement has this status in the create response and in its record. */
const immediate =
  (suffix: string, status: string): Check["run"] =>
  async (context, id) => {
    const { data, reference } = await paid(context, { phoneNumber: forcing(suffix) });
    same(context, id, "in the response, status", data.status, status);
    const { data: record } = await verified(context, reference);
    same(context, id, "in the record, status", record.status, status);
  };

/** Judges that a payout is recorded, and that its response does not arrive. */
const recorded =
  (suffix: string, expected: string, timeoutMs?: number): Check["run"] =>
  async (context, id) => {
    const body = disbursementBody(context, { phoneNumber: forcing(suffix) });
    const lost = await pay(context, body, { forced: true, timeoutMs });
    context.judge(id, lost.status === undefined, expected, lost);
    expectStatus(context, id, await pay(context, body), 409, "for the same request afterwards");
  };

/** The time limit is shorter than the sandbox's delay of a response. Another check judges the delay. */
const timeoutMs = 1000;

/** The code that each failing number forces. */
const codes = {
  "002": "rejected",
  "089": "declined",
  "601": "wallet_not_found",
  "602": "wallet_blocked",
  "603": "wallet_limit_reached",
  "604": "amount_not_allowed",
  "605": "customer_declined",
  "606": "payer_insufficient_funds",
  "607": "rejected",
  "608": "not_approved",
  "609": "other",
};

const needs = ["forced-outcomes"] as const;

export const checks: readonly Check[] = [
  judges("forced.001-success", { pays: 1, needs }, immediate("001", "success")),
  judges("forced.002-failed", { pays: 1, needs }, immediate("002", "failed")),
  judges("forced.129-stays-pending", { pays: 1, needs: [...needs, "clock"] }, async (context, id) => {
    const { reference } = await paid(context, { phoneNumber: forcing("129") });
    await advance(context, 30 * 86_400);
    const { data } = await verified(context, reference);
    same(context, id, "a month later, status", data.status, "pending");
  }),
  judges("forced.500-records-nothing", { pays: 2, needs }, async (context, id) => {
    const body = disbursementBody(context, { phoneNumber: forcing("500") });
    expectStatus(context, id, await pay(context, body, { forced: true }), 500, "for a phone number ending in 500");
    const response = await pay(context, { ...body, phoneNumber: forcing("001") });
    expectStatus(context, id, response, 200, "for the same reference afterwards");
  }),
  judges("forced.503-twice", { pays: 4, needs }, async (context, id) => {
    const body = disbursementBody(context, { phoneNumber: forcing("503") });
    const responses = [];
    do responses.push(await pay(context, body, { forced: true }));
    while (responses.at(-1)?.status === 503 && responses.length < 4);
    const actual = responses.map(({ status, headers }) => [status, status === 503 ? headers["retry-after"] : "none"]);
    const expected = [...[503, 503].map((status) => [status, "1"]), [200, "none"]];
    same(context, id, "statuses, each with its Retry-After:", actual, expected, responses);
  }),
  judges("forced.504-answer-lost", { pays: 2, needs }, recorded("504", "a connection closed without a response")),
  judges(
    "forced.408-answer-late",
    { pays: 2, needs, idle: true },
    recorded("408", "no response within 3 s", delayedMs),
  ),
  judges("forced.duplicate-first", { pays: 4, needs }, async (context, id) => {
    const { body } = await paid(context);
    for (const suffix of ["500", "503", "504"]) {
      const response = await pay(context, { ...body, phoneNumber: forcing(suffix) }, { forced: true });
      expectStatus(context, id, response, 409, `for a duplicate reference with a phone number ending in ${suffix}`);
      context.judge(id, dataOf(response)["reference"] === undefined, "no second disbursement", response);
    }
  }),
  judges("forced.lost-settles", { pays: 4 + 2 + 2, needs: [...needs, "clock"] }, async (context, id) => {
    for (const suffix of ["503", "504", "408"]) {
      const body = disbursementBody(context, { phoneNumber: forcing(suffix) });
      // A number that ends in 503 is refused in the first two attempts.
      for (let attempt = 0; attempt < (suffix === "503" ? 3 : 1); attempt += 1)
        await pay(context, body, { forced: true, timeoutMs });
      const again = await pay(context, body);
      const reference = again.headers["location"]?.split("/").at(-1);
      given(again.status === 409 && reference !== undefined, "409 with the Location of the disbursement", again);
      const { data } = await settledByClock(context, decodeURIComponent(reference));
      same(context, id, `after the settle delay, for a number ending in ${suffix}, status`, data.status, "success");
    }
  }),
  judges("forced.failure-codes", { pays: Object.keys(codes).length, needs }, async function* (context, id) {
    const creating = Object.entries(codes).map(async ([suffix, code]) => {
      const { reference } = await paid(context, { phoneNumber: forcing(suffix) });
      return { suffix, code, reference };
    });
    const payouts = await Promise.all(creating);
    yield;
    for (const { suffix, code, reference } of payouts) {
      const { data } = await settledByClock(context, reference);
      const what = `for a number ending in ${suffix}, status and failure code`;
      same(context, id, what, [data.status, data.failure?.code], ["failed", code]);
    }
  }),
  judges(
    "failure.same-everywhere",
    { pays: 1, needs: ["failing-recipient", "receiver"] },
    async function* (context, id) {
      const box = mailbox(context);
      const { failingRecipient: phoneNumber } = context.options;
      const { reference, body } = await paid(context, { phoneNumber, webhookURL: box.url });
      yield;
      const { data } = await settled(context, reference);
      if (data.status !== "failed") return otherStatus(context, id, "failed", data.status);
      const expected = data.failure;
      const list = await listNamed(context, "disbursements", body["reference"]);
      const actual = listed(list).map(({ failure }) => failure);
      same(context, id, "in the list, failure", actual, [expected], list);
      const { data: sent } = ((await first(context, box)).json ?? {}) as { data?: { failure?: unknown } };
      same(context, id, "in the webhook, failure", sent?.failure, expected);
    },
  ),
];
