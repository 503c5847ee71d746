import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, resolve } from "node:path";
import { ATTENTION_AFTER_MINUTES } from "../domain/handovers.ts";

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
  /** After how many minutes a payment whose outcome is unknown needs a person. */
  attentionAfterMinutes: number;
}

/** The rails could not be opened. The message says what to do about each. */
export class RailsError extends Error {
  override name = "RailsError";
}

/** Names are parts of addresses. */
const NAME = /^[a-z][a-z0-9-]{0,31}$/;
const SECRET = /^whsec_[A-Za-z0-9+/=_-]+$/;

/** Collects all problems, so that an operator can fix them together. */
type Report = (problem: string) => void;

/** Reads the settings of one rail from the variables RAIL_URL, RAIL_API_KEY_FILE and RAIL_WEBHOOK_SECRET_FILE. */
export function singleRail(
  url: string,
  { apiKey, webhookSecret }: { apiKey: string | undefined; webhookSecret: string | undefined },
  report: Report,
): RailsSettings {
  const secrets = secretsOf(["RAIL_API_KEY_FILE", apiKey], ["RAIL_WEBHOOK_SECRET_FILE", webhookSecret], report);
  const rails = [{ name: "rail", url, ...secrets }];
  return { rails, routes: [{ rail: "rail" }], attentionAfterMinutes: ATTENTION_AFTER_MINUTES };
}

/** What an operator calls a file of secrets, and its path. */
type SecretFile = readonly [name: string, path: string | undefined];

/** Reads the secrets of a rail that is a service. */
function secretsOf([keyName, keyFile]: SecretFile, [secretName, secretFile]: SecretFile, report: Report) {
  const read = (name: string, file: string | undefined): string => {
    try {
      return file === undefined ? "" : secretIn(file);
    } catch (error) {
      report(`${name} ${(error as Error).message}`);
      return "";
    }
  };
  if (keyFile === undefined) report(`${keyName} is missing: the file with this service's API key at the rail`);
  const apiKey = read(keyName, keyFile);
  // One secret per line: the current secret and, during a rotation, earlier secrets.
  const webhookSecrets = read(secretName, secretFile).split(/\s+/).filter(Boolean);
  if (!webhookSecrets.every((secret) => SECRET.test(secret)))
    report(`${secretName} must contain a secret that begins with whsec_ in each line (they are not shown)`);
  return { apiKey, webhookSecrets };
}

/** Reads the file that RAILS names. Files that it names are relative to its own folder. */
export function readRailsFile(file: string, report: Report): RailsSettings {
  const nothing = { rails: [], routes: [], attentionAfterMinutes: ATTENTION_AFTER_MINUTES };
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    report(`RAILS must be a readable file: ${(error as Error).message}`);
    return nothing;
  }
  // The library is loaded only if it is used.
  const { parseDocument } = createRequire(import.meta.url)("yaml") as typeof import("yaml");
  const document = parseDocument(text);
  for (const { message } of document.errors) report(`${file}: ${message.split("\n")[0]}`);
  if (document.errors.length > 0) return nothing;
  const at = (place: string, problem: string) => report(`${file}: ${place} ${problem}`);
  const root = asObject(document.toJS(), "the file", at);
  refuseOthers(root, ["rails", "routes", "attentionAfterMinutes"], "the file", at);
  const named = asObject(root.rails, "rails", at);
  const names = Object.keys(named);
  if (names.length === 0) at("rails", "must have at least one rail");
  const { attentionAfterMinutes = ATTENTION_AFTER_MINUTES, routes } = root;
  if (!isNumberFrom(1, attentionAfterMinutes)) at("attentionAfterMinutes", "must be a number of at least 1");
  if (!Array.isArray(routes) || routes.length === 0)
    at("routes", "must be a list with at least one route, such as `- rail: NAME`");
  return {
    rails: names.map((name) => toRail(name, named[name], dirname(resolve(file)), at)),
    routes: (Array.isArray(routes) ? routes : []).map((route, index) => toRoute(route, `routes[${index}]`, names, at)),
    attentionAfterMinutes: attentionAfterMinutes as number,
  };
}

type At = (place: string, problem: string) => void;
type Fields = Readonly<Record<string, unknown>>;

function toRail(name: string, value: unknown, folder: string, at: At): RailSettings {
  const place = `rails.${name}`;
  if (!NAME.test(name)) at(place, "must have a name of at most 32 lower-case letters, digits and hyphens");
  const rail = asObject(value, place, at);
  const isModule = rail.module !== undefined;
  const own = isModule ? ["module", "settings"] : ["url", "apiKeyFile", "webhookSecretFile"];
  refuseOthers(rail, [...own, "requestsPerSecond"], place, at);
  const { requestsPerSecond } = rail;
  if (requestsPerSecond !== undefined && !isNumberFrom(1, requestsPerSecond))
    at(`${place}.requestsPerSecond`, "must be a whole number of at least 1");
  const limit = requestsPerSecond === undefined ? {} : { requestsPerSecond: requestsPerSecond as number };
  if (isModule) {
    if (typeof rail.module !== "string") at(`${place}.module`, "must be the path of a module");
    return { name, module: resolve(folder, String(rail.module)), settings: rail.settings, ...limit };
  }
  const url = URL.parse(String(rail.url));
  const isAddress = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search;
  if (!isAddress) at(`${place}.url`, "must be an http or https URL without credentials or query, or set module");
  const fileOf = (field: string) => (rail[field] === undefined ? undefined : resolve(folder, String(rail[field])));
  const secrets = secretsOf(
    ["apiKeyFile", fileOf("apiKeyFile")],
    ["webhookSecretFile", fileOf("webhookSecretFile")],
    (problem) => at(place, problem),
  );
  return { name, url: url?.href.replace(/\/+$/, "") ?? "", ...secrets, ...limit };
}

const CONDITIONS: Readonly<Record<Exclude<keyof Route, "rail">, [RegExp, string]>> = {
  kind: [/^(disbursement|checkout)$/, "must be disbursement or checkout"],
  country: [/^[A-Z]{2}$/, "must be two capital letters, such as CI"],
  currency: [/^[A-Z]{3}$/, "must be three capital letters, such as XOF"],
  phonePrefix: [/^\d{1,15}$/, 'must be digits in quotes, with the calling code, such as "22507"'],
};

function toRoute(value: unknown, place: string, names: readonly string[], at: At): Route {
  const route = asObject(value, place, at);
  refuseOthers(route, ["rail", ...Object.keys(CONDITIONS)], place, at);
  if (!names.includes(route.rail as string)) at(`${place}.rail`, `must be one of ${names.join(", ")}`);
  for (const [field, [pattern, rule]] of Object.entries(CONDITIONS)) {
    const given = route[field];
    if (given !== undefined && (typeof given !== "string" || !pattern.test(given))) at(`${place}.${field}`, rule);
  }
  if (route.phonePrefix !== undefined && route.kind === "checkout")
    at(`${place}.phonePrefix`, "cannot be a condition of checkouts, whose payer is not known");
  return route as unknown as Route;
}

function asObject(value: unknown, place: string, at: At): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  at(place, "must have fields");
  return {};
}

function refuseOthers(fields: Fields, known: readonly string[], place: string, at: At) {
  for (const name of Object.keys(fields).filter((each) => !known.includes(each)))
    at(`${place}.${name}`, `is not known; known are ${known.join(", ")}`);
}

const isNumberFrom = (least: number, value: unknown) => Number.isInteger(value) && (value as number) >= least;

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
