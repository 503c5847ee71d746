// The map from an agent's tools to what a run does with them: prepare, pay, read and approve a payout.
import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { parse } from "yaml";
import { OptionsError } from "../../cli/flags.ts";
import type { Entry } from "../client/entries.ts";

/** What a result says about the payment. `error` is a failed call without one of the other words. */
export const words = ["pending", "success", "failed", "refused", "needs_approval", "unknown"] as const;
export type Word = (typeof words)[number] | "error";

/** A call of a tool. Arguments are templates; see `valuesOf`. */
type MappedCall = { tool: string; arguments: Readonly<Record<string, unknown>> };

export type ToolMap = {
  /** A call that pays nothing and returns a plan; undefined if the tools need no plan. */
  prepare?: MappedCall & {
    /** Where the result has the plan's id, such as `plan.id`. */
    plan: string;
  };
  pay: MappedCall;
  read?: MappedCall;
  result: {
    /** Where a result has its word. */
    at: string;
    /** The meaning of each word. */
    words: Readonly<Record<string, (typeof words)[number]>>;
    /** A field that is false in a result if nothing of the payment has been paid. */
    paid?: string;
  };
  /** How a person approves: a command line, or a link in the result of `pay`. */
  approve?: { command?: string; link?: string; /** How long an approval holds, in seconds. */ expires?: number };
  /** The bounds that the tools have, in the lowest denomination. */
  limits?: { payout?: number; day?: number; approval?: number };
  country: string;
  currency: string;
};

const schema = JSON.parse(readFileSync(new URL("map.schema.json", import.meta.url), "utf8")) as object;
const ajv = new Ajv2020({ allErrors: true, useDefaults: true, validateSchema: false });
const fits = ajv.compile<ToolMap>(schema);

/** Reads the text of a `tools.yaml`. @throws OptionsError with every fault found */
export function readMap(text: string, name: string): ToolMap {
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    throw new OptionsError([`${name} is not YAML: ${(error as Error).message}`]);
  }
  if (fits(value)) return value;
  throw new OptionsError(
    (fits.errors ?? []).map(({ instancePath, message, params }) => {
      const what = "additionalProperty" in params ? ` (${params["additionalProperty"] as string})` : "";
      return `${name}: ${instancePath.replace("/", "").replaceAll("/", ".") || "the map"} ${message}${what}`;
    }),
  );
}

/** What the templates of arguments stand for. */
export type Values = Record<"reference" | "amount" | "phoneNumber" | "country" | "currency" | "purpose", unknown> & {
  plan?: unknown;
  /** The link in a result. */
  link?: unknown;
};

export const valuesOf = ({ reference, amount, phoneNumber, country, currency }: Entry, purpose: string): Values => ({
  reference,
  amount,
  phoneNumber,
  country,
  currency,
  purpose,
});

function valueOf(name: string, values: Values): unknown {
  const { amount } = values;
  const isNumber = typeof amount === "number";
  const isText = typeof amount === "string";
  // Another amount is passed as it is, because a scenario chose it: as texts, true and [15000] could be valid amounts.
  if (name === "units") return isNumber ? amount / 100 : amount;
  if (name === "amountText") return isNumber ? String(amount) : amount;
  if (name === "unitsText") {
    if (Number.isInteger(amount)) return (Number(amount) / 100).toFixed(2);
    return isNumber || isText ? String(Number(amount) / 100 || amount) : amount;
  }
  return values[name as keyof Values];
}

/**
 * Fills the templates in a value. If the whole text is one template, the value replaces it and keeps its type, such as
 * a number.
 */
export function fill<T>(template: T, values: Values): T {
  if (typeof template === "string") {
    const [, whole] = /^\{(\w+)\}$/.exec(template) ?? [];
    if (whole !== undefined) return valueOf(whole, values) as T;
    return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(valueOf(name, values))) as T;
  }
  if (typeof template !== "object" || template === null) return template;
  if (Array.isArray(template)) return template.map((each: unknown) => fill(each, values)) as T;
  return Object.fromEntries(Object.entries(template).map(([name, value]) => [name, fill(value, values)])) as T;
}

/** Returns true if a call's templates use a value. */
export const uses = (call: MappedCall | undefined, name: string) =>
  JSON.stringify(call?.arguments ?? {}).includes(`{${name}}`);

/** What a tool returned. */
export type Returned = { isError: boolean; texts: readonly string[]; structured?: unknown };

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the value at a path such as `plan.id` of the structured content, or of a text that is JSON. */
export function at({ structured, texts }: Returned, path: string): unknown {
  for (const source of [structured, ...texts.map(parsed)]) {
    const found = path
      .split(".")
      .reduce<unknown>((value, name) => (value as Record<string, unknown> | null | undefined)?.[name], source);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns what a result says; undefined if it has no known word. `isUnpaid`: it says that nothing has been paid. */
export function readResult({ result }: ToolMap, returned: Returned): { word: Word | undefined; isUnpaid: boolean } {
  const text = at(returned, result.at);
  const known = typeof text === "string" && Object.hasOwn(result.words, text) ? result.words[text] : undefined;
  const isUnpaid = result.paid !== undefined && at(returned, result.paid) === false;
  return { word: known ?? (returned.isError ? "error" : undefined), isUnpaid };
}
