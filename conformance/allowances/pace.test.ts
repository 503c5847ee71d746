import { expect, test } from "vitest";
import type { TargetRequest, TargetResponse } from "../target/exchange.ts";
import type { Velocity } from "./declaration.ts";
import { createPacer } from "./pace.ts";

const to = (phoneNumber: string) => ({ json: { phoneNumber } });
const invalid = { effect: "must-be-rejected" } as const;
const perMerchant: Velocity = { payouts: 2, seconds: 10, per: "merchant" };
const perRecipient: Velocity = { payouts: 1, seconds: 10, per: "recipient" };

type Requests = Partial<TargetRequest>[];

test.each<[string, Velocity[], Requests, seconds: number[], responseMs?: number]>([
  ["until the merchant may pay again", [perMerchant], [{}, {}, {}, {}, {}], [0, 0, 10, 10, 20]],
  ["for every rule", [perRecipient, { ...perMerchant, seconds: 60 }], [to("1"), to("1"), to("2")], [0, 10, 60]],
  ["for a period that begins with the last response", [perRecipient], [{}, {}], [0, 13], 3000],
  [
    "for the recipient in any form of JSON",
    [perRecipient],
    [{}, { body: String.raw`{"phone\u004eumber":"1"}` }],
    [0, 10],
  ],
  ["if they must be refused, and then do not count", [perRecipient], [invalid, {}, invalid, {}], [0, 0, 10, 10]],
])("payouts wait %s", async (_, rules, requests, expected, responseMs = 0) => {
  let time = 0;
  const sent: number[] = [];
  const pace = createPacer(() => rules, { now: () => new Date(time), sleep: async (ms) => void (time += ms) });
  for (const over of requests) {
    const json = "body" in over ? {} : to("1");
    const payout = { method: "POST", path: "/v1/disbursements", effect: "moves-money", ...json, ...over } as const;
    await pace(payout, async () => {
      sent.push(time / 1000);
      time += responseMs;
      return {} as TargetResponse;
    });
  }
  expect(sent).toEqual(expected);
});
