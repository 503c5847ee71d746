// The clients of `npm run faults -- neighbours`: a process of its own, which the run starts at the lowest priority.
import { setTimeout as sleep } from "node:timers/promises";
import { serve } from "../../server/testing/http.ts";
import { ABUSES, type Abuser } from "./abuses.ts";

/** An order of the run: let these merchants abuse the server or the dummy, or end. */
export type Order = { abusers: readonly { kind: string; abuser: Abuser }[]; dummy: boolean } | "end";

/**
 * How many repetitions of an abuse run at once, and the shortest time between two starts of each: at most 100 a second
 * for each merchant.
 */
const AT_ONCE = 4;
const EVERY_MS = 40;
/** This response is as long as an ordinary page of a list. */
const DUMMY = JSON.stringify({ statusCode: 200, data: { items: [], session: "none", filler: "x".repeat(10_000) } });

const { url: dummyUrl } = await serve((request, response) => {
  request.resume();
  request.on("end", () => response.writeHead(200, { "content-type": "application/json" }).end(DUMMY));
});
/** A receiver of webhooks that never answers. It runs here, so that it does not load the measuring process. */
const { url: hanging } = await serve((request) => void request.resume());
let ending = new AbortController();
let abusing: Promise<unknown> = Promise.resolve();

/** Repeats an abuse until the signal. Refusals are expected. */
async function abuse(abuser: Abuser, kind: string, signal: AbortSignal): Promise<void> {
  const repeat = async (first: number) => {
    for (let turn = first; !signal.aborted; turn += AT_ONCE) {
      const pause = sleep(EVERY_MS);
      await ABUSES[kind]!(abuser, turn, signal).catch(() => undefined);
      await pause;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, first) => repeat(first)));
}

process.on("message", async (order: Order) => {
  ending.abort();
  await abusing;
  if (order !== "end") {
    ending = new AbortController();
    const { signal } = ending;
    const target = order.dummy ? { url: dummyUrl } : {};
    abusing = Promise.all(order.abusers.map(({ abuser, kind }) => abuse({ ...abuser, ...target }, kind, signal)));
  }
  process.send!("done");
});
process.on("disconnect", () => process.exit(0));
process.send!(hanging);
