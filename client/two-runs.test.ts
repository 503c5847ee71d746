// A payroll in two runs, each with its own fault, in every combination of: what was lost in the first run, what the
// second run meets, what the service shows of its records, a journal or none, and the same process or a new one. A service
// that counts is the judge: no result may say anything false, nobody is paid twice, and an undisturbed third run pays
// everybody who is not paid yet.
import { expect, test } from "vitest";
import type { DisbursementRequest } from "./index.ts";
import { createAll } from "./payroll.ts";
import type { Journal, JournaledPayout, PayoutResult } from "./payroll.ts";
import {
  connectionLost,
  connectionRefused,
  disbursementCreated,
  disbursementRequest,
  ok,
  record,
  refusal,
  respond,
  scriptedClient,
} from "./testing/fakes.ts";
import type { Step } from "./testing/fakes.ts";

const entry = (n: number): DisbursementRequest => ({
  ...disbursementRequest,
  reference: `salary-${n}`,
  amount: 1000 + n,
  phoneNumber: `225703810247${n}`,
});
const entries = [entry(1), entry(2), entry(3)];
/** The reference of this entry belongs to another payout, which was made before. */
const taken = entries[1]!;

type Payout = typeof record;
const payoutOf = ({ reference, amount, phoneNumber }: DisbursementRequest, n: number): Payout => ({
  ...record,
  reference: `DSB${n}`,
  merchantsReference: reference,
  amount,
  customer: { ...record.customer, phoneNumber },
});

/** What happens to a create: `process` lets the service process it, and `later` when everything else has ended. */
type Fault = (process: () => Response, later: () => void) => Response | Promise<Response>;

const lose = (): never => {
  throw connectionLost();
};
const after =
  (response: () => Response): Fault =>
  (process) => {
    process();
    return response();
  };
const gateway = (status: number) => () =>
  respond(status, { statusCode: status, error: "Unauthorized", message: "No token" });

const losses: Record<string, Fault> = {
  "the response is lost": after(lose),
  "the request is lost": () => lose(),
  "the request arrives late": (_, later) => {
    later();
    return lose();
  },
  "the connection is refused": () => {
    throw connectionRefused();
  },
  "a 500 follows": after(() => refusal(500)),
  "a gateway answers": after(gateway(401)),
  "a page answers": after(() => respond(200, "<html>")),
  "half a response comes": after(() => respond(200, '{"statusCode":200,"data":{"ref')),
  "the process is killed": (process) => {
    process();
    return new Promise(() => {});
  },
};

const seconds: Record<string, Fault> = {
  nothing: (process) => process(),
  "a 401": () => refusal(401),
  "a 403": () => refusal(403),
  "a 422": () => refusal(422),
  "a 429": () => refusal(429),
  "a 500": () => refusal(500),
  "a refused connection": losses["the connection is refused"]!,
  "a gateway's 404": gateway(404),
};

/** What the service shows in the second run: `Location` of a 409, a record that is read, and the list. */
interface View {
  location: boolean;
  read(payout: Payout): Response;
  list(payouts: Payout[]): Response;
}
const { customer: _, ...anonymous } = record;
const whole: View = { location: true, read: ok, list: (payouts) => ok({ items: payouts }) };
const withoutCustomer = (payout: Payout) => ({ ...payout, customer: undefined });
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

function countingService() {
  const payouts: Payout[] = [payoutOf({ ...taken, amount: taken.amount + 7 }, 0)];
  const waiting: DisbursementRequest[] = [];
  const state = { payouts, waiting, creates: 0, fault: seconds["nothing"]!, view: whole, readsFail: false };
  const process = (request: DisbursementRequest): Response => {
    const existing = payouts.find(({ merchantsReference }) => merchantsReference === request.reference);
    if (existing)
      return refusal(409, state.view.location ? { location: `/v1/disbursements/${existing.reference}` } : {});
    const payout = payoutOf(request, payouts.length);
    payouts.push(payout);
    const { reference, merchantsReference, amount } = payout;
    return ok({ ...disbursementCreated, reference, merchantsReference, amount });
  };
  const handle: Step = ({ method, url, body }) => {
    if (method === "POST") {
      state.creates++;
      const request = body as DisbursementRequest;
      return state.fault(
        () => process(request),
        () => void waiting.push(request),
      );
    }
    if (state.readsFail) return lose();
    const { pathname, searchParams } = new URL(url);
    const wanted = searchParams.get("merchantsReference");
    if (wanted) return state.view.list(payouts.filter(({ merchantsReference }) => merchantsReference === wanted));
    const found = payouts.find(({ reference }) => pathname.endsWith(`/${reference}`));
    return found ? state.view.read(found) : refusal(404);
  };
  const connect = () => scriptedClient(Array<Step>(400).fill(handle), { retry: { tries: 2, totalTime: 60_000 } });
  /** The late requests arrive. */
  const settle = () => waiting.splice(0).forEach(process);
  return { state, connect, settle };
}

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
const all = cases.flatMap((each) => Object.keys(seconds).map((second) => ({ ...each, second })));

test("there are more than a hundred combinations", () => {
  expect(all.length).toBe(1632);
});

test.each(cases)(
  "$loss, then the service shows $view; journal: $hasJournal, same process: $isSameProcess",
  async (scenario) => {
    for (const [second, fault] of Object.entries(seconds)) {
      const { state, connect, settle } = countingService();
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

      Object.assign(state, { fault: seconds["nothing"]!, view: whole });
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
