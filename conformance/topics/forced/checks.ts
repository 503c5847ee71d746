// Checks the outcomes that the last three digits of the phone number force in a sandbox, and that a failed payment says
// why it failed in every place (D17, D75).
import { define, type Check, type Context, given } from "../../check.ts";
import { expectStatus, same, shows } from "../../steps/expect.ts";
import { first, mailbox } from "../../steps/notifications.ts";
import { dataOf, listed } from "../../steps/responses.ts";
import { disbursementBody } from "../../steps/bodies.ts";
import { get, pay } from "../../steps/requests.ts";
import { paid, verified } from "../../steps/records.ts";
import { advance, forcing } from "../../steps/sandbox-controls.ts";
import { settled, settledByClock } from "../../steps/settlement.ts";
import { otherStatus } from "../webhook/checks.ts";
import type { RequirementId } from "../../../generated/requirement-ids.ts";

/**
 * Client timeout for a delayed response. It is shorter than the sandbox's delay, but longer than other responses take.
 */
const delayedMs = 3000;

type Forced = Pick<Check, "name" | "needs"> & {
  id: RequirementId;
  pays: number;
  run(context: Context, id: RequirementId): Promise<void>;
};

/** Judges that a disbursement has this status in the create response and in its record. */
const immediate = (suffix: string, status: string) => async (context: Context, id: RequirementId) => {
  const { data, reference } = await paid(context, { phoneNumber: forcing(suffix) });
  same(context, id, { what: "in the response, status", actual: data.status, expected: status });
  const { data: record } = await verified(context, reference);
  same(context, id, { what: "in the record, status", actual: record.status, expected: status });
};

/**
 * Sends the same request repeatedly, but no more than four times, until the response is not a 503. Returns all
 * responses.
 */
async function statuses(context: Context, body: unknown) {
  const responses = [];
  do responses.push(await pay(context, body, { forced: true }));
  while (responses.at(-1)?.status === 503 && responses.length < 4);
  return responses;
}

/** Returns the function of a check: a payout is recorded, and its response does not arrive. */
const recorded =
  (suffix: string, expected: string, limit: { timeoutMs?: number } = {}): Forced["run"] =>
  async (context, id) => {
    const body = disbursementBody(context, { phoneNumber: forcing(suffix) });
    const lost = await pay(context, body, { forced: true, ...limit });
    shows(context, id, lost, lost.status === undefined, expected);
    expectStatus(context, id, await pay(context, body), 409, "for the same request afterwards");
  };

const forced: Forced[] = [
  { id: "forced.001-success", name: "001 succeeds immediately", pays: 1, run: immediate("001", "success") },
  { id: "forced.002-failed", name: "002 fails immediately", pays: 1, run: immediate("002", "failed") },
  {
    id: "forced.129-stays-pending",
    name: "129 stays pending",
    pays: 1,
    needs: ["clock"],
    async run(context, id) {
      const { reference } = await paid(context, { phoneNumber: forcing("129") });
      await advance(context, 30 * 86_400);
      const { data } = await verified(context, reference);
      same(context, id, { what: "a month later, status", actual: data.status, expected: "pending" });
    },
  },
  {
    id: "forced.500-records-nothing",
    name: "500 records nothing",
    pays: 2,
    async run(context, id) {
      const body = disbursementBody(context, { phoneNumber: forcing("500") });
      const broken = await pay(context, body, { forced: true });
      expectStatus(context, id, broken, 500, "for a phone number ending in 500");
      const response = await pay(context, { ...body, phoneNumber: forcing("001") });
      expectStatus(context, id, response, 200, "for the same reference afterwards");
    },
  },
  {
    id: "forced.503-twice",
    name: "503 is returned twice, then the request is accepted",
    pays: 4,
    async run(context, id) {
      const responses = await statuses(context, disbursementBody(context, { phoneNumber: forcing("503") }));
      const actual = responses.map(({ status }) => status);
      same(context, id, { what: "statuses", actual, expected: [503, 503, 200] }, responses);
      const waits = responses.slice(0, -1).map((response) => response.headers["retry-after"]);
      const isOne = waits.every((wait) => wait === "1");
      context.judge(id, isOne, "Retry-After: 1 on each 503", waits.join(", "), responses);
    },
  },
  {
    id: "forced.504-answer-lost",
    name: "504 is recorded and its response lost",
    pays: 2,
    run: recorded("504", "a connection closed without a response"),
  },
  {
    id: "forced.408-answer-late",
    name: "408 is recorded and its response delayed",
    pays: 2,
    run: recorded("408", `no response within ${delayedMs} ms`, { timeoutMs: delayedMs }),
  },
  {
    id: "forced.duplicate-first",
    name: "Duplicate reference takes precedence over a forced outcome",
    pays: 4,
    async run(context, id) {
      const { body } = await paid(context);
      for (const suffix of ["500", "503", "504"]) {
        const response = await pay(context, { ...body, phoneNumber: forcing(suffix) }, { forced: true });
        expectStatus(context, id, response, 409, `for a duplicate reference with a phone number ending in ${suffix}`);
        shows(context, id, response, dataOf(response)["reference"] === undefined, "no second disbursement");
      }
    },
  },
];

/** The time limit is shorter than the sandbox's delay of a response. Another check judges the delay. */
const timeoutMs = 1000;
const suffixes = ["503", "504", "408"];

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

export const checks = define([
  ...forced.map(({ id, needs = [], run, ...own }) => ({
    ...own,
    ids: [id],
    needs: ["forced-outcomes" as const, ...needs],
    run: (context: Context) => run(context, id),
  })),

  {
    name: "Payouts with a refused, lost or late response settle",
    ids: ["forced.lost-settles"],
    pays: 4 + 2 + 2,
    needs: ["forced-outcomes", "clock"],
    async run(context) {
      for (const suffix of suffixes) {
        const body = disbursementBody(context, { phoneNumber: forcing(suffix) });
        // A number that ends in 503 is refused in the first two attempts.
        for (let attempt = 0; attempt < (suffix === "503" ? 3 : 1); attempt += 1) {
          await pay(context, body, { forced: true, timeoutMs });
        }
        const again = await pay(context, body);
        const reference = again.headers["location"]?.split("/").at(-1);
        given(again.status === 409 && reference !== undefined, "409 with the Location of the disbursement", again);
        const { data } = await settledByClock(context, decodeURIComponent(reference));
        const what = `after the settle delay, for a number ending in ${suffix}, status`;
        same(context, "forced.lost-settles", { what, actual: data.status, expected: "success" });
      }
    },
  },

  {
    name: "Each number that fails forces its failure code",
    ids: ["forced.failure-codes"],
    pays: Object.keys(codes).length,
    needs: ["forced-outcomes"],
    async *run(context) {
      const made = await Promise.all(
        Object.entries(codes).map(async ([suffix, code]) => {
          const { reference } = await paid(context, { phoneNumber: forcing(suffix) });
          return { suffix, code, reference };
        }),
      );
      yield;
      for (const { suffix, code, reference } of made) {
        const { data } = await settledByClock(context, reference);
        const { failure } = data as { failure?: { code?: unknown } };
        const what = `for a number ending in ${suffix}, status and failure code`;
        const expected = ["failed", code];
        same(context, "forced.failure-codes", { what, actual: [data.status, failure?.code], expected });
      }
    },
  },
  {
    name: "Verify, list and webhook say the same about why a disbursement failed",
    ids: ["failure.same-everywhere"],
    pays: 1,
    needs: ["failing-recipient", "receiver"],
    async *run(context) {
      const id = "failure.same-everywhere";
      const box = mailbox(context);
      const merchantsReference = context.fresh();
      const { reference } = await paid(context, {
        reference: merchantsReference,
        phoneNumber: context.options.failingRecipient,
        webhookURL: box.url,
      });
      yield;
      const { data } = await settled(context, reference);
      if (data.status !== "failed") return otherStatus(context, id, "failed", data.status);
      const { failure: expected } = data as { failure?: unknown };
      const response = await get(context, `/v1/disbursements?merchantsReference=${merchantsReference}`);
      const actual = listed(response).map(({ failure }) => failure);
      same(context, id, { what: "in the list, failure", actual, expected: [expected] }, response);
      const { json } = await first(context, box);
      const { data: sent } = (json ?? {}) as { data?: { failure?: unknown } };
      same(context, id, { what: "in the webhook, failure", actual: sent?.failure, expected });
    },
  },
]);
