import { ServiceError } from "./errors.ts";
import type { HandoverStore, HandoverSummary } from "./handovers.ts";
import type { RailEntry } from "./rails.ts";
import { timestamp } from "./representation.ts";
import { DAY_MS } from "./time.ts";

/** What can differ between this service ("here") and a rail ("there"). */
const KINDS = ["missing-there", "missing-here", "twice-there", "amount", "currency", "fee", "status"] as const;
type DifferenceKind = (typeof KINDS)[number];

export interface Difference {
  kind: DifferenceKind;
  /**
   * Our reference; the rail's own reference if the payment is missing here and the rail lists it without our reference.
   */
  reference: string;
  here?: HandoverSummary;
  there?: RailEntry;
}

/** Amounts are in the lowest denomination. Sums may exceed the numbers that JSON can hold exactly. */
interface Sum {
  count: number;
  amount: bigint;
  fee: bigint;
}

/** The payments of a day (UTC), a currency and a status. */
export interface Total {
  day: string;
  currency: string;
  status: string;
  here: Sum;
  there: Sum;
}

interface Period {
  /** Real time. */
  from: number;
  to: number;
}

/**
 * By how much the period of the rail's list is longer than the compared period. A rail may create a payment the next
 * day, or have another clock.
 */
const MARGIN_MS = { before: 3_600_000, after: DAY_MS };
const ON_A_PAGE = 500;

interface Options {
  storage: Pick<HandoverStore, "readHandovers" | "findHandover">;
  rail: string;
  period: Period;
  /** The rail's payments, in any order, for a period that is a little longer. */
  listThere(period: Period): AsyncIterable<RailEntry>;
  /** The most payments here. The memory that the comparison needs grows with their number. */
  most: number;
}

/**
 * Compares the payments that were created here in a period with the rail's payments. Keeps this service's payments in
 * memory, and reads the rail's payments as a stream. `matched` counts the payments that do not differ, `notExpected` the
 * payments here that the rail need not have: not paid, or not yet given to the rail.
 * @throws ServiceError `invalid_value` for more payments than `most`
 */
export async function reconcile(options: Options) {
  const { storage, rail, period, listThere } = options;
  const totals = new Map<string, Total>();
  const found: Difference[] = [];
  const { here, ours } = await readHere(options);
  for (const payment of here.values())
    add(totals, "here", payment.createdAt, { ...payment, fee: payment.railFee ?? 0 });

  /** The rail's own references of the payments that it has listed, by ours. */
  const listed = new Map<string, string | undefined>();
  let matched = 0;
  const around = { from: period.from - MARGIN_MS.before, to: period.to + MARGIN_MS.after };
  for await (const entry of listThere(around)) {
    const { createdAt, railReference } = entry;
    const reference = entry.reference ?? ours.get(railReference!);
    const payment = reference === undefined ? undefined : here.get(reference);
    if (reference === undefined || !payment) {
      const isWithin = createdAt >= period.from && createdAt < period.to;
      // Skips entries outside the period, and entries whose payment was created here in another period.
      const isOfAnother = reference !== undefined && (await storage.findHandover(reference))?.rail === rail;
      if (!isWithin || isOfAnother) continue;
      add(totals, "there", createdAt, entry);
      found.push({ kind: "missing-here", reference: reference ?? railReference!, there: entry });
      continue;
    }
    const isAgain = listed.has(reference);
    // A list that grows while it is read may show an entry again.
    if (isAgain && railReference !== undefined && listed.get(reference) === railReference) continue;
    add(totals, "there", payment.createdAt, entry);
    if (!isAgain) listed.set(reference, railReference);
    const kinds = isAgain ? (["twice-there"] as const) : await differencesOf(payment, entry, storage);
    if (kinds.length === 0) matched += 1;
    found.push(...kinds.map((kind) => ({ kind, reference, here: payment, there: entry })));
  }

  const missing = [...here.values()].filter(({ reference }) => !listed.has(reference));
  const expected = missing.filter(isExpectedThere);
  for (const payment of expected) found.push({ kind: "missing-there", reference: payment.reference, here: payment });
  const countOf = (kind: DifferenceKind) => found.filter((difference) => difference.kind === kind).length;
  return {
    matched,
    notExpected: missing.length - expected.length,
    differences: Object.fromEntries(KINDS.map((kind) => [kind, countOf(kind)])),
    totals: [...totals].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, total]) => total),
    found,
  };
}

/**
 * Reads the payments that were created here in the period, and our references by the rail's: also of payments around the
 * period, because the rail may have created one of its entries earlier or later than we did.
 */
async function readHere({ storage, rail, period, most }: Options) {
  const here = new Map<string, HandoverSummary>();
  const ours = new Map<string, string>();
  const around = { from: period.from - MARGIN_MS.after, to: period.to + MARGIN_MS.before };
  for (let after: HandoverSummary | undefined; ;) {
    const page = await storage.readHandovers(rail, around, after, ON_A_PAGE);
    for (const { railReference, ...payment } of page) {
      if (railReference !== undefined) ours.set(railReference, payment.reference);
      if (payment.createdAt >= period.from && payment.createdAt < period.to) here.set(payment.reference, payment);
    }
    if (here.size > most)
      throw new ServiceError(
        "invalid_value",
        `The period has more than ${most.toLocaleString("en")} payments. Choose fewer days.`,
      );
    after = page.at(-1);
    if (!after) return { here, ours };
  }
}

/** Failed and cancelled payments have moved no money, so a rail that refused them need not know them. */
const isExpectedThere = ({ status, state }: HandoverSummary) =>
  status === "success" || (status === "pending" && state !== "waiting");

const paidOrNot = (status: string) => (status === "cancelled" ? "failed" : status);

async function differencesOf(
  payment: HandoverSummary,
  entry: RailEntry,
  storage: Options["storage"],
): Promise<DifferenceKind[]> {
  const kinds: DifferenceKind[] = [];
  if (payment.amount !== entry.amount) kinds.push("amount");
  if (payment.currency !== entry.currency) kinds.push("currency");
  if (payment.railFee !== undefined && entry.fee !== undefined && payment.railFee !== entry.fee) kinds.push("fee");
  // A payment may have ended since this service's side was read.
  const isSame = async () =>
    paidOrNot(payment.status) === paidOrNot(entry.status) ||
    (payment.status === "pending" &&
      paidOrNot((await storage.findHandover(payment.reference))?.status ?? "") === paidOrNot(entry.status));
  if (!(await isSame())) kinds.push("status");
  return kinds;
}

const none = () => ({ count: 0, amount: 0n, fee: 0n });

function add(
  totals: Map<string, Total>,
  side: "here" | "there",
  at: number,
  { amount, currency, status, fee = 0 }: Pick<RailEntry, "amount" | "currency" | "status" | "fee">,
): void {
  const day = timestamp(at).slice(0, 10);
  const key = `${day} ${currency} ${status}`;
  const total = totals.get(key) ?? { day, currency, status, here: none(), there: none() };
  const before = total[side];
  const sum = { count: before.count + 1, amount: before.amount + BigInt(amount), fee: before.fee + BigInt(fee) };
  totals.set(key, { ...total, [side]: sum });
}
