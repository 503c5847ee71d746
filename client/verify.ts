import type { Context, Data, Job, Trace } from "./job.ts";
import type { Kind } from "./kind.ts";
import { demand } from "./options.ts";
import type { Settings } from "./options.ts";
import { isRecord } from "./outcome.ts";
import { sendWithRetries } from "./retry.ts";

/** What a call ends with: the record, and its response. */
export interface Received {
  data: Data;
  response?: Response | undefined;
}

/** Reads a record by the service's reference. With `until`, polls until `until(record)` is true. */
export async function verify(
  context: Context,
  kind: Kind,
  reference: string,
  settings: Settings,
  until?: (data: Data) => boolean,
  trace?: Trace,
): Promise<Received> {
  // `..`, a slash or an empty string would reach another path.
  const isSegment = typeof reference === "string" && /^(?!\.\.?$)[^/\\]+$/.test(reference);
  demand(reference, isSegment, "reference", "one that create returned");
  const matches = (data: Data | undefined) => isRecord(data) && data.reference === reference;
  const job: Job = { operation: `verify${kind.name}`, path: kind.path, reference, matches, until };
  const { error, data, response } = await sendWithRetries(context, job, settings, trace);
  if (error) throw error;
  return { data, response };
}
