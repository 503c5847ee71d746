import { expect, test } from "vitest";
import type { TargetRequest, TargetResponse } from "../target/exchange.ts";
import type { Velocity } from "./declaration.ts";
import { createPacer } from "./pace.ts";

/** Returns a pacer whose clock only its waits move, and the times, in seconds, at which requests were sent. */
function pacer(rules: Velocity[], responseMs = 0) {
  let time = 0;
  const sent: number[] = [];
  const pace = createPacer(() => rules, { now: () => new Date(time), sleep: async (ms) => void (time += ms) });
  const payout = { method: "POST", path: "/v1/disbursements", effect: "moves-money", ...to("1") } as const;
  const pay = (over: Partial<TargetRequest> = {}, response: () => unknown = () => ({})) =>
    pace({ ...payout, ...over }, async () => {
      sent.push(time / 1000);
      time += responseMs;
      return response() as TargetResponse;
    });
  return { pay, sent };
}

const to = (phoneNumber: string) => ({ json: { phoneNumber } });
const perMerchant: Velocity = { payouts: 2, seconds: 10, per: "merchant" };
const perRecipient: Velocity = { payouts: 1, seconds: 10, per: "recipient" };

test.each([
  ["until the merchant may pay again", [perMerchant], ["1", "2", "3", "4", "5"], [0, 0, 10, 10, 20]],
  ["for every rule", [perRecipient, { ...perMerchant, seconds: 60 }], ["1", "1", "2"], [0, 10, 60]],
])("payouts wait %s", async (_, rules, phones, expected) => {
  const { pay, sent } = pacer(rules);
  for (const phone of phones) await pay(to(phone));
  expect(sent).toEqual(expected);
});

test("payouts whose JSON is written in another form wait like others to the recipient", async () => {
  const { pay, sent } = pacer([perRecipient]);
  await pay(to("1"));
  await pay({ json: undefined, body: String.raw`{ "phone\u004eumber" : "1" }` });
  await pay({ json: undefined, body: Buffer.from('{"phoneNumber":"2"}') });
  await pay({ json: undefined, body: "no JSON" });
  expect(sent).toEqual([0, 10, 10, 10]);
});

test("a period counts from the response, because the target may have counted the payout at any time before it", async () => {
  const { pay, sent } = pacer([perRecipient], 3000);
  await pay();
  await pay();
  expect(sent).toEqual([0, 13]);
});

test("a request that must be refused waits, but does not count once it was refused", async () => {
  const { pay, sent } = pacer([perRecipient]);
  await pay({ effect: "must-be-rejected" });
  await pay();
  for (const effect of ["must-be-rejected", "must-be-rejected", "moves-money"] as const) await pay({ effect });
  expect(sent).toEqual([0, 0, 10, 10, 10]);
});

test("a request that fails counts, because the target may have paid", async () => {
  const { pay, sent } = pacer([perRecipient]);
  const lost = () => {
    throw new Error("lost");
  };
  await expect(pay({}, lost)).rejects.toThrow("lost");
  await pay();
  expect(sent).toEqual([0, 10]);
});
