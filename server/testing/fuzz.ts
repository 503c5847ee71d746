import type { HttpClient } from "./http.ts";
import { seededRandom } from "./random.ts";
import { wrongRequest } from "./wrong-requests.ts";

interface FuzzOptions {
  request: HttpClient["request"];
  /** Number of requests. */
  count: number;
  /** The same seed sends the same requests. */
  seed: number;
  /** Called after each response with the number of responses so far. */
  onProgress?(responses: number): void;
}

const CALLERS = 16;

/**
 * Sends invalid requests to a server, which must refuse each with an expected status in the shape of §7.
 * @returns the number of refusals for each status
 * @throws Error that shows the first request with an unexpected response
 */
export async function fuzz({ request, count, seed, onProgress }: FuzzOptions): Promise<Map<number, number>> {
  const random = seededRandom(seed);
  const refused = new Map<number, number>();
  let sent = 0;
  let responses = 0;

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
      responses += 1;
      onProgress?.(responses);
    }
  }

  await Promise.all(Array.from({ length: CALLERS }, caller));
  return refused;
}

/** True if the merchant has no records. Every record has an event within a day, because it settles or expires. */
export async function hasNoRecords(request: HttpClient["request"]): Promise<boolean> {
  await request("POST", "/sandbox/clock/advance", { body: { seconds: 86_400 } });
  const { body } = await request("GET", "/sandbox/events");
  return body.data.items.length === 0;
}
