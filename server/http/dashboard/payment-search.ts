import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Response } from "express";
import type { Checkout, Disbursement, RecordQuery } from "../../domain/records.ts";
import type { Page } from "../../domain/pages.ts";
import { csvLine, failureIn, fieldOf, fieldsByName, timestamp } from "../../domain/representation.ts";
import { stated, stateOf } from "../request-state.ts";
import { actorIn, type DashboardContext } from "./view.ts";

/** How the kinds of payments differ. */
export const KINDS = {
  disbursements: {
    one: "disbursement",
    who: "recipient",
    statuses: ["success", "failed", "pending"],
    creation: "createDisbursement",
  },
  checkouts: {
    one: "checkout",
    who: "payer",
    statuses: ["success", "failed", "cancelled", "pending"],
    creation: "createCheckout",
  },
} as const;
export type Kind = keyof typeof KINDS;
export type Payment = Disbursement | Checkout;

const ON_A_PAGE = 25;
/**
 * How many payments of an export are read at once: few enough that a read blocks the event loop no longer than a page of
 * a list does.
 */
const EXPORTED_AT_ONCE = 100;
/** If a visitor reads nothing for this long, the connection is closed, because others may need it. */
const STALLED_MS = 30_000;

/** A search for payments, and the pages of what it finds. */
export interface PaymentSearch {
  status?: string;
  createdAfter?: number;
  createdBefore?: number;
  limit?: number;
  cursor?: string;
  /** A reference or a phone number. */
  search?: string;
  phoneNumber?: string;
}

/** Reads a page of a list. The text to search for is the service's or the merchant's reference, or a phone number. */
export async function readPayments(
  { storage }: Pick<DashboardContext, "storage">,
  kind: Kind,
  merchantId: string,
  { search, phoneNumber, ...filter }: PaymentSearch,
): Promise<Page<Payment>> {
  // The filter has only statuses of this kind.
  const read = (kind === "disbursements" ? storage.listDisbursements : storage.listCheckouts) as (
    query: RecordQuery,
  ) => Promise<Page<Payment>>;
  const find = kind === "disbursements" ? storage.findDisbursement : storage.findCheckout;
  const query = { limit: ON_A_PAGE, ...filter, merchantId };
  if (search === undefined) return read(query);
  const { cursor: _cursor, ...all } = query;
  const [own, named] = await Promise.all([find(merchantId, search), read({ ...all, merchantsReference: search })]);
  const { status, createdAfter = 0, createdBefore = Infinity } = query;
  const fits =
    own && (status ?? own.status) === own.status && own.createdAt >= createdAfter && own.createdAt < createdBefore;
  const found = [...(fits ? [own] : []), ...named.items.filter(({ id }) => id !== own?.id)];
  if (found.length > 0 || phoneNumber === undefined) return { items: found };
  return read({ ...query, phoneNumber });
}

type Columns = Readonly<Record<string, (payment: Payment) => string | number>>;

const COLUMNS: Columns = {
  reference: ({ reference }) => reference,
  merchantsReference: ({ merchantsReference }) => merchantsReference,
  status: ({ status }) => status,
  amount: ({ amount }) => amount,
  fee: ({ fee }) => fee,
  currency: ({ currency }) => currency,
  country: ({ country }) => country,
  phoneNumber: ({ customer }) => customer?.phoneNumber ?? "",
  createdAt: ({ createdAt }) => timestamp(createdAt),
  updatedAt: ({ updatedAt }) => timestamp(updatedAt),
  failureCode: (payment) => failureIn(payment)?.code ?? "",
  failureMessage: (payment) => failureIn(payment)?.message ?? "",
};

const columnsOf = (kind: Kind): Columns => ({
  ...COLUMNS,
  ...Object.fromEntries(fieldsByName(kind).map((name) => [name, (payment) => String(fieldOf(payment, name) ?? "")])),
});

/** Sends all payments that a search finds as CSV (RFC 4180), a few at a time, so that memory stays bounded. */
export async function sendCsv(context: DashboardContext, kind: Kind, search: PaymentSearch, res: Response) {
  const merchantId = stated(res, "merchant").id;
  const details = { list: kind };
  await context.storage.recordAction({ actor: actorIn(res), action: "payments.export", merchantId, details });
  const columns = columnsOf(kind);
  async function* read() {
    let cursor: string | undefined;
    do {
      const more = { ...search, limit: EXPORTED_AT_ONCE, ...(cursor && { cursor }) };
      const page = await readPayments(context, kind, merchantId, more);
      yield page.items.map((payment) => csvLine(Object.values(columns).map((cell) => cell(payment)))).join("");
      cursor = page.cursor;
    } while (cursor !== undefined);
  }
  // The first rows are read before the status is sent, so that an error of the storage gets a page.
  const rows = read();
  const first = await rows.next();
  async function* text() {
    yield csvLine(Object.keys(columns));
    if (!first.done) yield first.value;
    yield* rows;
  }
  res.status(200).type("text/csv").attachment(`${kind}.csv`);
  res.setTimeout(STALLED_MS, () => void res.destroy());
  try {
    // After an error the connection is closed, so that an incomplete file does not look complete.
    await pipeline(Readable.from(text()), res);
  } catch (error) {
    // The status has been sent, so there is no page to show. A visitor may end a download at any time.
    if ((error as NodeJS.ErrnoException).code === "ERR_STREAM_PREMATURE_CLOSE") return;
    context.log.error({ err: error, requestId: stateOf(res).requestId }, "export ended early");
  }
}
