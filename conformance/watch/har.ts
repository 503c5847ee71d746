// Reads a HAR 1.2, as browsers, recording proxies and gateways export it. They differ in what they leave out.
import { buffer } from "node:stream/consumers";
import type { Readable } from "node:stream";
import { CannotRun } from "../results.ts";
import { createRecorder } from "./recorded.ts";
import type { Listener } from "./traffic.ts";

type Message = { headers?: object[]; bodySize?: number };
/** The format has base64 only for responses. Charles, Reqable and others use the same field for requests. */
type Content = { text?: string; encoding?: string; size?: number };
type Entry = {
  startedDateTime: string;
  time?: number;
  request?: Message & { method: string; url: string; postData?: Content };
  response?: Message & { status: number; content?: Content };
  _fromCache?: string;
};

/** Returns the body as a line has it. The size is its length in bytes, or -1. */
function bodyOf({ text = "", encoding, size = -1 }: Content) {
  const length = Buffer.byteLength(text, encoding === "base64" ? "base64" : "utf8");
  if (length < size) return { absent: length === 0 ? "missing" : "cut" };
  return encoding === "base64" ? { base64: text } : text;
}

/** Returns the line that says the same as an entry. */
function lineOf({ startedDateTime, time = -1, request, response }: Entry) {
  const { status = 0, headers, content } = response ?? {};
  return {
    ...request,
    sentAt: startedDateTime,
    // Only an attempt without a response may lack its duration.
    endedAt: time < 0 && status > 0 ? undefined : Date.parse(startedDateTime) + Math.max(time, 0),
    body: bodyOf({ size: request?.bodySize, ...request?.postData }),
    response: { status, headers, body: bodyOf({ ...content }) },
  };
}

/**
 * Tells `listener` the exchanges and webhooks of a HAR, by the times when they began.
 * @param target the base URL of the service, see createRecorder
 * @throws {CannotRun} if the input is not a HAR
 */
export async function readHar(input: Readable, listener: Listener, target?: string): Promise<void> {
  const bytes = await buffer(input);
  let entries: (Entry & { place: string })[];
  try {
    const har = JSON.parse(new TextDecoder().decode(bytes)) as { log: { entries: Entry[] } };
    entries = har.log.entries.map((entry, index) => ({ ...entry, place: `entry ${index + 1}` }));
  } catch {
    throw new CannotRun("This is not a HAR of at most 512 MB. --exchanges reads JSON Lines, of any size.");
  }
  const record = createRecorder(listener, target);
  const inOrder = entries.toSorted((a, b) => Date.parse(a.startedDateTime) - Date.parse(b.startedDateTime));
  for (const { _fromCache: cache, place, ...entry } of inOrder) {
    if (cache) listener.missed("it came from a browser's cache");
    else record(place, lineOf(entry));
  }
}
