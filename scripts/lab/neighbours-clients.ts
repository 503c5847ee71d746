// The clients of `npm run lab -- neighbours`: a process of its own at the lowest priority, so that it gets only the
// processor time that the server and the measurement leave.
import { constants, setPriority } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { aPayout, serve } from "../../server/testing/http.ts";
import { FINAL } from "./payments.ts";

/** A merchant that abuses the server in one way. */
export interface Abuser {
  kind: Abuse;
  /** The server's address. */
  url: string;
  merchantId: string;
  keys: readonly string[];
  /** The session cookies of the merchant's people. */
  cookies: readonly string[];
}

/** An order of the experiment: let these merchants abuse the server, or the dummy, until the next order. */
export interface Order {
  abusers: readonly Abuser[];
  dummy: boolean;
}

type Call = (abuser: Abuser, turn: number, signal: AbortSignal) => Promise<unknown>;

/** Four repetitions of an abuse run at once, and each starts every 40 ms: at most 100 a second for each merchant. */
const AT_ONCE = 4;
const EVERY_MS = 40;
/** This response is as long as an ordinary page of a list. */
const DUMMY = JSON.stringify({ statusCode: 200, data: { items: [], filler: "x".repeat(10_000) } });

/** A receiver of webhooks that never responds. */
const silent = await serve((request) => void request.resume());

async function send({ url, keys }: Abuser, path: string, turn: number, signal: AbortSignal, body?: object) {
  const headers = { "x-api-key": keys[turn % keys.length]!, "content-type": "application/json" };
  const sent = body && { method: "POST", body: JSON.stringify(body) };
  const response = await fetch(`${url}${path}`, { headers, signal, ...sent });
  return (await response.json()) as { data?: { items?: { id: string }[] } };
}

const page =
  (path: string): Call =>
  async ({ url, merchantId, cookies }, turn, signal) => {
    const headers = { cookie: cookies[turn % cookies.length]! };
    return (await fetch(`${url}/dashboard/m/${merchantId}/${path}`, { headers, signal })).text();
  };

const pay: Call = (abuser, turn, signal) =>
  send(abuser, "/v1/disbursements", turn, signal, aPayout({ phoneNumber: FINAL, webhookURL: silent.url }));

/** What each kind of abuser repeats as long as a round lasts. */
const ABUSES = {
  "slow receivers": pay,
  async replays(abuser, turn, signal) {
    const { data } = await send(abuser, "/sandbox/deliveries?limit=100", turn, signal);
    const items = data?.items ?? [];
    if (items.length < 100) await pay(abuser, turn, signal);
    const replays = items.map(({ id }) => send(abuser, `/sandbox/deliveries/${id}/replay`, turn, signal, {}));
    await Promise.allSettled(replays);
  },
  exports: page("disbursements.csv"),
  searches: page("webhooks?host=nowhere.example"),
  streams: page("live"),
  lists: (abuser, turn, signal) => send(abuser, "/v1/disbursements?limit=100", turn, signal),
  "100 keys": (abuser, turn, signal) => send(abuser, "/v1/disbursements", turn, signal, aPayout()),
} satisfies Record<string, Call>;

export type Abuse = keyof typeof ABUSES;

async function abuse(abuser: Abuser, signal: AbortSignal): Promise<void> {
  const repeat = async (first: number) => {
    for (let turn = first; !signal.aborted; turn += AT_ONCE) {
      const pause = sleep(EVERY_MS);
      // Refusals are expected.
      await ABUSES[abuser.kind](abuser, turn, signal).catch(() => undefined);
      await pause;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, first) => repeat(first)));
}

setPriority(constants.priority.PRIORITY_LOW);
const dummy = await serve((request, response) => {
  request.resume();
  request.on("end", () => response.writeHead(200, { "content-type": "application/json" }).end(DUMMY));
});
let ending = new AbortController();
let abusing: Promise<unknown> = Promise.resolve();

process.on("message", async (order: Order) => {
  ending.abort();
  await abusing;
  ending = new AbortController();
  const { signal } = ending;
  const target = order.dummy ? { url: dummy.url } : {};
  abusing = Promise.all(order.abusers.map((abuser) => abuse({ ...abuser, ...target }, signal)));
  process.send!("done");
});
process.on("disconnect", () => process.exit(0));
process.send!(Object.keys(ABUSES));
