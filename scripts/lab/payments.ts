import { setTimeout as sleep } from "node:timers/promises";
import type { SeededRandom } from "../../server/testing/random.ts";
import type { HttpResponse } from "../../server/testing/http.ts";
import type { Caller } from "./caller.ts";

/** A payout or checkout, and what the server has said about it. */
export interface Payment {
  path: "/v1/disbursements" | "/v1/checkouts";
  request: { reference: string; amount: number; phoneNumber?: string; webhookURL: string };
  /** The service's reference; absent until a response has told it. */
  acknowledged?: string;
  /** The final status of a checkout that the merchant ended. */
  outcome?: "success" | "failed" | "cancelled";
}

export type Payments = ReturnType<typeof createPayments>;

interface Options {
  caller: Caller;
  random: SeededRandom;
  /** The addresses that webhooks go to. */
  receivers: readonly string[];
  violate(what: string): void;
}

/** Numbers ending in 001 make a payout final at once, so that its webhook is sent at once. */
export const FINAL = "2257038102001";
/** Ordinary numbers, and some that make the server fail, drop the connection after recording, or refuse at first (D17). */
const NUMBERS = ["102473", "102473", "102473", "102473", "102001", "102002", "102089", "102503", "102504"];
/** Nothing was recorded: the storage cannot be written, or too many of the merchant's requests are in progress. */
const BUSY = new Set([503, 429]);
/** A request whose result is unknown is repeated for this long after the last fault. */
const GIVE_UP_MS = 60_000;

export function createPayments({ caller, random, receivers, violate }: Options) {
  const all: Payment[] = [];
  const latest: Payment[] = [];
  let ambiguous = 0;
  let acknowledged = 0;

  function payment(path: Payment["path"]): Payment {
    const reference = `pay-${all.length}`;
    const request = { reference, amount: 1 + random.below(1_000_000), webhookURL: random.pick(receivers) };
    const phoneNumber = path === "/v1/disbursements" ? { phoneNumber: `2257038${random.pick(NUMBERS)}` } : {};
    const made: Payment = { path, request: { ...request, ...phoneNumber } };
    all.push(made);
    return made;
  }

  function acknowledge(made: Payment, { status, body, headers }: HttpResponse) {
    acknowledged += 1;
    made.acknowledged = status === 200 ? body.data.reference : headers.location!.split("/").at(-1)!;
    latest[random.below(100)] = made;
  }

  /** Repeats a create with the same reference until its result is known. */
  async function settle(made: Payment): Promise<void> {
    const { path, request } = made;
    const begun = performance.now();
    /** True if an earlier attempt may have been recorded. */
    let unknown = false;
    while (performance.now() - begun < GIVE_UP_MS) {
      const response = await caller.send("POST", path, { body: { ...request, country: "CI", currency: "XOF" } });
      if (response?.status === 200 || (response?.status === 409 && unknown)) return acknowledge(made, response);
      if (!response || response.status === 500) {
        if (!unknown) ambiguous += 1;
        unknown = true;
      } else if (!BUSY.has(response.status))
        violate(`${path} ${request.reference} got ${response.status} ${response.text}`);
      await sleep(100);
    }
    violate(`${request.reference} was not acknowledged within ${GIVE_UP_MS / 1_000} s`);
  }

  /** Ends a checkout. If the request is repeated, the checkout has ended already. */
  async function finish(made: Payment, outcome: NonNullable<Payment["outcome"]>) {
    for (let unknown = false; ;) {
      const path = `/sandbox/checkouts/${made.acknowledged}/finish`;
      const response = await caller.send("POST", path, { body: { outcome } });
      if (response?.status === 200 || (response?.status === 409 && unknown)) break;
      if (response && response.status < 500 && !BUSY.has(response.status))
        return violate(`${path} returned ${response.status} ${response.text}`);
      unknown ||= !BUSY.has(response?.status ?? 0);
      await sleep(100);
    }
    made.outcome = outcome;
  }

  return {
    /** All payments that were requested so far. */
    all,
    /** The number of creates that were repeated because their result was unknown. */
    ambiguous: () => ambiguous,
    acknowledged: () => acknowledged,
    /** Creates a payout. Resolves when it is acknowledged. */
    payout: () => settle(payment("/v1/disbursements")),
    async checkout() {
      const made = payment("/v1/checkouts");
      await settle(made);
      if (made.acknowledged) await finish(made, random.pick(["success", "failed", "cancelled"]));
    },
    /** Verifies one of the latest acknowledged payments. */
    async verify() {
      const made = latest[random.below(latest.length || 1)];
      if (!made) return;
      // The checkout may be ended while the response is on its way.
      const known = { ...made };
      const path = `${made.path}/${made.acknowledged}`;
      const response = await caller.send("GET", path);
      if (response?.status === 200) return compare(known, response.body.data, violate);
      if (response && response.status < 500 && !BUSY.has(response.status))
        violate(`GET ${path} returned ${response.status} for an acknowledged payment`);
    },
  };
}

/** Reports each value of a record that differs from what was requested and acknowledged. */
export function compare({ request, acknowledged, outcome }: Payment, record: any, violate: (what: string) => void) {
  const { reference, phoneNumber, ...others } = request;
  const expected: Record<string, unknown> = { ...others, merchantsReference: reference, reference: acknowledged };
  if (outcome) expected.status = outcome;
  for (const [name, value] of Object.entries(expected)) {
    if (record[name] !== value) violate(`${acknowledged} has ${name} ${record[name]}, expected ${String(value)}`);
  }
  if (phoneNumber && record.customer.phoneNumber !== phoneNumber) violate(`${acknowledged} has another phone number`);
}

export interface Load {
  callers: number;
  /** The longest pause of a caller between two payments, in milliseconds. */
  pauseMs: number;
}

/** Starts the load. The returned function ends it, and resolves when the result of every request is known. */
export function startLoad(
  payments: Payments,
  random: SeededRandom,
  { callers, pauseMs }: Load = { callers: 8, pauseMs: 100 },
): () => Promise<void> {
  let stopping = false;
  async function work() {
    while (!stopping) {
      const kind = random.below(10);
      if (kind < 6) await payments.payout();
      else if (kind < 8) await payments.checkout();
      else await payments.verify();
      await sleep(random.below(pauseMs));
    }
  }
  const workers = Array.from({ length: callers }, work);
  return async () => {
    stopping = true;
    await Promise.all(workers);
  };
}
