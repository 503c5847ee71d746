import type { Request, Response } from "express";
import document from "../../generated/openapi.json" with { type: "json" };
import type { components } from "../../generated/openapi.ts";
import type { Delivery } from "../domain/deliveries.ts";
import type { Event } from "../domain/events.ts";
import type { WebhookSecrets } from "../domain/keys.ts";
import type { StatementEntry } from "../domain/ledger.ts";
import type { Page } from "../domain/pages.ts";
import { csvLine, timestamp } from "../domain/representation.ts";

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
