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
/** Nothing was recorded: 503 if the storage cannot be written, 429 if the merchant has too many requests in progress. */
const BUSY = new Set([503, 429]);
/** A request is repeated for at most this long, until its result is known. */
const GIVE_UP_MS = 60_000;

export function createPayments({ caller, random, receivers, violate }: Options) {
  const all: Payment[] = [];
  const latest: Payment[] = [];
  let ambiguous = 0;
  let acknowledged = 0;

  /** Repeats a request until its result is known. A 409 to a repetition says that an earlier attempt was recorded. */
  async function untilKnown(path: string, body: object): Promise<HttpResponse | undefined> {
    const begun = performance.now();
    let mayBeRecorded = false;
    while (performance.now() - begun < GIVE_UP_MS) {
      const response = await caller.send("POST", path, { body });
      if (response?.status === 200 || (response?.status === 409 && mayBeRecorded)) return response;
      if (!response || response.status === 500) {
        if (!mayBeRecorded) ambiguous += 1;
        mayBeRecorded = true;
      } else if (!BUSY.has(response.status)) {
        violate(`${path} ${JSON.stringify(body)} got ${response.status} ${response.text}`);
        return undefined;
      }
      await sleep(100);
    }
    violate(`${path} ${JSON.stringify(body)} had no result within ${GIVE_UP_MS / 1_000} s`);
    return undefined;
  }

  async function create(path: Payment["path"]): Promise<Payment> {
    const reference = `pay-${all.length}`;
    const request = { reference, amount: 1 + random.below(1_000_000), webhookURL: random.pick(receivers) };
    const phoneNumber = path === "/v1/disbursements" ? { phoneNumber: `2257038${random.pick(NUMBERS)}` } : {};
    const payment: Payment = { path, request: { ...request, ...phoneNumber } };
    all.push(payment);
    const response = await untilKnown(path, { ...payment.request, country: "CI", currency: "XOF" });
    if (!response) return payment;
    acknowledged += 1;
    payment.acknowledged =
      response.status === 200 ? response.body.data.reference : response.headers.location!.split("/").at(-1)!;
    latest[random.below(100)] = payment;
    return payment;
  }

  return {
    /** All payments that were requested so far. */
    all,
    /** The number of requests that were repeated because their result was unknown. */
    ambiguous: () => ambiguous,
    acknowledged: () => acknowledged,
    /** Creates a payout. Resolves when it is acknowledged. */
    payout: () => create("/v1/disbursements"),
    /** Creates a checkout and ends it. */
    async checkout() {
      const payment = await create("/v1/checkouts");
      if (!payment.acknowledged) return;
      const outcome = random.pick(["success", "failed", "cancelled"] as const);
      if (await untilKnown(`/sandbox/checkouts/${payment.acknowledged}/finish`, { outcome })) payment.outcome = outcome;
    },
    /** Verifies one of the latest acknowledged payments. */
    async verify() {
      const payment = latest[random.below(latest.length || 1)];
      if (!payment) return;
      // The checkout may be ended while the response is on its way.
      const known = { ...payment };
      const path = `${payment.path}/${payment.acknowledged}`;
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
