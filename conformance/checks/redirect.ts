// D10: the customer's return to the merchant.
import { Prerequisite, describeResponse, type Check, type Context } from "../check.ts";
import type { TargetResponse } from "../target/exchange.ts";
import { started } from "./checkout-record.ts";
import { linkOf } from "./checkout.ts";
import { finishCheckout } from "./sandbox-controls.ts";

const merchant = "https://merchant.example";
const maxHops = 5;

type Return = { response: TargetResponse; address?: URL };

/** Follows redirects until one leads to the merchant. */
async function follow(context: Context, link: string): Promise<Return> {
  let url = link;
  for (let hop = 0; ; hop += 1) {
    const response = await context.target.openLink(url);
    const { location } = response.headers;
    if (location === undefined || hop === maxHops) return { response };
    const next = new URL(location, url);
    if (next.origin === merchant) return { response, address: next };
    url = next.href;
  }
}

/** Opens the page of a finished checkout, which returns to the merchant by a redirect or by a link on the page. */
async function returnToMerchant(context: Context, link: string): Promise<Return> {
  const page = await follow(context, link);
  if (page.address) return page;
  const links = [...page.response.text.matchAll(/<a\s[^>]*href="([^"]+)"/gi)].map(
    ([, href = ""]) => new URL(href, link),
  );
  for (const { origin, href } of links) {
    const way = origin === new URL(link).origin ? await follow(context, href) : undefined;
    if (way?.address) return way;
  }
  return page;
}

export const redirectChecks: Check[] = [
  {
    name: "Customer returns to redirectURL with the outcome",
    ids: ["redirect.parameters"],
    effect: "moves-money",
    needs: ["sandbox"],
    async run(context) {
      for (const outcome of ["success", "failed", "cancelled"]) {
        const own = context.fresh();
        const redirectURL = `${merchant}/orders/1?step=done&status=forged&a=1&a=2`;
        const made = await started(context, { redirectURL, reference: own });
        const link = linkOf(made.response, [redirectURL]);
        if (link === undefined) throw new Prerequisite("a link to the payment page", describeResponse(made.response));
        await finishCheckout(context, made.reference, outcome);
        const { response, address } = await returnToMerchant(context, link);
        const query = address?.searchParams;
        const given = [query?.getAll("reference"), query?.getAll("merchantsReference"), query?.getAll("status")];
        const set = JSON.stringify(given) === JSON.stringify([[made.reference], [own], [outcome]]);
        const kept =
          query?.get("step") === "done" && query.getAll("a").join() === "1,2" && address?.pathname === "/orders/1";
        const expected = `303 to redirectURL with its query kept, and reference, merchantsReference and status ${outcome} once each`;
        const actual = `${response.status ?? "no response"}, Location: ${address?.href ?? "none to the merchant"}`;
        context.judge("redirect.parameters", response.status === 303 && set && kept, expected, actual, [response]);
      }
    },
  },
];
