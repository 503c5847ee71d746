// The client creates payouts over a network that loses and replaces messages, on a machine whose clock jumps. What it
// reports of each payout is compared with the service's own records.
import { setMaxListeners } from "node:events";
import {
  createClient,
  type Disbursement,
  type DisbursementRequest,
  type DisbursementResult,
} from "../../client/index.ts";
import { seededRandom, type SeededRandom } from "../../server/testing/random.ts";
import { inParallel, inWorld, type RunOptions, type World } from "./world.ts";

/** One payout and what the client reported about it. */
interface Payout {
  request: DisbursementRequest;
  result: DisbursementResult;
}

/** Endings of phone numbers, which force outcomes in the sandbox (D17), and their weights. */
const ENDINGS = { 473: 60, "001": 4, "002": 4, "089": 4, 408: 6, 503: 6, 504: 8, 500: 3, "": 5 };
const MIX = Object.entries(ENDINGS).flatMap(([ending, weight]) => Array<string>(weight).fill(ending));
const SHARE_OF_FAULTS = 0.3;
/** Every fiftieth reference is used again, for another payout. */
const REUSED = 50;

function draw(index: number, random: SeededRandom): DisbursementRequest {
  const ending = random.pick(MIX);
  return {
    reference: `chaos-${index}`,
    amount: 1 + random.below(1_000_000),
    // Without an ending the number is empty and therefore refused.
    phoneNumber: ending && `22570381${String(index % 100).padStart(2, "0")}${ending}`,
    country: "CI",
    currency: "XOF",
  };
}

const isOf = (record: Disbursement, request: DisbursementRequest) =>
  record.amount === request.amount &&
  record.customer.phoneNumber === request.phoneNumber &&
  record.country === request.country &&
  record.currency === request.currency;

/** Names the client's report. A payout whose number is empty or ends with 500 is never recorded, so no 409 resolves it. */
function reportOf({ request: { phoneNumber }, result: { outcome, error } }: Payout): string {
  if (outcome === "refused") return `${outcome}: ${error.name}`;
  const isNeverRecorded = phoneNumber === "" || phoneNumber.endsWith("500");
  return outcome === "unknown" && isNeverRecorded ? "unknown, never recorded" : outcome;
}

/** True if the client reported what the records with the payout's reference say. */
function isTrue({ request, result }: Payout, records: Disbursement[]): boolean {
  const [record, ...more] = records;
  const isPaid = record !== undefined && isOf(record, request);
  if (more.length > 0) return false;
  if (result.data) return isPaid && record.reference === result.data.reference;
  return result.outcome === "unknown" || !isPaid;
}

/** Moves the system clock back and forth by up to an hour. Returns a function that restores it. */
function startClockJumps(random: SeededRandom): () => void {
  const { now } = Date;
  let offset = 0;
  Date.now = () => now() + offset;
  const timer = setInterval(() => void (offset = (random.next() - 0.5) * 7_200_000), 50);
  return () => {
    clearInterval(timer);
    Date.now = now;
  };
}

interface PayoutOptions extends RunOptions {
  payouts: number;
  /** How many payouts are in progress at once. */
  width?: number;
  /** The time limit of an attempt; some responses are delayed beyond it. */
  timeoutMs?: number;
}

/** Creates payouts and checks the report of each. At most one outcome in 1,000 may stay unknown. */
export function runPayouts(options: PayoutOptions): Promise<string[]> {
  const { timeoutMs = 1_000 } = options;
  const network = { share: SHARE_OF_FAULTS, delayMs: 1.5 * timeoutMs };
  const env = { SETTLE_DELAY_MS: "1000" };
  return inWorld({ ...options, database: "sqlite", env, network }, (world) =>
    payAndCompare(world, { ...options, timeoutMs }),
  );
}

async function payAndCompare({ server, key: apiKey, network, violate }: World, options: PayoutOptions) {
  const { payouts: count, seed, print, width = 100, timeoutMs: timeout } = options;
  setMaxListeners(0);
  const restoreClock = startClockJumps(seededRandom(seed + 2));
  try {
    const random = seededRandom(seed + 1);
    const client = createClient({ baseUrl: network.url, apiKey, timeout, retry: { minDelay: 20, maxDelay: 500 } });
    const payouts: Payout[] = [];
    const pay = async (request: DisbursementRequest) => {
      payouts.push({ request, result: await client.disbursements.create(request).result() });
    };
    const requests = Array.from({ length: count }, (_, index) => draw(index, random));
    await inParallel(requests, width, pay);
    const reused = requests.filter((_, index) => index % REUSED === 0);
    await inParallel(
      reused.map((request) => ({ ...request, amount: request.amount + 1 })),
      width,
      pay,
    );

    const { disbursements } = createClient({ baseUrl: server.url, apiKey });
    const all: Disbursement[] = [];
    for await (const record of disbursements.list({ pageSize: 100 })) all.push(record);
    const records = Map.groupBy(all, ({ merchantsReference }) => merchantsReference);
    const counts: Record<string, number> = {};
    for (const payout of payouts) {
      const { reference } = payout.request;
      const found = records.get(reference) ?? [];
      const reported = reportOf(payout);
      counts[reported] = (counts[reported] ?? 0) + 1;
      if (!isTrue(payout, found)) violate(`${reference}: reported ${reported}, found ${found.length} records`);
    }
    print(`reported: ${JSON.stringify(counts)}; faults: ${JSON.stringify(network.counts)}`);
    if ((counts["unknown"] ?? 0) > Math.ceil(count / 1_000)) violate(`${counts["unknown"]} outcomes stayed unknown`);
    for (const needed of ["created", "existed", "refused: ValidationError"])
      if (!counts[needed]) violate(`no payout was ${needed}`);
  } finally {
    restoreClock();
  }
}
