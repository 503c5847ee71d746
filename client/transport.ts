import { UnexpectedAnswerError } from "./errors.ts";
import type { Context, Job } from "./job.ts";

/** A response whose body was read completely. */
export interface Reply {
  text: string;
  response: Response;
}

/** Sends a request. Calls `onSend` immediately before. */
export async function send(
  { baseUrl, fetch }: Context,
  { path, reference, query, body }: Job,
  headers: Record<string, string>,
  signal: AbortSignal,
  onSend: () => void,
): Promise<Reply> {
  const filters = Object.entries(query ?? {}).filter(([, value]) => value != null);
  const search = filters.map(([name, value]) => `${name}=${encodeURIComponent(value as string)}`).join("&");
  const url = `${baseUrl}${path}${body || query ? search && `?${search}` : `/${encodeURIComponent(reference!)}`}`;
  const init = body
    ? { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) }
    : { headers };
  onSend();
  const response = await fetch(url, {
    ...init,
    signal,
    // Following a redirect could send the key to another host, and turns a POST into a GET. The mode is not "error",
    // because Workers do not support that mode.
    redirect: "manual",
    // Next.js 14 caches reads for ever without it. Older Workers refuse the field, which their requests lack.
    ...("cache" in Request.prototype && { cache: "no-store" }),
  });
  return { text: await textOf(response), response };
}

// The largest response that is read, in bytes. A list of 100 records has less than a tenth of it.
const largestBody = 8 * 1024 ** 2;

/** Reads a body up to the limit, so that an endless body does not fill the memory. The limit is on the decompressed body. */
async function textOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let [text, left] = ["", largestBody];
  for await (const chunk of (body ?? []) as unknown as AsyncIterable<Uint8Array<ArrayBuffer>>) {
    left -= chunk.length;
    if (left < 0) throw new UnexpectedAnswerError(`The response has more than ${largestBody} bytes.`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text;
}
