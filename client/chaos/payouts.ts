// Creates payouts through the chaos proxy, then compares what the client reported with the service's own records.
import { setMaxListeners } from "node:events";
import { createClient, DuplicateReferenceError, OutcomeUnknownError, ValidationError } from "../index.ts";
import type { CreatedDisbursement, Disbursement, DisbursementClient, DisbursementRequest } from "../index.ts";
import { startServer } from "../testing/processes.ts";
import { seeded, startProxy } from "./proxy.ts";

/** One payout and what the client reported about it. */
interface Payout {
  request: DisbursementRequest;
  /** True if the reference belongs to an earlier payout with another amount. */
  reusesReference?: boolean;
  reported: { payout: CreatedDisbursement } | { error: unknown };
}

export interface Report {
  payouts: number;
  /** The number of payouts by what the client reported. */
  reported: Record<string, number>;
  /** The client's reports that contradict the records. The list must be empty. */
  falseReports: string[];
  /** The number of outcomes that stayed unknown although a 409 with `Location` was possible. */
  unknown: number;
  faults: Record<string, number>;
  seconds: number;
}

// Endings of phone numbers, which force outcomes in the sandbox (D17), and their weights.
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
    // Without an ending the number is empty and therefore refused.
    phoneNumber: ending && `22570381${String(index % 100).padStart(2, "0")}${ending}`,
    country: "CI",
    currency: "XOF",
  };
  return { request, reported: { error: undefined } };
}

async function pay(client: DisbursementClient, payout: Payout) {
  payout.reported = await client.disbursements.create(payout.request).then(
    (created) => ({ payout: created }),
    (error: unknown) => ({ error }),
  );
}

/** Runs `work` for every job, `width` at a time. */
async function inParallel<T>(jobs: T[], width: number, work: (job: T) => Promise<void>) {
  const queue = jobs.values();
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (const job of queue) await work(job);
    }),
  );
}

/** Reads all records, by merchant's reference, from the events, because each record has exactly one final event. */
async function readRecords({ raw }: DisbursementClient): Promise<Map<string, Disbursement[]>> {
  await raw.POST("/sandbox/clock/advance", { body: { seconds: 3600 } });
  const records = new Map<string, Disbursement[]>();
  for (let cursor: string | undefined; ;) {
    const { data, error } = await raw.GET("/sandbox/events", {
      params: { query: { limit: 100, ...(cursor && { cursor }) } },
    });
    if (error) throw new Error(`Cannot read the events: ${error.message ?? error.error}`);
    for (const { body } of data!.data.items) {
      const record = body.data as Disbursement;
      records.set(record.merchantsReference, [...(records.get(record.merchantsReference) ?? []), record]);
    }
    cursor = data!.data.nextCursor;
    if (!cursor) return records;
  }
}

const isOf = (record: Disbursement, { request }: Payout) =>
  record.amount === request.amount &&
  record.customer.phoneNumber === request.phoneNumber &&
  record.country === request.country &&
  record.currency === request.currency;

/** Classifies the client's report and checks it against the records. */
function checkReport(payout: Payout, records: Disbursement[]): { reported: string; isTrue: boolean } {
  const [record] = records;
  const mine = record !== undefined && records.length === 1 && isOf(record, payout);
  const none = payout.reusesReference ? !mine : records.length === 0;
  if ("payout" in payout.reported) {
    const { reference, recovered } = payout.reported.payout;
    return { reported: recovered ? "recovered" : "created", isTrue: mine && record.reference === reference };
  }
  const { error } = payout.reported;
  if (error instanceof OutcomeUnknownError) {
    // A payout whose number is empty or ends with 500 is never recorded, so no 409 can resolve its outcome.
    const { phoneNumber } = payout.request;
    const why = phoneNumber === "" ? ", refused later" : phoneNumber.endsWith("500") ? ", ending 500" : "";
    return { reported: `unknown${why}`, isTrue: !mine || !why };
  }
  if (error instanceof DuplicateReferenceError) {
    const { existing, matches } = error;
    if (!existing) return { reported: "duplicate without its record", isTrue: records.length === 1 };
    const isTrue = records.length === 1 && record!.reference === existing.reference && matches === mine;
    return { reported: matches ? "duplicate, its own record" : "duplicate, another record", isTrue };
  }
  if (error instanceof ValidationError)
    return { reported: "refused", isTrue: none && payout.request.phoneNumber === "" };
  return { reported: `${(error as Error).name}`, isTrue: none };
}

/** Moves the system clock back and forth by up to an hour. Returns a function that restores it. */
function startClockJumps(random: () => number): () => void {
  const { now } = Date;
  let offset = 0;
  Date.now = () => now() + offset;
  const timer = setInterval(() => void (offset = (random() - 0.5) * 7_200_000), 50);
  return () => {
    clearInterval(timer);
    Date.now = now;
  };
}

/**
 * Creates payouts through the proxy and checks the report of each.
 * @param timeout the time limit of an attempt, in milliseconds; some responses are delayed beyond it
 */
export async function runChaos({
  payouts: count = 300,
  seed = 1,
  rate = 0.3,
  width = 100,
  timeout = 1000,
} = {}): Promise<Report> {
  const started = performance.now();
  const apiKey = "chaos_key_0123456789abcdef";
  setMaxListeners(0);
  const server = await startServer(apiKey, { SETTLE_DELAY_MS: "1000" });
  const proxy = await startProxy(server.baseUrl, { seed, rate, delay: 1.5 * timeout });
  const restoreClock = startClockJumps(seeded(seed + 2));
  try {
    const random = seeded(seed + 1);
    const payouts = Array.from({ length: count }, (_, index) => draw(index, random));
    const client = createClient({
      baseUrl: proxy.baseUrl,
      apiKey,
      timeout,
      retry: { minDelay: 20, maxDelay: 500 },
    });
    await inParallel(payouts, width, (payout) => pay(client, payout));
    const reused = payouts
      .filter((_, index) => index % 50 === 0)
      .map(({ request }) => ({
        request: { ...request, amount: request.amount + 1 },
        reusesReference: true,
        reported: { error: undefined },
      }));
    await inParallel(reused, width, (payout) => pay(client, payout));

    const records = await readRecords(createClient({ baseUrl: server.baseUrl, apiKey }));
    const reported: Record<string, number> = {};
    const falseReports: string[] = [];
    for (const payout of [...payouts, ...reused]) {
      const found = records.get(payout.request.reference) ?? [];
      const verdict = checkReport(payout, found);
      reported[verdict.reported] = (reported[verdict.reported] ?? 0) + 1;
      if (!verdict.isTrue)
        falseReports.push(`${payout.request.reference}: reported ${verdict.reported}, found ${found.length} records`);
    }
    const seconds = Math.round((performance.now() - started) / 100) / 10;
    return { payouts: count, reported, falseReports, unknown: reported["unknown"] ?? 0, faults: proxy.counts, seconds };
  } finally {
    restoreClock();
    await proxy.stop();
    await server.stop();
  }
}
