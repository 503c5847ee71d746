import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, resolve } from "node:path";

/** What a rail is: a service that speaks this contract, or an operator's module. */
export type RailSettings = { name: string; requestsPerSecond?: number } & (
  | { url: string; apiKey: string; webhookSecrets: readonly string[] }
  | { module: string; settings: unknown }
);

/** Which payments a rail carries. A condition that is absent fits every payment. */
export interface Route {
  rail: string;
  kind?: "disbursement" | "checkout";
  country?: string;
  currency?: string;
  /** The first digits of the recipient's number, with the calling code. */
  phonePrefix?: string;
}

export interface RailsSettings {
  rails: readonly RailSettings[];
  /** The first route that fits a payment decides. */
  routes: readonly Route[];
  attentionAfterMinutes?: number | undefined;
}

/** The rails could not be opened. The message says what to do about each. */
export class RailsError extends Error {
  override name = "RailsError";
}

/** What a base URL must be. */
export const BASE_URL = "must be an http or https URL without credentials, query or fragment";
/** Returns a base URL without slashes at its end; undefined if the text is none. */
export function baseUrl(text: string): string | undefined {
  const url = URL.parse(text);
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash;
  return isPlain ? url.href.replace(/\/+$/, "") : undefined;
}

/** Names are parts of addresses. */
const NAME = /^[a-z][a-z0-9-]{0,31}$/;
const SECRET = /^whsec_[A-Za-z0-9+/=_-]+$/;

/** Collects all problems, so that an operator can fix them together. */
type Report = (problem: string) => void;
/** Reports a problem of a field. */
type At = (field: string, problem: string) => void;
type Fields = Readonly<Record<string, unknown>>;

type Fits = (value: unknown) => boolean;
/** A test of a field's value, and what a value that fails it must be. */
type Rules = Readonly<Record<string, readonly [fits: Fits, rule: string]>>;

const optional =
  (fits: Fits): Fits =>
  (value) =>
    value === undefined || fits(value);
const matches =
  (pattern: RegExp): Fits =>
  (value) =>
    typeof value === "string" && pattern.test(value);
const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const COUNT = [
  optional((value) => Number.isInteger(value) && (value as number) >= 1),
  "must be a whole number of at least 1",
] as const;
const FILE: Rules = {
  rails: [(value) => isObject(value) && Object.keys(value).length > 0, "must have at least one rail"],
  routes: [
    (value) => Array.isArray(value) && value.length > 0,
    "must be a list with at least one route, such as `- rail: NAME`",
  ],
  attentionAfterMinutes: COUNT,
};
const MODULE: Rules = {
  module: [matches(/./), "must be the path of a module"],
  settings: [() => true, ""],
  requestsPerSecond: COUNT,
};
const SERVICE: Rules = {
  url: [(value) => baseUrl(String(value)) !== undefined, BASE_URL],
  apiKeyFile: [matches(/./), "is missing: the file with this service's API key at the rail"],
  webhookSecretFile: [optional(matches(/./)), "must be the path of a file"],
  requestsPerSecond: COUNT,
};
const ROUTE: Rules = {
  rail: [() => true, ""],
  kind: [optional(matches(/^(disbursement|checkout)$/)), "must be disbursement or checkout"],
  country: [optional(matches(/^[A-Z]{2}$/)), "must be two capital letters, such as CI"],
  currency: [optional(matches(/^[A-Z]{3}$/)), "must be three capital letters, such as XOF"],
  phonePrefix: [optional(matches(/^\d{1,15}$/)), 'must be digits in quotes, with the calling code, such as "22507"'],
};

/** Reads an object, and reports its fields that are not known or break their rule. */
function fieldsOf(value: unknown, rules: Rules, at: At): Fields {
  if (!isObject(value)) at("", "must have fields");
  const fields = isObject(value) ? value : {};
  for (const name of Object.keys(fields).filter((each) => !Object.hasOwn(rules, each)))
    at(name, `is not known; known are ${Object.keys(rules).join(", ")}`);
  for (const [name, [fits, rule]] of Object.entries(rules)) if (!fits(fields[name])) at(name, rule);
  return fields;
}

/** Reads the only rail, which is a service. The fields are those of a rail in the file of rails. */
export function singleRail(service: Fields, at: At): RailsSettings {
  const rails = [toRail("rail", service, ".", at)];
  return { rails, routes: [{ rail: "rail" }] };
}

/** Reads the text of the file that RAILS names. Files that it names are relative to its own folder. */
export function toRails({ file, text }: { file: string; text: string }, report: Report): RailsSettings {
  // The library is loaded only if it is used.
  const { parseDocument } = createRequire(import.meta.url)("yaml") as typeof import("yaml");
  const document = parseDocument(text);
  for (const { message } of document.errors) report(`${file}: ${message.split("\n")[0]}`);
  const within = (place: string): At => {
    return (field, problem) => report(`${file}: ${[place, field].filter(Boolean).join(".") || "the file"} ${problem}`);
  };
  const fields = document.errors.length > 0 ? {} : fieldsOf(document.toJS(), FILE, within(""));
  const rails = isObject(fields.rails) ? Object.entries(fields.rails) : [];
  const routes = Array.isArray(fields.routes) ? fields.routes : [];
  const names = rails.map(([name]) => name);
  return {
    rails: rails.map(([name, rail]) => toRail(name, rail, dirname(resolve(file)), within(`rails.${name}`))),
    routes: routes.map((route, index) => toRoute(route, names, within(`routes[${index}]`))),
    attentionAfterMinutes: fields.attentionAfterMinutes as number | undefined,
  };
}

function toRail(name: string, value: unknown, folder: string, at: At): RailSettings {
  if (!NAME.test(name)) at("", "must have a name of at most 32 lower-case letters, digits and hyphens");
  const isModule = isObject(value) && value.module !== undefined;
  const { requestsPerSecond, ...rail } = fieldsOf(value, isModule ? MODULE : SERVICE, at);
  const common = { name, ...(requestsPerSecond !== undefined && { requestsPerSecond: requestsPerSecond as number }) };
  if (isModule) return { ...common, module: resolve(folder, String(rail.module)), settings: rail.settings };
  const read = (field: string): string => {
    try {
      return typeof rail[field] === "string" ? secretIn(resolve(folder, rail[field])) : "";
    } catch (error) {
      at(field, (error as Error).message);
      return "";
    }
  };
  // One secret per line: the current secret and, during a rotation, earlier secrets.
  const webhookSecrets = read("webhookSecretFile").split(/\s+/).filter(Boolean);
  if (!webhookSecrets.every((secret) => SECRET.test(secret)))
    at("webhookSecretFile", "must contain a secret that begins with whsec_ in each line (they are not shown)");
  return { ...common, url: baseUrl(String(rail.url)) ?? "", apiKey: read("apiKeyFile"), webhookSecrets };
}

function toRoute(value: unknown, names: readonly string[], at: At): Route {
  const route = fieldsOf(value, ROUTE, at);
  if (!names.includes(route.rail as string)) at("rail", `must be one of ${names.join(", ")}`);
  if (route.phonePrefix !== undefined && route.kind === "checkout")
    at("phonePrefix", "cannot be a condition of checkouts, whose payer is not known");
  return route as unknown as Route;
}

/** Reads a file that a setting names. @throws Error whose message goes after the name of the setting */
export function textIn(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    throw new Error(`cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

/** Reads a secret from a file. @throws Error as `textIn` does; its message never shows the secret */
export function secretIn(file: string): string {
  const text = textIn(file);
  if (/^[\x21-\x7e\s]+$/.test(text)) return text;
  throw new Error("must contain printable ASCII characters (they are not shown)");
}
