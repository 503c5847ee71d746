// Checks that the payment page leads the customer back to the merchant (§1, §2.4, D10).
import { describeResponse, type Check, type Context } from "../../check.ts";
import { hasControl } from "../../run-options.ts";
import type { TargetResponse } from "../../target/exchange.ts";
import { started } from "../checkout-request/checkout-record.ts";
import { pageLink } from "./checkout.ts";
import { ended, noneEnded } from "../../steps/finishing.ts";
import { checkoutBody, siteOf, startCheckout } from "../../steps/requests.ts";
import { finishCheckout } from "../../steps/sandbox-controls.ts";

const maxPages = 10;

const entities: Record<string, string> = { amp: "&", quot: '"', apos: "'", colon: ":", period: ".", sol: "/" };
/** Decodes the character references of HTML that a program may write in a URL. */
const decoded = (text: string) =>
  text.replaceAll(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex?: string, decimal?: string, name = "") => {
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return entities[name] ?? (code <= 0x10_ff_ff ? String.fromCodePoint(code) : whole);
  });

/**
 * Returns the URLs to which a page leads without a script: the URLs in its Refresh header, Refresh elements and links.
 */
function waysOn(page: TargetResponse, base: string): URL[] {
  const refresh = [page.headers["refresh"], ...page.text.matchAll(/<meta\s[^>]*http-equiv="?refresh[^>]*>/gi)].map(
    String,
  );
  const links = [...page.text.matchAll(/<a\s[^>]*href=["']?([^"'\s>]+)/gi)].map(([, href]) => href);
  return [...refresh.map((text) => /url=["']?([^"'>\s]+)/i.exec(text)?.[1]), ...links]
    .filter((address) => address !== undefined)
    .map(decoded)
    .filter((address) => URL.canParse(address, base))
    .map((address) => new URL(address, base));
}

type Return = { response: TargetResponse; address?: URL };

/**
 * Opens a link and searches for the way back to the merchant. Follows redirects to any host, but refreshes and links
 * only within a page's own origin. Returns the response that leads to the merchant and the merchant's URL in it.
 */
async function returnToMerchant(context: Context, link: string, seen = new Set<string>()): Promise<Return> {
  seen.add(link);
  const response = await context.target.openLink(link);
  const { location } = response.headers;
  const { origin } = new URL(link);
  const ways = location === undefined ? waysOn(response, link) : [new URL(location, link)];
  for (const address of ways) {
    if (address.host === siteOf(context) && address.pathname.startsWith("/orders/")) return { response, address };
    const near = location !== undefined || address.origin === origin;
    if (!near || seen.has(address.href) || seen.size === maxPages) continue;
    const way = await returnToMerchant(context, address.href, seen);
    if (way.address) return way;
  }
  return { response };
}

/** Asks the person where the page led. The way may need a script or a session, so the suite cannot follow it. */
async function askForRedirect(context: Context, link: string, redirectURL: string) {
  const what = "Open this checkout in a browser, pay it, and see to which address the page leads you:";
  const question = `Did it lead you to ${redirectURL}, or is there a link to it? (Nothing is served there.)`;
  const reply = await context.person?.({ link, what, question });
  if (reply !== "yes" && reply !== "no") return noneEnded(context, ["checkout.redirect"]);
  const expected = `a way from the page of the paid checkout to ${redirectURL}`;
  const actual = reply === "yes" ? "as expected, says the person" : "no such way, says the person";
  context.judge("checkout.redirect", reply === "yes", expected, actual, context.responses);
}

export const checks: Check[] = [
  {
    name: "Customer is led back to redirectURL",
    ids: ["checkout.redirect"],
    effect: "moves-money",
    needs: ["finish-or-person"],
    async run(context) {
      const redirectURL = `https://${siteOf(context)}/orders/${context.fresh()}?step=done&item=2#top`;
      const created = await startCheckout(context, checkoutBody(context, { redirectURL }));
      const link = pageLink(created, [redirectURL]);
      if (context.person && !hasControl(context.options, "finish")) return askForRedirect(context, link, redirectURL);
      if (!(await ended(context, created, "success"))) return noneEnded(context, this.ids);
      const { response, address } = await returnToMerchant(context, link);
      const { pathname, hash } = new URL(redirectURL);
      const led =
        address?.pathname === pathname &&
        address.hash === hash &&
        address.searchParams.get("step") === "done" &&
        address.searchParams.get("item") === "2";
      const expected = `a redirect, refresh or link from the page of the paid checkout to ${redirectURL}`;
      const actual = address?.href ?? `no way to the merchant; the page: ${describeResponse(response)}`;
      context.judge("checkout.redirect", led, expected, actual, context.responses);
    },
  },
  {
    name: "Customer returns to redirectURL with the outcome",
    ids: ["redirect.parameters"],
    effect: "moves-money",
    needs: ["finish"],
    async run(context) {
      for (const outcome of ["success", "failed", "cancelled"]) {
        const own = context.fresh();
        const redirectURL = `https://${siteOf(context)}/orders/1?step=done&status=forged&a=1&a=2#top`;
        const made = await started(context, { redirectURL, reference: own });
        const link = pageLink(made.response, [redirectURL]);
        await finishCheckout(context, made.reference, outcome);
        const { response, address } = await returnToMerchant(context, link);
        const query = address?.searchParams;
        const given = [query?.getAll("reference"), query?.getAll("merchantsReference"), query?.getAll("status")];
        const set = JSON.stringify(given) === JSON.stringify([[made.reference], [own], [outcome]]);
        const kept =
          query?.get("step") === "done" && query.getAll("a").join() === "1,2" && address?.pathname === "/orders/1";
        const expected = `303 to redirectURL with its query kept, and reference, merchantsReference and status ${outcome} once each`;
        const actual = `${response.status ?? "no response"}, Location: ${address?.href ?? "none to the merchant"}`;
        context.judge("redirect.parameters", response.status === 303 && set && kept, expected, actual, response);
      }
    },
  },
];
