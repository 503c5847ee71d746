import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Response } from "express";
import { csvLine } from "../../csv.ts";
import { failureIn, fieldOf, fieldsByName, timestamp } from "../../domain/representation.ts";
import type { Checkout } from "../../domain/checkouts.ts";
import type { Disbursement } from "../../domain/disbursements.ts";
import { stated, stateOf } from "../request-state.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { readPayments, type Kind, type PaymentSearch } from "./payment-search.ts";
import { watchSession } from "./sessions.ts";
import { actorIn } from "./view.ts";

/**
 * How many payments are read at once: few enough that a read blocks the event loop no longer than a page of a list
 * does.
 */
const ROWS_PER_READ = 100;
/** If a visitor reads nothing for this long, the connection is closed, because others may need it. */
const STALLED_MS = 30_000;

type Columns = Readonly<Record<string, (payment: Disbursement | Checkout) => string | number>>;

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
export async function sendCsv(
  context: DashboardContext,
  kind: Kind,
  filter: PaymentSearch,
  res: Response,
): Promise<void> {
  const merchant = stated(res, "merchant");
  await context.storage.recordAction({
    actor: actorIn(res),
    action: "payments.export",
    merchantId: merchant.id,
    details: { list: kind },
  });
  // The first rows are read before the status is sent, so that an error of the storage gets a page.
  const rows = rowsOf(context, kind, merchant.id, filter, watchSession(context, res.req));
  const first = await rows.next();
  res.status(200).type("text/csv").attachment(`${kind}.csv`);
  async function* text() {
    yield csvLine(Object.keys(columnsOf(kind)));
    if (!first.done) yield first.value;
    yield* rows;
  }
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

async function* rowsOf(
  context: DashboardContext,
  kind: Kind,
  merchantId: string,
  filter: PaymentSearch,
  isSignedIn: () => Promise<boolean>,
) {
  const columns = Object.values(columnsOf(kind));
  let cursor: string | undefined;
  do {
    const page = await readPayments(context, kind, merchantId, {
      ...filter,
      limit: ROWS_PER_READ,
      ...(cursor && { cursor }),
    });
    yield page.items.map((payment) => csvLine(columns.map((read) => read(payment)))).join("");
    cursor = page.cursor;
    if (cursor !== undefined && !(await isSignedIn())) throw new Error("The session ended during the export.");
  } while (cursor !== undefined);
}
