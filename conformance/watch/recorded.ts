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

const text = { description: "a text", type: "string", minLength: 1 };
const time = { description: "ISO 8601 with a time zone, or milliseconds since 1970", isTime: true };
const number = { description: "a number", type: ["integer", "string"], pattern: String.raw`^-?\d+$` };
const kindIs = (kind: string) => ({ properties: { kind: { const: kind } }, required: ["kind"] });
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
  properties: {
    ...message,
    kind: { description: "exchange, webhook or missed", enum: ["exchange", "webhook", "missed"] },
    sentAt: time,
    endedAt: time,
    method: text,
    url: text,
    path: text,
    caller: { description: "a text or a number", type: ["string", "number"] },
    response: { description: "an object", type: "object", required: ["status"], properties: message },
    reason: text,
    count: { description: "a number", type: "integer" },
  },
  if: kindIs("missed"),
  else: {
    required: ["sentAt"],
    anyOf: [{ required: ["url"] }, { required: ["path"] }],
    if: kindIs("webhook"),
    // Otherwise a flat line would be an exchange whose response was lost.
    else: { required: ["endedAt", "method"], properties: { status: { description: 'in "response"', not: {} } } },
  },
};
const ajv = new Ajv({ strict: false, verbose: true });
ajv.addKeyword({ keyword: "isTime", validate: (_: true, value: unknown) => timeFrom(value) > 0 });
const isRecorded = ajv.compile<Recorded | Missed>(schema);

/** Names the field that is not as documented, and quotes nothing. */
function faultFound(): string {
  const { instancePath, params, parentSchema } = isRecorded.errors![0]!;
  const lacking = params["missingProperty"] as string | undefined;
  const field = [...instancePath.split("/").slice(1), lacking ?? []].flat().join(".");
  return `${field ? `"${field}"` : "it"} ${lacking ? "is missing" : `must be ${parentSchema!["description"]}`}`;
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
  const { absent, base64 } = Object(recorded) as Partial<Absent & { base64: string }>;
  if (absent) return { absent };
  // The sender may have written the same value in more bytes.
  if (typeof recorded !== "string" && base64 === undefined) return JSON.stringify(recorded);
  const written = base64 === undefined ? (recorded as string) : Buffer.from(base64, "base64");
  const isText = typeof written === "string";
  const coding = headers["content-encoding"];
  const length = coding === undefined ? Number(headers["content-length"] ?? Number.NaN) : Number.NaN;
  const size = Buffer.byteLength(written);
  // Many recorders write an empty text for a body that they did not keep.
  if (size === 0) return isBodiless || length === 0 || !(isText || length > 0) ? "" : { absent: "missing" };
  if (size < length) return { absent: "cut" };
  if (!isText) return decodedText(written, coding);
  const body = written.replace(/^\uFEFF/, "");
  if (body.includes("\uFFFD")) return { absent: "undecodable" };
  return Number.isNaN(length) && isStartOfJson(body) ? { absent: "cut" } : body;
}

function messageFrom({ headers: written, body }: Message, isBodiless: boolean) {
  const headers = headersFrom(written);
  return { headers, body: bodyFrom(body ?? "", headers, isBodiless) };
}

const withoutBody = new Set(["GET", "HEAD", "OPTIONS", "DELETE"]);

/** @param path the path and query, as sent */
function exchangeFrom({ sentAt, endedAt = sentAt, method = "POST", caller, ...recorded }: Recorded, path: string) {
  const { status, response = { status } } = recorded;
  const code = Number(response.status ?? 0);
  const isBodiless = method === "HEAD" || code < 200 || code === 204 || code === 304;
  return {
    kind: "exchange",
    sentAt: timeFrom(sentAt),
    endedAt: timeFrom(endedAt),
    method,
    path,
    ...messageFrom(recorded, withoutBody.has(method)),
    ...(code > 0 && {
      response: {
        status: code,
        ...messageFrom(response, isBodiless),
        ...(response.continued && { continued: true as const }),
      },
    }),
    ...(caller !== undefined && { caller: String(caller) }),
  } satisfies Exchange;
}

const routes = Object.keys(openapi.paths).map((template) => template.replaceAll(/\{[^}]+\}/g, "[^/?]+"));
const documented = new RegExp(`(?:${routes.join("|")})(?:\\?.*)?$`);
/** Divides a URL into its origin, if it has one, and its path with the query, as sent. */
const dividing = /^(?<origin>[a-z][a-z\d+.-]*:(?:\/\/[^/?#]*)?)?(?<path>[^#]*)/i;

/**
 * Returns a function that tells \`listener\` what a recording has: exchanges with the service, and webhooks. What cannot be
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
    const { origin, path = "" } = dividing.exec(url!)!.groups!;
    const exchange = exchangeFrom(recorded, path);
    if (exchange.endedAt < exchange.sentAt) return unread(place, '"endedAt" must not be before "sentAt"');
    const isPost = exchange.method === "POST";
    if (kind === "webhook" || (!kind && isPost && "webhook-id" in exchange.headers && !documented.test(path)))
      return isPost ? listener.see(webhookOf(exchange)) : listener.missed("webhooks that are not sent by POST");
    const within = pathWithin(path, origin);
    if (within === undefined) return listener.missed(`not for ${target ?? "a path of the contract"}`);
    return listener.see({ ...exchange, path: within });
  };
}
