// Reads traffic in the shape that the guide documents for JSON Lines. Recordings hide or leave out keys and bodies, and
// also have requests to other services.
import { Ajv } from "ajv";
import { openapi } from "../contract/contract.ts";
import { parsedJson } from "../target/values.ts";
import { decodedText, webhookOf, type Absent, type Body, type Headers, type Listener, type Seen } from "./traffic.ts";

type Message = { headers?: Record<string, unknown> | { name: string; value?: unknown }[]; body?: unknown };
type Recorded = Message & {
  kind?: Seen["kind"];
  sentAt: number | string;
  endedAt?: number | string;
  method?: string;
  url?: string;
  path?: string;
  caller?: string | number;
  response?: Message & { status?: number | string };
  /** How the receiver of a webhook responded. */
  status?: number | string;
};

/** Reads ISO 8601 with a time zone, or milliseconds since 1970. Returns NaN for a time in seconds or microseconds. */
function timeFrom(value: unknown): number {
  const isDate = typeof value === "string" && /(Z|[+-]\d\d:?\d\d)$/i.test(value);
  const time = isDate ? Date.parse(value) : Number(value);
  return time > 1e11 && time < 1e14 ? time : Number.NaN;
}

const text = { description: "a text", type: "string", minLength: 1 };
const time = { description: "ISO 8601 with a time zone, or milliseconds since 1970", isTime: true };
const number = { description: "a number", type: ["integer", "string"], pattern: String.raw`^-?\d+$` };
const message = {
  status: number,
  headers: {
    description: 'an object, or a list of {"name", "value"}',
    type: ["object", "array"],
    items: { description: '{"name", "value"}', type: "object", required: ["name"], properties: { name: text } },
  },
  body: {
    properties: {
      base64: { description: "base64", type: "string" },
      absent: { description: "missing, cut or undecodable", enum: ["missing", "cut", "undecodable"] },
    },
  },
};
const schema = {
  description: "a JSON object",
  type: "object",
  required: ["sentAt"],
  properties: {
    ...message,
    kind: { description: "exchange or webhook", enum: ["exchange", "webhook"] },
    sentAt: time,
    endedAt: time,
    method: text,
    url: text,
    path: text,
    caller: { description: "a text or a number", type: ["string", "number"] },
    response: { description: "an object", type: "object", required: ["status"], properties: message },
  },
  anyOf: [{ required: ["url"] }, { required: ["path"] }],
  if: { properties: { kind: { const: "webhook" } }, required: ["kind"] },
  // Otherwise a flat line would be an exchange whose response was lost.
  else: { required: ["endedAt", "method"], properties: { status: { description: 'in "response"', not: {} } } },
};
const ajv = new Ajv({ strict: false, verbose: true });
ajv.addKeyword({ keyword: "isTime", validate: (_: true, value: unknown) => timeFrom(value) > 0 });
const isRecorded = ajv.compile<Recorded>(schema);

/** Names the field that is not as documented, and quotes nothing. Undefined if all are. */
function faultIn(value: unknown): string | undefined {
  if (isRecorded(value))
    return timeFrom(value.endedAt) < timeFrom(value.sentAt) ? '"endedAt" must not be before "sentAt"' : undefined;
  const { instancePath, params, parentSchema } = isRecorded.errors![0]!;
  const lacking = params["missingProperty"] as string | undefined;
  const field = [...instancePath.split("/").slice(1), lacking ?? []].flat().join(".");
  return `${field ? `"${field}"` : "it"} ${lacking ? "is missing" : `must be ${parentSchema!["description"]}`}`;
}

function headersFrom(recorded: Message["headers"] = {}): Headers {
  const list = Array.isArray(recorded) ? recorded : Object.entries(recorded).map(([name, value]) => ({ name, value }));
  const headers: Record<string, string> = {};
  for (const { name, value } of list) {
    // HTTP/2 has pseudo headers. This one stands for the host.
    const key = name.toLowerCase().replace(/^:authority$/, "host");
    if (value === undefined || value === null || key.startsWith(":")) continue;
    const joined = Array.isArray(value) ? value.join(", ") : String(value as string);
    headers[key] = headers[key] === undefined ? joined : `${headers[key]}, ${joined}`;
  }
  return headers;
}

/** @param mayBeEmpty whether a body of which nothing is recorded was empty, unless a header says that it was not */
function bodyFrom(recorded: unknown, headers: Headers, mayBeEmpty: boolean): Body {
  const { absent, base64 } = Object(recorded) as Partial<Absent & { base64: string }>;
  if (absent) return { absent };
  // The sender may have written the same value in more bytes.
  if (typeof recorded !== "string" && base64 === undefined) return JSON.stringify(recorded);
  const bytes = Buffer.from(base64 ?? (recorded as string), base64 === undefined ? "utf8" : "base64");
  const coding = headers["content-encoding"];
  const length = coding === undefined ? Number(headers["content-length"] ?? Number.NaN) : Number.NaN;
  // Many recorders write an empty text for a body that they did not keep.
  if (bytes.length === 0) return length === 0 || (mayBeEmpty && !(length > 0)) ? "" : { absent: "missing" };
  if (bytes.length < length) return { absent: "cut" };
  const body = decodedText(bytes, coding);
  if (typeof body !== "string") return body;
  if (body.includes("\uFFFD")) return { absent: "undecodable" };
  const isCut = Number.isNaN(length) && /^\s*[{[]/.test(body) && parsedJson(body) === undefined;
  return isCut ? { absent: "cut" } : body;
}

function messageFrom({ headers: recorded, body }: Message, mayBeEmpty: boolean) {
  const headers = headersFrom(recorded);
  return { headers, body: bodyFrom(body ?? "", headers, mayBeEmpty) };
}

/** The origins of some URLs as they were written, such as "https://Pay.example:443". */
const origins = new Map<string, string>();

/** Divides a URL into its origin, if it has one, and its path with the query, as sent. */
function divided(url: string): { origin: string | undefined; path: string } {
  const [, origin, path = ""] = /^([a-z][a-z\d+.-]*:(?:\/\/[^/?#]*)?)?([^#]*)/i.exec(url) ?? [];
  if (origin === undefined) return { origin, path };
  if (origins.size > 1000) origins.clear();
  const known = origins.get(origin) ?? URL.parse(origin)?.origin ?? origin;
  origins.set(origin, known);
  return { origin: known, path };
}

/** Returns the exchange, with the path of its URL. */
function exchangeFrom({ sentAt, endedAt = sentAt, method = "POST", path, url = path, caller, ...recorded }: Recorded) {
  const { status, response = { status }, ...request } = recorded;
  const code = Number(response.status ?? 0);
  const isEmpty = method === "HEAD" || code < 200 || code === 204 || code === 304;
  return {
    kind: "exchange",
    sentAt: timeFrom(sentAt),
    endedAt: timeFrom(endedAt),
    method,
    path: divided(url!).path,
    ...messageFrom(request, /^(GET|HEAD|OPTIONS|DELETE)$/.test(method)),
    ...(code > 0 && { response: { status: code, ...messageFrom(response, isEmpty) } }),
    ...(caller !== undefined && { caller: String(caller) }),
  } as const;
}

const routes = Object.keys(openapi.paths).map((template) => template.replaceAll(/\{[^}]+\}/g, "[^/?]+"));
const documented = new RegExp(`(?:${routes.join("|")})(?:\\?.*)?$`);

/** Returns the path and query within the service; undefined if the URL is not for it. `target` is its base URL. */
function pathWithin(target: string | undefined, url: string): string | undefined {
  const { origin, path } = divided(url);
  if (target === undefined) return documented.exec(path)?.[0];
  const base = divided(target);
  const isWithin = (origin ?? base.origin) === base.origin && path.startsWith(`${base.path}/`);
  return isWithin ? path.slice(base.path.length) : undefined;
}

/**
 * Returns a function that tells `listener` what a recording has: exchanges with the service, and webhooks. What cannot be
 * read is counted. The first places are named.
 * @param target the base URL of the service, without a slash at its end; by default every path of the contract counts
 */
export function createRecorder(listener: Listener, target?: string) {
  let unreadable = 0;
  return (place: string, recorded: unknown): void => {
    const fault = faultIn(recorded);
    if (fault !== undefined) {
      unreadable += 1;
      return listener.missed(
        unreadable <= 20 ? `${place} cannot be read: ${fault}` : "further places that cannot be read",
      );
    }
    const { kind, path, url = path } = recorded as Recorded;
    const exchange = exchangeFrom(recorded as Recorded);
    const { method, headers } = exchange;
    const looksLikeWebhook = method === "POST" && "webhook-id" in headers && !documented.test(exchange.path);
    if (kind === "webhook" || (!kind && looksLikeWebhook)) return listener.see(webhookOf(exchange));
    const within = pathWithin(target, url!);
    if (within === undefined) return listener.missed(`not for ${target ?? "a path of the contract"}`);
    return listener.see({ ...exchange, path: within });
  };
}
