import type { HttpClient } from "./http.ts";
import { seededRandom } from "./random.ts";
import { wrongRequest } from "./wrong-requests.ts";

interface FuzzOptions {
  request: HttpClient["request"];
  /** How many requests. */
  count: number;
  /** The same seed sends the same requests. */
  seed: number;
  /** Called now and then with how many requests were answered. */
  onProgress?(answered: number): void;
}

const CALLERS = 16;

/**
 * Sends wrong requests to a server, each of which it has to refuse with a status that fits, in the shape of §7.
 * @returns how many were refused with which status
 * @throws Error that shows the first request that was answered otherwise
 */
export async function fuzz({ request, count, seed, onProgress }: FuzzOptions): Promise<Map<number, number>> {
  const random = seededRandom(seed);
  const refused = new Map<number, number>();
  let sent = 0;
  let answered = 0;

  async function caller(): Promise<void> {
    while (sent < count) {
      sent += 1;
      const { method, path, options, refusedWith } = wrongRequest(random);
      const { status } = await request(method, path, options);
      if (!refusedWith.includes(status)) {
        const shown = JSON.stringify({ method, path, options }).slice(0, 2_000);
        throw new Error(`Seed ${seed}: ${status} instead of ${refusedWith.join(" or ")} for ${shown}`);
      }
      refused.set(status, (refused.get(status) ?? 0) + 1);
      answered += 1;
      onProgress?.(answered);
    }
  }

  await Promise.all(Array.from({ length: CALLERS }, caller));
  return refused;
}

/** Whether the merchant has no record that could ever have an event: what is pending settles, or expires, in a day. */
export async function hasNoRecords(request: HttpClient["request"]): Promise<boolean> {
  await request("POST", "/sandbox/clock/advance", { body: { seconds: 86_400 } });
  const { body } = await request("GET", "/sandbox/events");
  return body.data.events.length === 0;
}
