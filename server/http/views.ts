import type { Request, Response } from "express";
import type { Delivery } from "../domain/deliveries.ts";
import type { Event } from "../domain/events.ts";
import type { WebhookSecrets } from "../domain/keys.ts";
import type { StatementEntry } from "../domain/ledger.ts";
import type { Page } from "../domain/pages.ts";
import { csvLine, view } from "../domain/representation.ts";

export const eventView = (event: Event) => view("SandboxEvent", { ...event, body: JSON.parse(event.body) });
export const deliveryView = (delivery: Delivery) => view("Delivery", { ...delivery, event: delivery.type });
export const secretView = ({ current, previous }: WebhookSecrets) =>
  view("WebhookSecret", { secret: current, previousSecrets: previous });

/** A page of any list (D42). */
export function listView<T, V>({ items, cursor }: Page<T>, show: (item: T) => V): { items: V[]; nextCursor?: string } {
  return { items: items.map(show), ...(cursor === undefined ? {} : { nextCursor: cursor }) };
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
  const lines = items
    .map((entry) => view("StatementEntry", entry))
    .map((entry) => STATEMENT_COLUMNS.map((column) => entry[column]));
  return new CsvPage([STATEMENT_COLUMNS, ...lines], cursor);
}
