// D7a, D15: addresses that merchants give.
import { describeResponse, type Check, type Context } from "../check.ts";
import type { TargetResponse } from "../target/exchange.ts";
import {
  checkoutBody,
  disbursementBody,
  paid,
  payInvalid,
  startInvalidCheckout,
  usualAmount,
  verified,
} from "./requests.ts";

const badAddresses = [
  "ftp://merchant.example/hooks",
  "javascript:alert(1)",
  "mailto:hooks@merchant.example",
  "https://user@merchant.example/hooks",
  "https://user:password@merchant.example/hooks",
  "//merchant.example/hooks",
  "https:///hooks",
];
/** Where nobody listens, so that what is sent there fails at once. */
const goodAddresses = [
  "http://127.0.0.1:1",
  "https://127.0.0.1:1/a%20b/?x=1&y=%C3%A9#part",
  "HTTP://127.0.0.1:1/Hooks",
];

const both = async (context: Context, over: Record<string, unknown>): Promise<[string, TargetResponse][]> => [
  ["a disbursement", await payInvalid(context, disbursementBody(context, over))],
  ["a checkout", await startInvalidCheckout(context, checkoutBody(over))],
];

export const addressChecks: Check[] = [
  {
    name: "addresses that are refused",
    ids: ["addresses.refused"],
    effect: "must-be-rejected",
    async run(context) {
      for (const address of badAddresses) {
        const responses = await both(context, { webhookURL: address });
        responses.push(["a redirect", await startInvalidCheckout(context, checkoutBody({ redirectURL: address }))]);
        for (const [what, response] of responses) {
          context.judge(
            "addresses.refused",
            response.status === 422,
            `422 to ${what} with ${address}`,
            describeResponse(response),
            [response],
          );
        }
      }
    },
  },
  {
    name: "addresses that are too long",
    ids: ["limits.address-length"],
    effect: "must-be-rejected",
    async run(context) {
      const address = `https://merchant.example/${"a".repeat(2049 - 25)}`;
      for (const [what, response] of await both(context, { webhookURL: address })) {
        context.judge(
          "limits.address-length",
          response.status === 422,
          `422 to ${what} with an address of ${address.length} characters`,
          describeResponse(response),
          [response],
        );
      }
    },
  },
  {
    name: "addresses stand in the record as they were sent",
    ids: ["addresses.kept", "addresses.left-out"],
    effect: "moves-money",
    payouts: goodAddresses.length + 2,
    amount: (goodAddresses.length + 2) * usualAmount,
    async run(context) {
      const longest = `http://127.0.0.1:1/${"a".repeat(2048 - 19)}`;
      for (const webhookURL of [...goodAddresses, longest]) {
        const { reference } = await paid(context, { webhookURL });
        const { data, response } = await verified(context, reference);
        const shown = (data.webhookURL ?? "nothing").slice(0, 100);
        context.judge("addresses.kept", data.webhookURL === webhookURL, webhookURL.slice(0, 100), shown, [response]);
      }
      const { reference } = await paid(context);
      const { data, response } = await verified(context, reference);
      const actual = "webhookURL" in data ? JSON.stringify(data.webhookURL) : "no such field";
      context.judge("addresses.left-out", !("webhookURL" in data), "no field webhookURL", actual, [response]);
    },
  },
];
