// What all recordings share. They hide or leave out keys and bodies, and also have requests to other services.
import { createGunzip } from "node:zlib";
import { open } from "node:fs/promises";
import { pipeline, Readable } from "node:stream";
import { openapi } from "../contract/contract.ts";
import { CannotRun } from "../results.ts";
import { decodedText, type Absent, type Body, type Headers, type Listener } from "./traffic.ts";

/** A body as a recording has it. `size` is its length in bytes, if the recording says more than Content-Length does. */
type RecordedBody = { text?: string; bytes?: Buffer; size?: number } | Absent;

type Message = { headers: Headers; body: RecordedBody };

/** An exchange or webhook as a recording has it. Times are milliseconds since 1970. */
export type Recorded = Message & {
  /** By default a POST with a webhook-id is a webhook, unless it is for a path of the contract. */
  kind?: "exchange" | "webhook";
  sentAt: number;
  endedAt: number;
  method: string;
  /** A URL, or its path and query alone. */
  url: string;
  response?: Message & { status: number };
  caller?: string;
};

async function* unzipped(input: Readable): AsyncGenerator<Buffer> {
  try {
    yield* pipeline(input, createGunzip(), () => {}) as AsyncIterable<Buffer>;
  } catch (error) {
    throw new CannotRun(`The rest of the file cannot be decompressed: ${(error as Error).message}.`);
  }
}

/**
 * Reads a file, or standard input if the name is "-". A file may be compressed by gzip.
 * @throws an error of the file system if there is no such file; while it is read, CannotRun if it was cut
 */
export async function openRecording(file: string): Promise<Readable> {
  if (file === "-") return process.stdin;
  const handle = await open(file);
  const { buffer: start } = await handle.read(Buffer.alloc(2), 0, 2, 0);
  const input = handle.createReadStream({ start: 0 });
  return start.equals(Buffer.from([0x1f, 0x8b])) ? Readable.from(unzipped(input)) : input;
}

/** Reads ISO 8601 with a time zone, or milliseconds since 1970. Undefined if it is something else. */
export function timeFrom(value: unknown): number | undefined {
  const time =
    typeof value === "string" ? (/(Z|[+-]\d\d:?\d\d)$/i.test(value) ? Date.parse(value) : Number(value)) : value;
  // A smaller number would be a time in seconds, and a larger one in microseconds.
  return typeof time === "number" && time > 1e11 && time < 1e14 ? time : undefined;
}

/** Reads headers: an object, or a list of `{ name, value }`. Undefined if it is something else. */
export function headersFrom(value: unknown): Headers | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const list = Array.isArray(value)
    ? (value as { name?: unknown; value?: unknown }[])
    : Object.entries(value).map(([name, of]) => ({ name, value: of as unknown }));
  const headers: Record<string, string> = {};
  for (const { name, value: of } of list) {
    if (typeof name !== "string" || of === undefined || of === null) continue;
    const text = Array.isArray(of) ? of.join(", ") : String(of as string);
    // HTTP/2 has pseudo headers. This one stands for the host.
    const key = name.toLowerCase().replace(/^:authority$/, "host");
    if (!key.startsWith(":")) headers[key] = headers[key] === undefined ? text : `${headers[key]}, ${text}`;
  }
  return headers;
}

/** Names the places that cannot be read: each of the first 20, and the number of the rest. */
export function namesUnreadable(listener: Listener) {
  let named = 0;
  return (place: string, why: string) =>
    listener.missed((named += 1) <= 20 ? `${place} cannot be read: ${why}` : "further places that cannot be read");
}

/** @param mayBeEmpty whether a body of which nothing is recorded was empty, unless a header says that it was not */
function bodyFrom(recorded: RecordedBody, headers: Headers, mayBeEmpty: boolean): Body {
  if ("absent" in recorded) return recorded;
  const { text = "", bytes, size = Number(headers["content-length"] ?? Number.NaN) } = recorded;
  const length = bytes?.length ?? Buffer.byteLength(text);
  // Many recorders write an empty text for a body that they did not keep.
  if (length === 0) return size === 0 || (mayBeEmpty && !(size > 0)) ? "" : { absent: "missing" };
  if (length < size) return { absent: "cut" };
  if (bytes) return decodedText(bytes, headers["content-encoding"]);
  return text.isWellFormed() && !text.includes("\uFFFD") ? text : { absent: "undecodable" };
}

const withoutBody = new Set(["GET", "HEAD", "OPTIONS", "DELETE"]);

function responseFrom(method: string, { status, headers, body }: NonNullable<Recorded["response"]>) {
  const isEmpty = method === "HEAD" || status < 200 || status === 204 || status === 304;
  return { status, headers, body: isEmpty ? "" : bodyFrom(body, headers, false) };
}

const routes = Object.keys(openapi.paths).map((template) => template.replaceAll(/\{[^}]+\}/g, "[^/?]+"));
const documented = new RegExp(`^(.*?)(?:${routes.join("|")})(?:\\?.*)?$`);

/** Divides a URL into its origin, if it has one, and its path with the query. */
function divided(url: string): [origin: string | undefined, path: string] {
  const [, origin, path] = /^([a-z][a-z\d+.-]*:(?:\/\/[^/?#]*)?)?([^#]*)/i.exec(url) ?? [];
  return [origin && (URL.parse(origin)?.origin ?? origin), path ?? ""];
}

/**
 * Returns a function that says why a request is not for the service, and undefined if it is. The service is `target`, or
 * without it that of the first request for a path of the contract: what a sandbox says is not true of production.
 */
function createSieve(target: string | undefined) {
  const [origin, start = ""] = target === undefined ? [] : divided(target.replace(/\/+$/, ""));
  let service = target && `${origin}${start}`;
  return (url: string): string | undefined => {
    const [itsOrigin, path] = divided(url);
    if (origin !== undefined && itsOrigin !== undefined)
      return itsOrigin === origin && path.startsWith(`${start}/`) ? undefined : `not for ${service}`;
    const [, before] = documented.exec(path) ?? [];
    if (before === undefined) return "not for a path of the contract";
    const its = `${itsOrigin ?? ""}${before}`;
    service ??= its;
    return origin !== undefined || its === service
      ? undefined
      : `not for ${service || "the service"} of the first request: --target chooses another`;
  };
}

/**
 * Returns a function that tells `listener` what a recording has: exchanges with the service, and webhooks.
 * @param target the base URL of the service
 */
export function createRecorder(listener: Listener, target?: string) {
  const isElsewhere = createSieve(target);
  return ({ kind, body, response, url, ...request }: Recorded) => {
    const { method, headers, sentAt } = request;
    const sent = bodyFrom(body, headers, withoutBody.has(method));
    const [, path] = divided(url);
    const looksLikeWebhook = method === "POST" && headers["webhook-id"] !== undefined && !documented.test(path);
    if (kind === "webhook" || (kind === undefined && looksLikeWebhook)) {
      const status = response && { status: response.status };
      return listener.see({ kind: "webhook", sentAt, path, headers, body: sent, ...status });
    }
    const reason = isElsewhere(url);
    if (reason !== undefined) return listener.missed(reason);
    const answer = response && { response: responseFrom(method, response) };
    return listener.see({ kind: "exchange", ...request, path, body: sent, ...answer });
  };
}
