import type { HandoverStore, HandoverSummary } from "./handovers.ts";
import type { RailEntry } from "./rails.ts";
import { timestamp } from "./representation.ts";

/** What can differ between this service ("here") and a rail ("there"). */
export const DIFFERENCES = {
  "missing-there": "missing there",
  "missing-here": "missing here",
  "twice-there": "listed twice there",
  amount: "different amount",
  currency: "different currency",
  fee: "different fee",
  status: "different status",
} as const;
export type DifferenceKind = keyof typeof DIFFERENCES;

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

export interface Reconciliation {
  /** Payments that both sides have and that do not differ. */
  matched: number;
  /** Payments here that the rail need not have: not paid, or not yet given to the rail. */
  notExpected: number;
  differences: Record<DifferenceKind, number>;
  totals: Total[];
}

export interface Period {
  /** Real time. */
  from: number;
  to: number;
}

/**
 * By how much the period of the rail's list is longer than the compared period. A rail may create a payment the next
 * day, or have another clock.
 */
const MARGIN_MS = { before: 3_600_000, after: 86_400_000 };
const ON_A_PAGE = 500;

/** Too many payments to compare at a time. */
export class TooManyPayments extends Error {
  override name = "TooManyPayments";
}

interface Options {
  storage: Pick<HandoverStore, "readHandovers" | "findHandover">;
  rail: string;
  period: Period;
  /** The rail's payments, in any order, for a period that is a little longer. */
  listThere(period: Period): AsyncIterable<RailEntry>;
  /** The most payments here. The memory that the comparison needs grows with their number. */
  most: number;
  onDifference(difference: Difference): void;
}

/** A payment here, and the entries of the rail's list about it. */
interface Known extends Omit<HandoverSummary, "railReference"> {
  there?: { railReference: string | undefined };
}

/**
 * Compares the payments that were created here in a period with the rail's payments. Keeps this service's payments in
 * memory, and reads the rail's payments as a stream.
 * @throws TooManyPayments
 */
export async function reconcile(options: Options): Promise<Reconciliation> {
  const { storage, rail, period, listThere, onDifference } = options;
  const totals = new Map<string, Total>();
  const differences = Object.fromEntries(Object.keys(DIFFERENCES).map((kind) => [kind, 0])) as Record<
    DifferenceKind,
    number
  >;
  const differ = (difference: Difference) => {
    differences[difference.kind] += 1;
    onDifference(difference);
  };
  const here = await readHere(options);
  for (const payment of here.values())
    add(totals, "here", payment.createdAt, { ...payment, fee: payment.railFee ?? 0 });

  const ourReferenceOf = createSearch(options);
  let matched = 0;
  const around = { from: period.from - MARGIN_MS.before, to: period.to + MARGIN_MS.after };
  for await (const entry of listThere(around)) {
    const { createdAt, railReference } = entry;
    const reference = entry.reference ?? (await ourReferenceOf(railReference!));
    const payment = reference === undefined ? undefined : here.get(reference);
    if (reference === undefined || !payment) {
      const isWithin = createdAt >= period.from && createdAt < period.to;
      // Skips entries outside the period, and entries whose payment was created here in another period.
      const isOfAnother = reference !== undefined && (await storage.findHandover(reference))?.rail === rail;
      if (!isWithin || isOfAnother) continue;
      add(totals, "there", createdAt, entry);
      differ({ kind: "missing-here", reference: reference ?? railReference!, there: entry });
      continue;
    }
    // A list that grows while it is read may show an entry again.
    if (payment.there && railReference !== undefined && payment.there.railReference === railReference) continue;
    add(totals, "there", payment.createdAt, entry);
    if (payment.there) {
      differ({ kind: "twice-there", reference, here: payment, there: entry });
      continue;
    }
    payment.there = { railReference };
    const kinds = await differencesOf(payment, entry, storage);
    if (kinds.length === 0) matched += 1;
    for (const kind of kinds) differ({ kind, reference, here: payment, there: entry });
  }

  let notExpected = 0;
  for (const { there, ...payment } of here.values()) {
    if (there) continue;
    if (isExpectedThere(payment)) differ({ kind: "missing-there", reference: payment.reference, here: payment });
    else notExpected += 1;
  }
  const sorted = [...totals.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, total]) => total);
  return { matched, notExpected, differences, totals: sorted };
}

/** The payments that were created here in a period, page by page. */
async function* pagesOf({ storage, rail }: Options, period: Period): AsyncGenerator<HandoverSummary[]> {
  for (let after: HandoverSummary | undefined; ;) {
    const page = await storage.readHandovers(rail, period, after, ON_A_PAGE);
    yield page;
    after = page.at(-1);
    if (after === undefined) return;
  }
}

/**
 * Finds our reference by the rail's reference. Most lists have our references, so the rail's references are read only
 * when they are first needed.
 */
function createSearch(options: Options): (railReference: string) => Promise<string | undefined> {
  const { period } = options;
  async function readAll() {
    const known = new Map<string, string>();
    const around = { from: period.from - MARGIN_MS.after, to: period.to + MARGIN_MS.before };
    for await (const page of pagesOf(options, around))
      for (const { reference, railReference } of page)
        if (railReference !== undefined) known.set(railReference, reference);
    return known;
  }
  let all: ReturnType<typeof readAll> | undefined;
  return async (railReference) => (await (all ??= readAll())).get(railReference);
}

async function readHere(options: Options): Promise<Map<string, Known>> {
  const { period, most } = options;
  const here = new Map<string, Known>();
  // The driver returns equal texts of a result as separate texts in memory, so equal texts are shared here.
  const texts = new Map<string, string>();
  const shared = <T extends string>(text: T) => (texts.get(text) ?? (texts.set(text, text), text)) as T;
  for await (const page of pagesOf(options, period)) {
    for (const { railReference: _, ...each } of page) {
      const { merchantId, currency, status, state } = each;
      here.set(each.reference, {
        ...each,
        merchantId: shared(merchantId),
        currency: shared(currency),
        status: shared(status),
        state: shared(state),
      });
    }
    if (here.size > most)
      throw new TooManyPayments(`The period has more than ${most.toLocaleString("en")} payments. Choose fewer days.`);
  }
  return here;
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
  totals.set(key, total);
  const sum = total[side];
  sum.count += 1;
  sum.amount += BigInt(amount);
  sum.fee += BigInt(fee);
}

export const isDifferent = ({ differences }: Reconciliation): boolean =>
  Object.values(differences).some((count) => count > 0);
