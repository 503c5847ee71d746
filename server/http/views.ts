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

/** Sends a response in place of JSON. */
export type Send = (req: Request, res: Response) => void;

const STATEMENT_COLUMNS = ["createdAt", "kind", "reference", "currency", "amount", "balance"] as const;

/** Sends a page of a statement as a table. */
export const statementTable =
  ({ items, cursor }: Page<StatementEntry>): Send =>
  ({ originalUrl }, res) => {
    if (cursor !== undefined) {
      const next = new URL(originalUrl, "http://service");
      next.searchParams.set("cursor", cursor);
      res.set("Link", `<${next.pathname}${next.search}>; rel="next"`);
    }
    const entries = items.map((item) => view("StatementEntry", item));
    const lines = entries.map((entry) => STATEMENT_COLUMNS.map((column) => entry[column]));
    res.type("text/csv").send([STATEMENT_COLUMNS, ...lines].map(csvLine).join(""));
  };
