import type { Request, Response } from "express";
import type { components } from "../../generated/openapi.ts";
import { timestamp } from "../domain/representation.ts";
import type { Attempt, Delivery } from "../domain/deliveries.ts";
import type { Balance, StatementEntry } from "../domain/ledger.ts";
import type { Page } from "../domain/pages.ts";
import { sandboxTime } from "../domain/time.ts";
import type { Checkout } from "../domain/checkouts.ts";
import type { Disbursement } from "../domain/disbursements.ts";
import type { Event } from "../domain/events.ts";
import type { Merchant } from "../domain/merchants.ts";
import type { WebhookSecrets } from "../domain/keys.ts";
import { csvLine } from "../csv.ts";

type Schemas = components["schemas"];

/** The response to creating a disbursement (§2.2). */
export function disbursementCreated(record: Disbursement): Schemas["DisbursementCreated"] {
  const { reference, merchantsReference, amount, fee, status } = record;
  return { reference, merchantsReference, amount, fee, status };
}

/**
 * The response to creating a checkout (D6).
 * @param publicUrl the base URL for customers; taken from the configuration, never from a request's Host header
 */
export function checkoutCreated(record: Checkout, publicUrl: string): Schemas["CheckoutCreated"] {
  const { reference, merchantsReference, amount, fee, status } = record;
  return { url: `${publicUrl}/checkouts/${reference}`, reference, merchantsReference, amount, fee, status };
}

/** @param now real time */
export function clockView(merchant: Merchant, now: number): Schemas["Clock"] {
  return { now: timestamp(sandboxTime(merchant, now)) };
}

export function secretView({ current, previous }: WebhookSecrets): Schemas["WebhookSecret"] {
  return {
    secret: current,
    previousSecrets: previous.map(({ secret, expiresAt }) => ({ secret, expiresAt: timestamp(expiresAt) })),
  };
}

/** A page of any list (D42). */
export function listView<T, V>({ items, cursor }: Page<T>, view: (item: T) => V): { items: V[]; nextCursor?: string } {
  return { items: items.map(view), ...(cursor === undefined ? {} : { nextCursor: cursor }) };
}

export const balancesView = (balances: readonly Balance[]): Schemas["Balances"] => ({
  items: balances.map(({ currency, available, reserved, enforced }) => ({ currency, available, reserved, enforced })),
});

export function statementEntryView({ createdAt, ...entry }: StatementEntry): Schemas["StatementEntry"] {
  return { ...entry, createdAt: timestamp(createdAt) };
}

/** A page of a list as a table, which is sent in place of JSON. */
export class CsvPage {
  private readonly text: string;
  private readonly nextCursor: string | undefined;

  constructor(lines: readonly (readonly (string | number)[])[], nextCursor: string | undefined) {
    this.text = lines.map(csvLine).join("");
    this.nextCursor = nextCursor;
  }

  send(req: Request, res: Response): void {
    if (this.nextCursor !== undefined) {
      const next = new URL(req.originalUrl, "http://service");
      next.searchParams.set("cursor", this.nextCursor);
      res.set("Link", `<${next.pathname}${next.search}>; rel="next"`);
    }
    res.type("text/csv").send(this.text);
  }
}

const STATEMENT_COLUMNS = ["createdAt", "kind", "reference", "currency", "amount", "balance"] as const;

export function statementTable({ items, cursor }: Page<StatementEntry>): CsvPage {
  const lines = items.map(statementEntryView).map((entry) => STATEMENT_COLUMNS.map((column) => entry[column]));
  return new CsvPage([STATEMENT_COLUMNS, ...lines], cursor);
}

export function eventView({ id, createdAt, reference, body }: Event): Schemas["SandboxEvent"] {
  return { id, createdAt: timestamp(createdAt), reference, body: JSON.parse(body) };
}

export function deliveryView(delivery: Delivery): Schemas["Delivery"] {
  const { id, type, reference, url, status, createdAt, nextAttemptAt, attempts } = delivery;
  return {
    id,
    event: type,
    reference,
    url,
    status,
    createdAt: timestamp(createdAt),
    ...(nextAttemptAt === undefined ? {} : { nextAttemptAt: timestamp(nextAttemptAt) }),
    attempts: attempts.map(attemptView),
  };
}

function attemptView({ at, sentAt, ...rest }: Attempt): Schemas["Attempt"] {
  return { ...rest, at: timestamp(at), sentAt: timestamp(sentAt) };
}
