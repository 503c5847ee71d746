// Checks which addresses are accepted as webhookURL and redirectURL (D7a, D15).
import { judges, type Context } from "../../check.ts";
import { bothRefused, expectStatus, same } from "../../steps/expect.ts";
import { checkoutBody, siteOf } from "../../steps/bodies.ts";
import { paid, verified } from "../../steps/records.ts";
import { startInvalidCheckout } from "../../steps/requests.ts";
import type { RequirementId } from "../../../generated/requirement-ids.ts";

const badAddresses = (site: string) => [
  `ftp://${site}/hooks`,
  "javascript:alert(1)",
  `mailto:hooks@${site}`,
  `https://user@${site}/hooks`,
  `https://user:password@${site}/hooks`,
  `//${site}/hooks`,
  "https:///hooks",
];

/** Addresses where nothing listens, so that deliveries fail immediately. */
const goodAddresses = [
  "http://127.0.0.1:1",
  "https://127.0.0.1:1/a%20b/?x=1&y=%C3%A9#part",
  "HTTP://127.0.0.1:1/Hooks",
];

/** Expects an address to be refused as webhookURL. */
const refuse = (context: Context, id: RequirementId, address: string, what: string) =>
  bothRefused(context, id, 422, what, (valid) => ({ json: { ...valid, webhookURL: address } }));

export const checks = [
  judges("addresses.refused", {}, async (context, id) => {
    for (const address of badAddresses(siteOf(context))) {
      await refuse(context, id, address, `webhookURL ${address}`);
      const response = await startInvalidCheckout(context, checkoutBody(context, { redirectURL: address }));
      expectStatus(context, id, response, 422, `for a checkout with redirectURL ${address}`);
    }
  }),
  judges("limits.address-length", {}, async (context, id) => {
    const address = `https://${siteOf(context)}/`.padEnd(2049, "a");
    await refuse(context, id, address, `a webhookURL of ${address.length} characters`);
  }),
  judges(["addresses.kept", "addresses.left-out"], { pays: goodAddresses.length + 2 }, async (context, id) => {
    const longest = `http://127.0.0.1:1/${"a".repeat(2048 - 19)}`;
    for (const webhookURL of [...goodAddresses, longest]) {
      const { reference } = await paid(context, { webhookURL });
      const { data, response } = await verified(context, reference);
      same(context, id, "webhookURL", data.webhookURL, webhookURL, response);
    }
    const { reference } = await paid(context);
    const { data, response } = await verified(context, reference);
    const isLeftOut = !("webhookURL" in data);
    context.judge("addresses.left-out", isLeftOut, "no webhookURL field", [JSON.stringify(data.webhookURL)], response);
  }),
];
