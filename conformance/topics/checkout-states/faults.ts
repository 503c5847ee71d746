// Servers whose checkouts end in another way, twice or never (D3, D10).
import { type Faults, type How } from "../../broken/fault.ts";
import { data, handles, requests } from "../../broken/changes.ts";
import { dataOf, withData } from "../../broken/replies.ts";
import { isOf, lastPart, sent } from "../../broken/calls.ts";

const finish = "finishCheckout";
const pathOfFinish = /^\/sandbox\/checkouts\/([^/]+)\/finish$/;

/** Makes an unpaid checkout expire this many minutes after its creation. */
const expires =
  (minutes: number): How =>
  () => ({ merchant: () => ({ checkoutLifetime: () => minutes * 60_000 }) });

export const faults: Faults = {
  "checkout-states.opened-stays-pending": {
    "Opening the link to the payment page lets the checkout fail.": handles(async (call, ask, world) => {
      const reply = await ask(call);
      const [, reference] = /^\/checkouts\/([^/?]+)$/.exec(call.path) ?? [];
      if (reference === undefined) return reply;
      const headers = { "x-api-key": world.key, "content-type": "application/json" };
      const body = Buffer.from('{"outcome":"failed"}');
      await ask({ method: "POST", path: `/sandbox/checkouts/${reference}/finish`, headers, body });
      return reply;
    }),
  },
  "checkout-states.outcomes": {
    "A failed checkout has the status success.": data("verifyCheckout", (record) =>
      record["status"] === "failed" ? { ...record, status: "success" } : record,
    ),
    "The payment of a checkout ends the oldest open checkout with the same amount.": () => {
      const open = new Map<unknown, unknown>();
      return handles(async (call, ask) => {
        const [, paid = ""] = pathOfFinish.exec(call.path) ?? [];
        const oldest = [...open].find(([, amount]) => amount === open.get(paid))?.[0];
        open.delete(oldest);
        const reply = await ask(oldest ? { ...call, path: call.path.replace(paid, String(oldest)) } : call);
        if (reply?.status === 200 && isOf(call, "createCheckout"))
          open.set(dataOf(reply)["reference"], sent(call)["amount"]);
        return reply;
      });
    },
  },
  "checkout-states.final": {
    "A final checkout can be finished again with another outcome.": () => {
      const ended = new Map<unknown, unknown>();
      return handles(async (call, ask) => {
        const reply = await ask(call);
        if (!reply) return reply;
        if (isOf(call, finish) && reply.status === 409) {
          ended.set(pathOfFinish.exec(call.path)?.[1], sent(call)["outcome"]);
          return { ...reply, status: 200 };
        }
        const status = isOf(call, "verifyCheckout") ? ended.get(lastPart(call)) : undefined;
        return status ? withData(reply, { ...dataOf(reply), status }) : reply;
      });
    },
  },
  "checkout-states.expiry": {
    "An unpaid checkout expires after 10 minutes.": expires(10),
  },
  "checkout-states.updated-at": {
    "updatedAt of a checkout stays the time of its creation.": data("verifyCheckout", (record) => ({
      ...record,
      updatedAt: record["createdAt"],
    })),
  },
  "sandbox.finish": {
    "Finishing a checkout changes nothing.": handles((call, ask) => {
      const [, reference] = pathOfFinish.exec(call.path) ?? [];
      return ask(
        reference && "outcome" in sent(call) ? { ...call, method: "GET", path: `/v1/checkouts/${reference}` } : call,
      );
    }),
    "Finishing a checkout always makes it succeed.": requests(finish, (fields) => ({ ...fields, outcome: "success" })),
  },
};
