import type { Request, Response } from "express";
import document from "../../generated/openapi.json" with { type: "json" };
import type { components } from "../../generated/openapi.ts";
import { csvLine } from "../csv.ts";
import type { Delivery } from "../domain/deliveries.ts";
import type { Event } from "../domain/events.ts";
import type { WebhookSecrets } from "../domain/keys.ts";
import type { StatementEntry } from "../domain/ledger.ts";
import type { Page } from "../domain/pages.ts";
import { timestamp } from "../domain/representation.ts";

type Schemas = components["schemas"];

interface Schema {
  $ref?: string;
  format?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
}
const schemas = document.components.schemas as Record<string, Schema>;

/** Converts a value to what a schema declares: these fields and no others, and times, which are numbers, as timestamps. */
function declared({ $ref, format, properties, items }: Schema, value: unknown): unknown {
  if ($ref !== undefined) return declared(schemas[$ref.split("/").at(-1)!]!, value);
  if (format === "date-time" && typeof value === "number") return timestamp(value);
  if (items) return (value as unknown[]).map((item) => declared(items, item));
  if (!properties) return value;
  const shown: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(properties)) {
    const field = (value as Record<string, unknown>)[name];
    if (field !== undefined) shown[name] = declared(schema, field);
  }
  return shown;
}

/** Returns what the contract declares of an object. A field more needs no code here. */
export const view = <Name extends keyof Schemas>(name: Name, object: object): Schemas[Name] =>
  declared(schemas[name]!, object) as Schemas[Name];

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
