// Reads a HAR 1.2, as browsers, recording proxies and gateways export it. They differ in what they leave out.
import { CannotRun } from "../results.ts";
import { createRecorder, headersFrom, namesUnreadable, timeFrom, type Recorded } from "./recorded.ts";
import type { Listener } from "./traffic.ts";

/** The format has base64 only for responses. Charles, Reqable and others use the same field for requests. */
type Content = { text?: unknown; encoding?: string; size?: number };
type Message = { headers?: unknown; bodySize?: number };
type Entry = {
  startedDateTime?: string;
  time?: number;
  request?: Message & { method?: string; url?: string; postData?: Content };
  response?: Message & { status?: number; content?: Content };
  _fromCache?: string;
};

function bodyFrom({ text: given, encoding, size = 0 }: Content): Recorded["body"] {
  const text = typeof given === "string" ? given : "";
  const known = size > 0 ? { size } : {};
  return encoding === "base64" ? { bytes: Buffer.from(text, "base64"), ...known } : { text, ...known };
}

/** @throws {SyntaxError} with a message that says what the entry lacks */
function recordedFrom({ startedDateTime, time = -1, request = {}, response = {} }: Entry): Recorded {
  const { method, url, postData, bodySize } = request;
  const { status = 0, content = {} } = response;
  const sentAt = timeFrom(startedDateTime);
  if (sentAt === undefined) throw new SyntaxError('"startedDateTime" must be ISO 8601 with a time zone');
  if (time < 0 && status > 0) throw new SyntaxError('"time" must be milliseconds');
  if (!method || !url) throw new SyntaxError('"request" must have a method and a URL');
  return {
    sentAt,
    endedAt: sentAt + Math.max(time, 0),
    method,
    url,
    headers: headersFrom(request.headers) ?? {},
    body: bodyFrom({ size: bodySize, ...postData }),
    ...(status > 0 && { response: { status, headers: headersFrom(response.headers) ?? {}, body: bodyFrom(content) } }),
  };
}

/** @throws {CannotRun} */
async function entriesOf(input: AsyncIterable<Buffer>): Promise<unknown[]> {
  const chunks: Buffer[] = [];
  for await (const chunk of input) chunks.push(chunk);
  const what = "a HAR, as the network panel of a browser exports it";
  try {
    const text = Buffer.concat(chunks)
      .toString()
      .replace(/^\uFEFF/, "");
    const har = JSON.parse(text) as { log?: { entries?: unknown } };
    if (Array.isArray(har?.log?.entries)) return har.log.entries;
  } catch (error) {
    const why = error instanceof SyntaxError ? "it is not complete JSON" : "it is larger than 512 MB";
    throw new CannotRun(`This is not ${what}: ${why}. --exchanges reads JSON Lines, of any size.`);
  }
  throw new CannotRun(`This is not ${what}: it has no log.entries.`);
}

/**
 * Tells `listener` the exchanges and webhooks of a HAR, by the times when they began. An entry that cannot be read is
 * counted and named with its number.
 * @param target the base URL of the service; without it the service of the first request for a path of the contract
 * @throws {CannotRun} if the input is not a HAR
 */
export async function readHar(input: AsyncIterable<Buffer>, listener: Listener, target?: string): Promise<void> {
  const record = createRecorder(listener, target);
  const unreadable = namesUnreadable(listener);
  const readable: Recorded[] = [];
  for (const [index, entry] of (await entriesOf(input)).entries()) {
    const { _fromCache: cache, ...fields } = (entry ?? {}) as Entry;
    try {
      if (cache) listener.missed("it came from a browser's cache");
      else readable.push(recordedFrom(fields));
    } catch (error) {
      // Any field may be of another type than the format says.
      unreadable(`entry ${index + 1}`, error instanceof SyntaxError ? error.message : "it is not as HAR 1.2 says");
    }
  }
  for (const recorded of readable.toSorted((a, b) => a.sentAt - b.sentAt)) record(recorded);
}
