// Checks the outcomes that the last three digits of the phone number force in a sandbox (D17).
import type { Check, Context } from "../../check.ts";
import { expectStatus, same, shows } from "../../steps/expect.ts";
import { dataOf, disbursementBody, paid, pay, usualAmount, verified } from "../../steps/requests.ts";
import { advance, forcing } from "../../steps/sandbox-controls.ts";

/**
 * Client timeout for a delayed response. It is shorter than the sandbox's delay, but longer than other responses take.
 */
const delayedMs = 3000;

type Forced = Pick<Check, "name" | "payouts" | "needs"> & {
  id: string;
  run(context: Context, id: string): Promise<void>;
};

/** Judges that a disbursement has this status in the create response and in its record. */
const immediate = (suffix: string, status: string) => async (context: Context, id: string) => {
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
  { id: "forced.001-success", name: "001 succeeds immediately", payouts: 1, run: immediate("001", "success") },
  { id: "forced.002-failed", name: "002 fails immediately", payouts: 1, run: immediate("002", "failed") },
  {
    id: "forced.129-stays-pending",
    name: "129 stays pending",
    payouts: 1,
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
    payouts: 2,
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
    payouts: 4,
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
    payouts: 2,
    run: recorded("504", "a connection closed without a response"),
  },
  {
    id: "forced.408-answer-late",
    name: "408 is recorded and its response delayed",
    payouts: 2,
    run: recorded("408", `no response within ${delayedMs} ms`, { timeoutMs: delayedMs }),
  },
  {
    id: "forced.duplicate-first",
    name: "Duplicate reference takes precedence over a forced outcome",
    payouts: 4,
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

export const checks = forced.map(({ id, name, payouts = 0, needs = [], run }): Check => ({
  name,
  ids: [id],
  effect: "moves-money",
  payouts,
  amount: payouts * usualAmount,
  needs: ["forced-outcomes", ...needs],
  run: (context) => run(context, id),
}));
