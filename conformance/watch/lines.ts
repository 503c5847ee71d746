// Reads traffic as JSON Lines. docs/watch.md describes the shape.
import { CannotRun } from "../results.ts";
import { createRecorder, headersFrom, namesUnreadable, timeFrom, type Recorded } from "./recorded.ts";
import type { Listener } from "./traffic.ts";

const longest = 32 * 1024 * 1024;

/** Yields the lines that each chunk ends. Of a line that is too long, only its end is left, which is not JSON. */
async function* linesOf(input: AsyncIterable<Buffer>): AsyncGenerator<string[]> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of input) {
    const text = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const end = text.lastIndexOf(10) + 1;
    if (end > 0) yield text.toString("utf8", 0, end - 1).split("\n");
    rest = text.subarray(text.length - end > longest ? text.length : end);
  }
  yield [rest.toString()];
}

type Fields = Record<string, unknown>;

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** @throws {SyntaxError} if the value is undefined */
function needed<T>(value: T | undefined, name: string, wanted: string): T {
  if (value === undefined) throw new SyntaxError(`"${name}" must be ${wanted}`);
  return value;
}

const textFrom = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);

function bodyFrom(value: unknown): Recorded["body"] {
  if (value === undefined || value === null) return {};
  if (typeof value === "string") return { text: value };
  if (isObject(value) && Object.keys(value).length === 1) {
    const { base64, absent } = value;
    if (typeof base64 === "string") return { bytes: Buffer.from(base64, "base64") };
    if (absent === "missing" || absent === "cut" || absent === "undecodable") return { absent };
  }
  // The sender may have written the same value in more bytes.
  return { text: JSON.stringify(value), size: 0 };
}

const TIME = "ISO 8601 with a time zone, or milliseconds since 1970";
const HEADERS = 'an object, or a list of {"name", "value"}';

/** @throws {SyntaxError} with a message that names the field and what it must be */
function recordedFrom(fields: unknown): Recorded {
  if (!isObject(fields)) throw new SyntaxError("it must be a JSON object");
  const { kind, response, caller } = fields;
  if (kind !== undefined && kind !== "exchange" && kind !== "webhook")
    throw new SyntaxError('"kind" must be "exchange" or "webhook"');
  const isWebhook = kind === "webhook";
  const sentAt = needed(timeFrom(fields["sentAt"]), "sentAt", TIME);
  const endedAt = needed(timeFrom(fields["endedAt"] ?? (isWebhook ? sentAt : undefined)), "endedAt", TIME);
  if (endedAt < sentAt) throw new SyntaxError('"endedAt" must not be before "sentAt"');
  // Otherwise a flat line would be an exchange whose response was lost.
  if (!isWebhook && fields["status"] !== undefined) throw new SyntaxError('"status" must be in "response"');
  const answer = isObject(response) ? response : {};
  const status = Number(answer["status"] ?? fields["status"] ?? 0);
  if (Number.isNaN(status)) throw new SyntaxError('"status" must be a number');
  return {
    ...(kind && { kind }),
    sentAt,
    endedAt,
    method: needed(textFrom(fields["method"] ?? (isWebhook ? "POST" : undefined)), "method", "a method such as GET"),
    url: needed(textFrom(fields["url"] ?? fields["path"]), "url", 'a URL; "path" may have the path and query instead'),
    headers: needed(headersFrom(fields["headers"] ?? {}), "headers", HEADERS),
    body: bodyFrom(fields["body"]),
    ...(status > 0 && {
      response: {
        status,
        headers: needed(headersFrom(answer["headers"] ?? {}), "response.headers", HEADERS),
        body: bodyFrom(answer["body"]),
      },
    }),
    ...((typeof caller === "string" || typeof caller === "number") && { caller: String(caller) }),
  };
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    // The message of the error would quote the line, which may have a key.
    throw new SyntaxError("it is not JSON");
  }
}

/**
 * Tells `listener` the exchanges and webhooks of JSON Lines, as they come, until the input ends. A line that cannot be
 * read is counted and named with its number.
 * @param target the base URL of the service; without it the service of the first request for a path of the contract
 * @throws {CannotRun} if no line can be read
 */
export async function readLines(input: AsyncIterable<Buffer>, listener: Listener, target?: string): Promise<void> {
  const record = createRecorder(listener, target);
  const unreadable = namesUnreadable(listener);
  let number = 0;
  let read = 0;
  let fault: string | undefined;
  for await (const lines of linesOf(input)) {
    for (const line of lines) {
      number += 1;
      if (line.trim() === "") continue;
      try {
        record(recordedFrom(parsed(line)));
        read += 1;
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        fault ??= `Line ${number}: ${error.message}`;
        unreadable(`line ${number}`, error.message);
      }
    }
  }
  if (read > 0 || fault === undefined) return;
  throw new CannotRun(
    `No line is an exchange or webhook. ${fault}. The guide to watch has the shape; --har reads a HAR.`,
  );
}
