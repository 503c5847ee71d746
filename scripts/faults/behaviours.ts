import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { SeededRandom } from "../../server/testing/random.ts";

type Respond = (response: ServerResponse, random: SeededRandom) => unknown;

/** Ways in which a receiver treats a webhook. */
export const BEHAVIOURS = {
  healthy: (response) => response.writeHead(204).end(),
  /** Fails about one webhook in eight. */
  moody: (response, random) => {
    const mood = random.below(24);
    if (mood === 0) response.socket!.resetAndDestroy();
    else if (mood === 1) response.writeHead(503, { "retry-after": "1" }).end();
    else response.writeHead(mood === 2 ? 500 : 204).end();
  },
  /**
   * The delay is so long that some attempts are always in progress, and some attempts last longer than an outage of ten
   * seconds.
   */
  slow: async (response, random) => {
    await sleep(random.below(random.below(10) === 0 ? 14_000 : 2_000));
    response.writeHead(204).end();
  },
  failing: (response) => response.writeHead(500).end("out of order"),
  silent: () => undefined,
  reset: (response) => response.socket!.resetAndDestroy(),
  flood: (response) => repeat(response, "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n".repeat(100), 0),
  drip: (response) => repeat(response, "h", 300, "HTTP/1.1 200 OK\r\n"),
  endless: (response) => repeat(response, "x".repeat(10_000), 0, "HTTP/1.1 200 OK\r\n\r\n"),
} satisfies Record<string, Respond>;

export type Behaviour = keyof typeof BEHAVIOURS;

/** Writes the same bytes until the connection is closed. */
async function repeat({ socket }: ServerResponse, bytes: string, everyMs: number, first = "") {
  socket!.on("error", () => undefined);
  socket!.write(first);
  while (!socket!.destroyed) {
    if (!socket!.write(bytes))
      await Promise.race([once(socket!, "drain"), once(socket!, "close")]).catch(() => undefined);
    await sleep(everyMs);
  }
}
