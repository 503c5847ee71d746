// A payroll in two runs, each with its own fault, in every combination of: what was lost in the first run, what the
// second run meets, what the service shows of its records, with or without a journal, and in the same or a new process.
// The service counts what it records. No result may say anything false, nobody is paid twice, and an undisturbed third
// run pays everybody who is not paid yet.
import { expect, test } from "vitest";
import type { DisbursementRequest } from "../index.ts";
import { createAll } from "./payroll.ts";
import type { Journal, JournaledPayout, PayoutResult } from "./payroll.ts";
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

const losses: Record<string, Fault> = {
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
  "only its list": { ...whole, location: false },
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

/** What is false in a result, if anything: now, or when late requests have arrived. */
function falsehood(
  { outcome, input, data }: PayoutResult,
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

const cases = Object.keys(losses).flatMap((loss) =>
  Object.keys(views).flatMap((view) =>
    [true, false].flatMap((hasJournal) =>
      [true, false]
        // A process that was killed does not run again.
        .filter((isSameProcess) => !(isSameProcess && loss.includes("killed")))
        .map((isSameProcess) => ({ loss, view, hasJournal, isSameProcess })),
    ),
  ),
);
test.each(cases)(
  "$loss, then the service shows $view; journal: $hasJournal, same process: $isSameProcess",
  async (scenario) => {
    for (const [second, fault] of Object.entries(seconds)) {
      const { state, connect, settle } = countingService([payoutOf({ ...taken, amount: taken.amount + 7 }, 0)]);
      const stored: Stored = new Map();
      const pay = async ({ client, time }: ReturnType<typeof connect>) => {
        const results: PayoutResult[] = [];
        const journal = scenario.hasJournal ? openJournal(stored) : undefined;
        const collect = async () => {
          for await (const result of createAll(client, entries, { journal })) results.push(result);
        };
        const run = collect();
        if (state.fault === losses["the process is killed"])
          while (state.creates < entries.length) await new Promise(setImmediate);
        else await time.run(run);
        return results;
      };
      const said: unknown[] = [];
      const judge = (results: PayoutResult[]) => said.push(...results.flatMap((result) => falsehood(result, state)));

      state.fault = losses[scenario.loss]!;
      state.readsFail = true;
      const first = connect();
      judge(await pay(first));

      Object.assign(state, { fault, readsFail: false, view: views[scenario.view]! });
      const other = scenario.isSameProcess ? first : connect();
      judge(await pay(other));

      Object.assign(state, { fault: nothing, view: whole });
      const last = await pay(connect());
      judge(last);
      settle();
      judge(last);

      const outcomes = last.map(
        ({ reference, outcome }) => `${reference} ${outcome === "existed" ? "created" : outcome}`,
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
  },
);
