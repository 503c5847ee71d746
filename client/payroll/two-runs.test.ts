// Payouts in two runs, each with its own fault, in every combination of: what was lost in the first run, what the
// second run meets, what the service shows of its records, how they are paid, and in the same or a new process. The
// service counts what it records. No result may say anything false, nobody is paid twice, and an undisturbed third run
// pays everybody who is not paid yet.
import { expect, test } from "vitest";
import type { DisbursementClient, DisbursementRequest } from "../index.ts";
import { createAll } from "./payroll.ts";
import type { Journal, JournaledPayout } from "./payroll.ts";
import {
  countingService,
  losses as lostCreates,
  nothing,
  payoutOf,
  refusals,
  whole,
  withoutCustomer,
} from "../testing/counting-service.ts";
import type { Fault, Payout, View } from "../testing/counting-service.ts";
import { disbursementRequest, ok, record, refusal } from "../testing/fakes.ts";

const entry = (n: number): DisbursementRequest => ({
  ...disbursementRequest,
  reference: `salary-${n}`,
  amount: 1000 + n,
  phoneNumber: `225703810247${n}`,
});
const entries = [entry(1), entry(2), entry(3)];
/** The reference of this entry belongs to another payout, which was made before. */
const taken = entries[1]!;

const firsts: Record<string, Fault> = {
  nothing,
  "a 422": refusals["a 422"]!,
  ...lostCreates,
  "a request that arrives late": (_, later) => {
    later();
    return lostCreates["a lost request"]();
  },
  "the process is killed": (process) => {
    process();
    return new Promise(() => {});
  },
};
const seconds: Record<string, Fault> = {
  nothing,
  ...refusals,
  "a 500": () => refusal(500),
  "a refused connection": lostCreates["a refused connection"],
};

const { customer: _, ...anonymous } = record;
/** What the service shows in the second run. */
const views: Record<string, View> = {
  "its records": whole,
  "records without recipients": {
    location: false,
    read: (payout) => ok(withoutCustomer(payout)),
    list: (payouts) => ok({ items: payouts.map(withoutCustomer) }),
  },
  "the wrong records first": {
    ...whole,
    location: false,
    list: (payouts) => ok({ items: [anonymous, null, ...payouts] }),
  },
  "a list that lags": { location: false, read: () => refusal(404), list: () => ok({ items: [] }) },
  nothing: { location: false, read: () => refusal(404), list: () => refusal(404) },
};

type Stored = Map<string, { payout?: JournaledPayout | undefined }>;

/** A journal as another process would open it. */
const openJournal = (stored: Stored): Journal => ({
  async before({ reference }) {
    const known = stored.get(reference);
    if (!known) stored.set(reference, {});
    return known;
  },
  async after({ reference }, payout) {
    if (payout) stored.set(reference, { payout });
    else stored.delete(reference);
  },
});

interface Result {
  input: DisbursementRequest;
  outcome: "created" | "existed" | "refused" | "unknown" | "repeated";
  data?: { reference: string } | undefined;
}

async function all(payroll: AsyncIterable<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for await (const result of payroll) results.push(result);
  return results;
}

const each = (call: "create" | "resume") => (client: DisbursementClient) =>
  Promise.all(entries.map(async (input) => ({ input, ...(await client.disbursements[call](input).result()) })));

/** How all entries are paid in the first run, and in the later runs. */
const ways: Record<string, ((client: DisbursementClient, stored: Stored) => Promise<Result[]>)[]> = {
  "a payroll": [(client) => all(createAll(client, entries))],
  "a payroll with a journal": [(client, stored) => all(createAll(client, entries, { journal: openJournal(stored) }))],
  create: [each("create")],
  resume: [each("create"), each("resume")],
};

/** What is false in a result, if anything: now, or when late requests have arrived. */
function falsehood(
  { outcome, input, data }: Result,
  { payouts, waiting }: { payouts: Payout[]; waiting: DisbursementRequest[] },
) {
  const own = payouts.find(
    (payout) =>
      payout.merchantsReference === input.reference &&
      payout.customer.phoneNumber === input.phoneNumber &&
      payout.amount === input.amount,
  );
  const isLate = input !== taken && waiting.some(({ reference }) => reference === input.reference);
  const isFalse = {
    created: !own || data?.reference !== own.reference,
    existed: !own || data?.reference !== own.reference,
    refused: !!own || isLate,
    unknown: false,
    repeated: true,
  }[outcome];
  return isFalse
    ? `${input.reference} is ${outcome}, but ${own ? "paid" : isLate ? "about to be paid" : "not paid"}`
    : [];
}

const cases = Object.keys(firsts).flatMap((loss) =>
  Object.keys(views).flatMap((view) =>
    Object.keys(ways).flatMap((way) =>
      [true, false]
        // A process that was killed does not run again. Another process knows nothing of the first, so it resumes.
        .filter((isSameProcess) => (isSameProcess ? !loss.includes("killed") : way !== "create"))
        .map((isSameProcess) => ({ loss, view, way, isSameProcess })),
    ),
  ),
);
test.each(cases)("$loss, then the service shows $view; $way, same process: $isSameProcess", async (scenario) => {
  const [first, later = first] = ways[scenario.way]!;
  for (const [second, fault] of Object.entries(seconds)) {
    const { state, connect, settle } = countingService([payoutOf({ ...taken, amount: taken.amount + 7 }, 0)]);
    const stored: Stored = new Map();
    const said: unknown[] = [];
    const judge = (results: Result[]) => said.push(...results.flatMap((result) => falsehood(result, state)));

    state.fault = firsts[scenario.loss]!;
    state.readsFail = true;
    const process = connect();
    const run = first!(process.client, stored);
    if (scenario.loss.includes("killed")) while (state.creates < entries.length) await new Promise(setImmediate);
    else judge(await process.time.run(run));

    Object.assign(state, { fault, readsFail: false, view: views[scenario.view]! });
    const other = scenario.isSameProcess ? process : connect();
    judge(await other.time.run(later!(other.client, stored)));

    Object.assign(state, { fault: nothing, view: whole });
    const end = connect();
    const last = await end.time.run((scenario.way === "create" ? each("resume") : later!)(end.client, stored));
    judge(last);
    settle();
    judge(last);

    const outcomes = last.map(
      ({ input, outcome }) => `${input.reference} ${outcome === "existed" ? "created" : outcome}`,
    );
    const paid = state.payouts.map(
      ({ merchantsReference, customer }) => `${merchantsReference} ${customer.phoneNumber}`,
    );
    expect([second, said, outcomes.toSorted(), paid.toSorted()]).toEqual([
      second,
      [],
      ["salary-1 created", "salary-2 refused", "salary-3 created"],
      entries.map(({ reference, phoneNumber }) => `${reference} ${phoneNumber}`),
    ]);
  }
});
