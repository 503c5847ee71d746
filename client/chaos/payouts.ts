// Pays through the chaos proxy, and then compares what each caller was told with the service's own records.
import { setMaxListeners } from "node:events";
import { createClient, DuplicateReferenceError, OutcomeUnknownError, ValidationError } from "../index.ts";
import type { CreatedDisbursement, Disbursement, DisbursementClient, DisbursementRequest } from "../index.ts";
import { startServer } from "../testing/processes.ts";
import { seeded, startProxy } from "./proxy.ts";

/** One payout, and what became of it in the eyes of the caller. */
interface Payout {
  request: DisbursementRequest;
  /** A second payout under the reference of another one, with another amount. */
  reuses?: boolean;
  told: { payout: CreatedDisbursement } | { error: unknown };
}

export interface Report {
  payouts: number;
  /** How often callers were told what. */
  told: Record<string, number>;
  /** Whatever the records say is not so. Empty, or the client is wrong. */
  lies: string[];
  /** How often the outcome stayed unknown although a `Location` would have led to it. */
  unknown: number;
  faults: Record<string, number>;
  seconds: number;
}

// The last digits decide what the sandbox does with a payout (D17); the weights say how many of each are made.
const endings: [string, number][] = [
  ["473", 60],
  ["001", 4],
  ["002", 4],
  ["089", 4],
  ["408", 6],
  ["503", 6],
  ["504", 8],
  ["500", 3],
  ["", 5],
];
const mix = endings.flatMap(([ending, weight]) => Array<string>(weight).fill(ending));

function draw(index: number, random: () => number): Payout {
  const ending = mix[Math.floor(random() * mix.length)]!;
  const request = {
    reference: `chaos-${index}`,
    amount: 1 + Math.floor(random() * 1_000_000),
    // No ending: too short a number, which is refused.
    phoneNumber: ending && `22570381${String(index % 100).padStart(2, "0")}${ending}`,
    country: "CI",
    currency: "XOF",
  };
  return { request, told: { error: undefined } };
}

async function pay(client: DisbursementClient, payout: Payout) {
  payout.told = await client.disbursements.create(payout.request).then(
    (made) => ({ payout: made }),
    (error: unknown) => ({ error }),
  );
}

/** Works on `jobs` with so many at a time. */
async function inParallel<T>(jobs: T[], width: number, work: (job: T) => Promise<void>) {
  const queue = jobs.values();
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (const job of queue) await work(job);
    }),
  );
}

/** Every payout's records by the merchant's reference: each record ends in exactly one event. */
async function readRecords({ raw }: DisbursementClient): Promise<Map<string, Disbursement[]>> {
  await raw.POST("/sandbox/clock/advance", { body: { seconds: 3600 } });
  const records = new Map<string, Disbursement[]>();
  for (let before: string | undefined; ;) {
    const { data, error } = await raw.GET("/sandbox/events", {
      params: { query: { limit: 100, ...(before && { before }) } },
    });
    if (error) throw new Error(`The events cannot be read: ${error.message ?? error.error}`);
    for (const { body } of data!.data.events) {
      const record = body.data as Disbursement;
      records.set(record.merchantsReference, [...(records.get(record.merchantsReference) ?? []), record]);
    }
    before = data!.data.next;
    if (!before) return records;
  }
}

const isOf = (record: Disbursement, { request }: Payout) =>
  record.amount === request.amount &&
  record.customer.phoneNumber === request.phoneNumber &&
  record.country === request.country &&
  record.currency === request.currency;

/** What the caller was told, and whether the records bear it out. */
function judge(payout: Payout, records: Disbursement[]): { told: string; isTrue: boolean } {
  const [record] = records;
  const mine = record !== undefined && records.length === 1 && isOf(record, payout);
  const none = payout.reuses ? !mine : records.length === 0;
  if ("payout" in payout.told) {
    const { reference, recovered } = payout.told.payout;
    return { told: recovered ? "recovered" : "created", isTrue: mine && record.reference === reference };
  }
  const { error } = payout.told;
  if (error instanceof OutcomeUnknownError) {
    // These two are never recorded, so no 409 can lead to a record.
    const { phoneNumber } = payout.request;
    const why = phoneNumber === "" ? ", refused later" : phoneNumber.endsWith("500") ? ", ending 500" : "";
    return { told: `unknown${why}`, isTrue: none || (mine && !why) };
  }
  if (error instanceof DuplicateReferenceError) {
    const { existing, matches } = error;
    if (!existing) return { told: "duplicate without its record", isTrue: records.length === 1 };
    const isTrue = records.length === 1 && record!.reference === existing.reference && matches === mine;
    return { told: matches ? "duplicate, its own record" : "duplicate, another record", isTrue };
  }
  if (error instanceof ValidationError) return { told: "refused", isTrue: none && payout.request.phoneNumber === "" };
  return { told: `${(error as Error).name}`, isTrue: none };
}

/** Makes so many payouts through the proxy and checks each one's story. */
export async function runChaos({ payouts: count = 300, seed = 1, rate = 0.3, width = 100 } = {}): Promise<Report> {
  const started = performance.now();
  const apiKey = "chaos_key_0123456789abcdef";
  setMaxListeners(0);
  const server = await startServer(apiKey, { SETTLE_DELAY_MS: "1000" });
  const proxy = await startProxy(server.baseUrl, { seed, rate });
  try {
    const random = seeded(seed + 1);
    const payouts = Array.from({ length: count }, (_, index) => draw(index, random));
    const client = createClient({
      baseUrl: proxy.baseUrl,
      apiKey,
      timeout: 1000,
      retry: { minDelay: 20, maxDelay: 500 },
    });
    await inParallel(payouts, width, (payout) => pay(client, payout));
    const again = payouts
      .filter((_, index) => index % 50 === 0)
      .map(({ request }) => ({
        request: { ...request, amount: request.amount + 1 },
        reuses: true,
        told: { error: undefined },
      }));
    await inParallel(again, width, (payout) => pay(client, payout));

    const records = await readRecords(createClient({ baseUrl: server.baseUrl, apiKey }));
    const told: Record<string, number> = {};
    const lies: string[] = [];
    for (const payout of [...payouts, ...again]) {
      const found = records.get(payout.request.reference) ?? [];
      const verdict = judge(payout, found);
      told[verdict.told] = (told[verdict.told] ?? 0) + 1;
      if (!verdict.isTrue) lies.push(`${payout.request.reference}: told ${verdict.told}, ${found.length} records`);
    }
    const seconds = Math.round((performance.now() - started) / 100) / 10;
    return { payouts: count, told, lies, unknown: told["unknown"] ?? 0, faults: proxy.counts, seconds };
  } finally {
    await proxy.stop();
    await server.stop();
  }
}
