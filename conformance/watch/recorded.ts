// Reads traffic in the shape that the guide documents for JSON Lines. Recordings hide or leave out keys and bodies, and
// also have requests to other services.
import { Ajv } from "ajv";
import { openapi } from "../contract/contract.ts";
import { decoded } from "../target/http.ts";
import { parsedJson } from "../target/values.ts";
import { webhookOf, type Absent, type Body, type Exchange, type Headers, type Listener } from "./traffic.ts";

type Message = { headers?: Record<string, unknown> | { name: string; value?: unknown }[]; body?: unknown };
export type Recorded = Message & {
  kind?: "exchange" | "webhook";
  sentAt: number | string;
  endedAt?: number | string;
  method?: string;
  url?: string;
  path?: string;
  caller?: string | number;
  response?: Message & { status?: number | string; continued?: boolean };
  /** How the receiver of a webhook responded. */
  status?: number | string;
};
/** Says that a log lacks something. */
export type Missed = { kind: "missed"; reason?: string; count?: number };

/** Reads ISO 8601 with a time zone, or milliseconds since 1970. Returns NaN for a time in seconds or microseconds. */
function timeFrom(value: unknown): number {
  const isDate = typeof value === "string" && /(Z|[+-]\d\d:?\d\d)$/i.test(value);
  const time = isDate ? Date.parse(value) : Number(value);
  return time > 1e11 && time < 1e14 ? time : Number.NaN;
}

const text = { type: "string", minLength: 1 };
const time = { isTime: true };
const kindIs = (kind: string) => ({ properties: { kind: { const: kind } }, required: ["kind"] });
const message = {
  status: { type: ["integer", "string"], pattern: String.raw`^-?\d+$` },
  headers: { type: ["object", "array"], items: { type: "object", required: ["name"], properties: { name: text } } },
  body: { properties: { base64: { type: "string" }, absent: { enum: ["missing", "cut", "undecodable"] } } },
};
const schema = {
  type: "object",
  properties: {
    ...message,
    kind: { enum: ["exchange", "webhook", "missed"] },
    sentAt: time,
    endedAt: time,
    method: text,
    url: text,
    path: text,
    caller: { type: ["string", "number"] },
    response: { type: "object", required: ["status"], properties: message },
    reason: text,
    count: { type: "integer" },
  },
  if: kindIs("missed"),
  else: {
    required: ["sentAt"],
    anyOf: [{ required: ["url"] }, { required: ["path"] }],
    if: kindIs("webhook"),
    // A flat line would be an exchange whose response was lost.
    else: { required: ["endedAt", "method"], dependencies: { status: ["response"] } },
  },
};
const ajv = new Ajv({ strict: false });
ajv.addKeyword({
  keyword: "isTime",
  validate: (_: true, value: unknown) => timeFrom(value) > 0,
  error: { message: "must be ISO 8601 with a time zone, or milliseconds since 1970" },
});
const isRecorded = ajv.compile<Recorded | Missed>(schema);

/** Names the field that is not as documented, and quotes nothing. */
function faultFound(): string {
  const { instancePath, message: fault } = isRecorded.errors![0]!;
  return `${instancePath.slice(1).replaceAll("/", ".") || "it"} ${fault}`;
}

function headersFrom(recorded: Message["headers"] = {}): Headers {
  const headers: Record<string, string> = {};
  const list = Array.isArray(recorded)
    ? recorded
    : Object.keys(recorded).map((name) => ({ name, value: recorded[name] }));
  for (const { name, value } of list) {
    // HTTP/2 has pseudo headers. This one stands for the host.
    const key = name === ":authority" ? "host" : name.toLowerCase();
    if (value === undefined || value === null || key.startsWith(":")) continue;
    const joined = Array.isArray(value) ? value.join(", ") : String(value as string);
    headers[key] = headers[key] === undefined ? joined : `${headers[key]}, ${joined}`;
  }
  return headers;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Decodes a body. Many recorders keep Content-Encoding after they have undone it; what is coded after all is not UTF-8. */
function decodedText(bytes: Buffer, coding: string | undefined): Body {
  for (const each of [coding, undefined]) {
    try {
      return utf8.decode(decoded(bytes, each));
    } catch {}
  }
  return { absent: "undecodable" };
}

/** Counting braces takes a tenth of the time of parsing, and nearly always proves that nothing is missing. */
function isStartOfJson(body: string): boolean {
  const isWhole = body.endsWith("}") && body.split("{").length === body.split("}").length;
  return !isWhole && /^\s*[{[]/.test(body) && parsedJson(body) === undefined;
}

/** @param isBodiless true if such a message has no body */
function bodyFrom(recorded: unknown, headers: Headers, isBodiless: boolean): Body {
  const { absent, base64, isWhole } = Object(recorded) as Partial<Absent & { base64: string; isWhole: true }>;
  if (absent) return { absent };
  // The sender may have written the same value in more bytes.
  if (typeof recorded !== "string" && base64 === undefined) return JSON.stringify(recorded);
  const written = base64 === undefined ? (recorded as string) : Buffer.from(base64, "base64");
  const coding = headers["content-encoding"];
  const length = coding === undefined ? Number(headers["content-length"] ?? Number.NaN) : Number.NaN;
  const size = Buffer.byteLength(written);
  // Many recorders write an empty text for a body that they did not keep.
  if (size === 0) return isBodiless || isWhole || length === 0 ? "" : { absent: "missing" };
  if (size < length) return { absent: "cut" };
  const body = typeof written === "string" ? written.replace(/^\uFEFF/, "") : decodedText(written, coding);
  if (typeof body !== "string" || isWhole) return body;
  if (body.includes("\uFFFD")) return { absent: "undecodable" };
  return Number.isNaN(length) && isStartOfJson(body) ? { absent: "cut" } : body;
}

function messageFrom({ headers: written, body }: Message, isBodiless: boolean) {
  const headers = headersFrom(written);
  return { headers, body: bodyFrom(body ?? "", headers, isBodiless) };
}

const withoutBody = new Set(["GET", "HEAD", "OPTIONS", "DELETE"]);

/** @param path the path and query, as sent */
function exchangeFrom(recorded: Recorded, path: string): Exchange {
  const { sentAt, endedAt = sentAt, method = "POST", caller, status, response = { status } } = recorded;
  const { headers, body } = messageFrom(recorded, withoutBody.has(method));
  const times = { sentAt: timeFrom(sentAt), endedAt: timeFrom(endedAt) };
  const exchange: Exchange = { kind: "exchange", ...times, method, path, headers, body };
  const code = Number(response.status ?? 0);
  const isBodiless = method === "HEAD" || code < 200 || code === 204 || code === 304;
  if (code > 0) {
    exchange.response = { status: code, ...messageFrom(response, isBodiless) };
    if (response.continued) exchange.response.continued = true;
  }
  if (caller !== undefined) exchange.caller = String(caller);
  return exchange;
}

const routes = Object.keys(openapi.paths).map((template) => template.replaceAll(/\{[^}]+\}/g, "[^/?]+"));
const documented = new RegExp(`(?:${routes.join("|")})(?:\\?.*)?$`);
/** Divides a URL into its origin, if it has one, and its path with the query, as sent. */
const dividing = /^([a-z][a-z\d+.-]*:(?:\/\/[^/?#]*)?)?([^#]*)/i;

/**
 * Returns a function that tells `listener` what a recording has: exchanges with the service, and webhooks. What cannot be
 * read is counted. The first places are named.
 * @param target the base URL of the service, without a slash at its end; by default every path of the contract counts
 */
export function createRecorder(listener: Listener, target?: string) {
  const base = target === undefined ? undefined : new URL(target);
  const prefix = base?.pathname.replace(/\/$/, "") ?? "";
  let unreadable = 0;

  function unread(place: string, fault: string): void {
    unreadable += 1;
    listener.missed(unreadable <= 20 ? `${place} cannot be read: ${fault}` : "further places that cannot be read");
  }

  /** Returns the path and query within the service; undefined if the request is not for it. */
  function pathWithin(path: string, origin: string | undefined): string | undefined {
    if (!base) return documented.exec(path)?.[0];
    const isWithin = origin === undefined || URL.parse(origin)?.origin === base.origin;
    return isWithin && path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : undefined;
  }

  return (place: string, recorded: unknown): void => {
    if (!isRecorded(recorded)) return unread(place, faultFound());
    if (recorded.kind === "missed") return listener.missed(recorded.reason ?? "the log lacks it", recorded.count);
    const { kind, path: written, url = written } = recorded;
    const [, origin, path = ""] = dividing.exec(url!)!;
    const exchange = exchangeFrom(recorded, path);
    if (exchange.endedAt < exchange.sentAt) return unread(place, "endedAt must not be before sentAt");
    const isPost = exchange.method === "POST";
    if (kind === "webhook" || (!kind && isPost && "webhook-id" in exchange.headers && !documented.test(path)))
      return isPost ? listener.see(webhookOf(exchange)) : listener.missed("webhooks that are not sent by POST");
    const within = pathWithin(path, origin);
    if (within === undefined) return listener.missed(`not for ${target ?? "a path of the contract"}`);
    exchange.path = within;
    return listener.see(exchange);
  };
}
