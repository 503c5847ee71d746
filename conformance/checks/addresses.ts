// Checks which addresses are accepted as webhookURL and redirectURL (D7a, D15).
import type { Check, Context } from "../check.ts";
import type { TargetResponse } from "../target/exchange.ts";
import { expectStatus } from "./expect.ts";
import { checkoutBody, disbursementBody, paid, payInvalid, startInvalidCheckout, verified, pays } from "./requests.ts";

const badAddresses = [
  "ftp://merchant.example/hooks",
  "javascript:alert(1)",
  "mailto:hooks@merchant.example",
  "https://user@merchant.example/hooks",
  "https://user:password@merchant.example/hooks",
  "//merchant.example/hooks",
  "https:///hooks",
];
/** Addresses where nothing listens, so that deliveries fail immediately. */
const goodAddresses = [
  "http://127.0.0.1:1",
  "https://127.0.0.1:1/a%20b/?x=1&y=%C3%A9#part",
  "HTTP://127.0.0.1:1/Hooks",
];

const both = async (context: Context, over: Record<string, unknown>): Promise<[string, TargetResponse][]> => [
  ["webhookURL of a disbursement", await payInvalid(context, disbursementBody(context, over))],
  ["webhookURL of a checkout", await startInvalidCheckout(context, checkoutBody(context, over))],
];

export const checks: Check[] = [
  {
    name: "Invalid addresses are refused",
    ids: ["addresses.refused"],
    effect: "must-be-rejected",
    async run(context) {
      for (const address of badAddresses) {
        const responses = await both(context, { webhookURL: address });
        responses.push([
          "redirectURL of a checkout",
          await startInvalidCheckout(context, checkoutBody(context, { redirectURL: address })),
        ]);
        for (const [what, response] of responses) {
          expectStatus(context, "addresses.refused", response, 422, `for ${address} as ${what}`);
        }
      }
    },
  },
  {
    name: "Addresses of more than 2,048 characters are refused",
    ids: ["limits.address-length"],
    effect: "must-be-rejected",
    async run(context) {
      const address = `https://merchant.example/${"a".repeat(2049 - 25)}`;
      for (const [what, response] of await both(context, { webhookURL: address })) {
        expectStatus(context, "limits.address-length", response, 422, `for ${address.length} characters as ${what}`);
      }
    },
  },
  {
    name: "Record has the webhookURL exactly as sent, or none",
    ids: ["addresses.kept", "addresses.left-out"],
    ...pays(goodAddresses.length + 2),
    async run(context) {
      const longest = `http://127.0.0.1:1/${"a".repeat(2048 - 19)}`;
      for (const webhookURL of [...goodAddresses, longest]) {
        const { reference } = await paid(context, { webhookURL });
        const { data, response } = await verified(context, reference);
        const shown = (data.webhookURL ?? "no webhookURL").slice(0, 100);
        context.judge("addresses.kept", data.webhookURL === webhookURL, webhookURL.slice(0, 100), shown, response);
      }
      const { reference } = await paid(context);
      const { data, response } = await verified(context, reference);
      const actual = "webhookURL" in data ? JSON.stringify(data.webhookURL) : "as expected";
      context.judge("addresses.left-out", !("webhookURL" in data), "no webhookURL field", actual, response);
    },
  },
];
