// Reads how long a response asks its client to wait.
import type { Call } from "./service.ts";

/** A client may give up if it is asked to wait longer than this. */
const longestWaitMs = 5000;

/**
 * Returns the time until the request may be repeated, in ms; undefined if the response does not say so in a valid form,
 * or asks for so long that a client may give up.
 */
export function waitAfter({ sent }: Pick<Call, "sent">): number | undefined {
  const { "retry-after": text, date } = sent?.headers ?? {};
  if (text === undefined) return undefined;
  // The Date header has whole seconds, so the wait may be up to a second shorter than the difference.
  const fromDate = date === undefined ? NaN : Date.parse(text) - Date.parse(date) - 1000;
  const wait = /^\d+$/.test(text) ? Number(text) * 1000 : fromDate;
  return wait > 0 && wait <= longestWaitMs ? wait : undefined;
}
