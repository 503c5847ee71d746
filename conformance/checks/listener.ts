// Checks the listener, which makes webhook attempts in place of the target (D69). The second merchant's listener is
// used, so that it does not take the webhooks of other checks.
import { given, type Check, type Context } from "../check.ts";
import type { TargetResponse } from "../target/exchange.ts";
import { expectData, expectStatus, same, shows } from "./expect.ts";
import { dataOf, get, paid, pays } from "./requests.ts";
import { forcing, listed } from "./sandbox-controls.ts";

type Claimed = { id: string; token: number; headers: Record<string, string>; body: string; reference: string };

const signedHeaders = ["webhook-id", "webhook-timestamp", "webhook-signature"];

const send = (context: Context, path: string, json: unknown) =>
  context.target.send({ method: "POST", path: `/sandbox/listener${path}`, effect: "moves-money", key: "second", json });

/** Connects a listener and returns its session. */
async function connect(context: Context, name: string): Promise<string> {
  const response = await send(context, "", { name, url: "http://127.0.0.1:4000/" });
  const { session } = dataOf(response);
  given(typeof session === "string", "a session for a listener", response);
  return session;
}

const claim = (context: Context, session: string, waitSeconds: number) =>
  send(context, "/claims", { session, limit: 100, waitSeconds, holding: [] });

/** Returns the claimed delivery of a record, or undefined if the response has none. */
const claimedFor = (response: TargetResponse, reference: string) =>
  listed(response).find((item) => item["reference"] === reference) as Claimed | undefined;

/** Pays without a webhookURL, to a number that succeeds at once. Returns the service's reference. */
const payWithoutAddress = async (context: Context) =>
  (await paid(context, { phoneNumber: forcing("001"), webhookURL: undefined }, { key: "second" })).reference;

const needs = ["listener", "forced-outcomes", "second-key"] as const;

export const checks: Check[] = [
  {
    name: "Listener makes an attempt",
    ids: ["listener.attempts"],
    ...pays(1),
    needs: [...needs, "deliveries"],
    async run(context) {
      const id = "listener.attempts";
      const session = await connect(context, "the only one");
      const reference = await payWithoutAddress(context);
      const response = await claim(context, session, 2);
      const delivery = claimedFor(response, reference);
      const isComplete =
        delivery !== undefined &&
        signedHeaders.every((name) => Boolean(delivery.headers?.[name])) &&
        String(delivery.body).includes(reference);
      const expected = "the delivery of the payout, with its body and the headers of a webhook";
      shows(context, id, response, isComplete, expected);
      const report = { id: delivery?.id, token: delivery?.token, sentMsAgo: 5, latencyMs: 5, httpStatus: 410 };
      const first = await send(context, "/attempts", report);
      expectData(context, id, first, { counted: true, status: "ended" }, "for the report of a response with 410");
      const again = await send(context, "/attempts", report);
      expectData(context, id, again, { counted: false }, "for the same report again");
      const path = `/sandbox/deliveries?reference=${reference}`;
      const log = await get(context, path, { key: "second" });
      const attempts = listed(log).flatMap((item) => item["attempts"] as { httpStatus?: unknown }[]);
      const actual = attempts.map(({ httpStatus }) => httpStatus);
      same(context, id, { what: "statuses of the logged attempts:", actual, expected: [410] }, log);
      await send(context, "/disconnect", { session });
    },
  },
  {
    name: "Second listener takes over",
    ids: ["listener.takes-over"],
    ...pays(1),
    needs: [...needs],
    async run(context) {
      const id = "listener.takes-over";
      const first = await connect(context, "the first");
      const reference = await payWithoutAddress(context);
      const claimed = await claim(context, first, 2);
      given(claimedFor(claimed, reference), "a claimed delivery", claimed);
      const second = await connect(context, "the second");
      const refused = await claim(context, first, 0);
      expectStatus(context, id, refused, 409, "for a claim of the first listener");
      const taken = await claim(context, second, 2);
      const delivery = claimedFor(taken, reference);
      const has = delivery !== undefined;
      shows(context, id, taken, has, "the delivery that the first listener had claimed");
      await send(context, "/attempts", { ...delivery, sentMsAgo: 0, latencyMs: 0, httpStatus: 204 });
      await send(context, "/disconnect", { session: second });
    },
  },
];
