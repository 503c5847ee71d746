import { aPayout } from "../../server/testing/server.ts";

/** A merchant that abuses the server in one way. */
export interface Abuser {
  /** The server's address. */
  url: string;
  merchantId: string;
  keys: readonly string[];
  /** The session cookies of the merchant's people. */
  cookies: readonly string[];
  /** A receiver that responds at first and hangs later, and a receiver that always hangs. */
  hanging: string;
}

/** Numbers ending in 129 leave a payout pending. */
export const PENDING = "2257038102129";

type Abuse = (abuser: Abuser, turn: number, signal: AbortSignal) => Promise<unknown>;

/** Numbers ending in 001 make a payout final at once, so that its webhook is sent at once. */
export const FINAL = "2257038102001";

async function call({ url, keys }: Abuser, path: string, turn: number, signal: AbortSignal, body?: unknown) {
  const headers = { "x-api-key": keys[turn % keys.length]!, "content-type": "application/json" };
  const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const response = await fetch(`${url}${path}`, { headers, signal, ...sent });
  return (await response.json()) as { data?: any };
}

async function page({ url, merchantId, cookies }: Abuser, path: string, turn: number, signal: AbortSignal) {
  const headers = { cookie: cookies[turn % cookies.length]! };
  return (await fetch(`${url}/dashboard/m/${merchantId}/${path}`, { headers, signal })).text();
}

const pay: Abuse = (abuser, turn, signal) =>
  call(abuser, "/v1/disbursements", turn, signal, aPayout({ phoneNumber: FINAL, webhookURL: abuser.hanging }));

/** The abuses. Each is repeated, several times at once, as long as a round lasts. */
export const ABUSES: Readonly<Record<string, Abuse>> = {
  "slow receivers": pay,
  replays: async (abuser, turn, signal) => {
    const { data } = await call(abuser, "/sandbox/deliveries?limit=100", turn, signal);
    const items = (data?.items ?? []) as { id: string }[];
    if (items.length < 100) await pay(abuser, turn, signal);
    const replays = items.map(({ id }) => call(abuser, `/sandbox/deliveries/${id}/replay`, turn, signal, {}));
    await Promise.allSettled(replays);
  },
  exports: (abuser, turn, signal) => page(abuser, "disbursements.csv", turn, signal),
  searches: (abuser, turn, signal) => page(abuser, "webhooks?host=nowhere.example", turn, signal),
  streams: (abuser, turn, signal) => page(abuser, "live", turn, signal),
  lists: (abuser, turn, signal) => call(abuser, "/v1/disbursements?limit=100", turn, signal),
  "100 keys": (abuser, turn, signal) => call(abuser, "/v1/disbursements", turn, signal, aPayout()),
};
