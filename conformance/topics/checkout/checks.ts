// Checks checkouts, their payment pages, and the way back to the merchant (§1, §2.4, §4.3, D3, D6, D10).
import { exceeded } from "../../allowances/table.ts";
import { judges, type Context, given, Prerequisite } from "../../check.ts";
import { commonPairs, pairOf } from "../../generate/countries.ts";
import { type Planned, planOf } from "../../generate/plan.ts";
import { hasControl } from "../../run-options.ts";
import { finishAny, ended, follow, linkOf, noneEnded, pageLink, referencesOf, shapeOf } from "../../steps/checkouts.ts";
import { started } from "../../steps/records.ts";
import { verifyCheckout, startCheckout, startInvalidCheckout } from "../../steps/requests.ts";
import { expectStatus, same } from "../../steps/expect.ts";
import { asJson, type Body, checkoutBody, siteOf, someAddress } from "../../steps/bodies.ts";
import { is4xx, leavesOf } from "../../steps/responses.ts";
import { dataOf, isAccepted, describeResponse, type TargetResponse } from "../../target/exchange.ts";
import { finishCheckout } from "../../steps/sandbox-controls.ts";
import { several } from "../../steps/several.ts";
import { textOf } from "../../target/values.ts";
import { fieldsOf, send } from "../inputs/checks.ts";
import { bodiesOf } from "../json/checks.ts";

/** Creates a checkout that a check builds on. Throws `Prerequisite` if the target does not accept it. */
async function accepted(context: Context, over: Record<string, unknown> = {}): Promise<TargetResponse> {
  const response = await startCheckout(context, checkoutBody(context, over));
  given(isAccepted(response), "a 2xx for a valid checkout", response);
  return response;
}

const concurrency = 12;
const outcomes = ["success", "failed", "cancelled", undefined];
const acceptedId = "checkout.optional-fields";
const recordId = "checkout-record.agrees";
const repeatId = "checkout-request.reference-unique";

type Made = { planned: Planned; body: Body; response: TargetResponse };

/**
 * Creates a checkout, with a redirectURL if the planned amount is round. A target that refuses it must accept a checkout
 * with usual values and the same optional fields.
 */
async function create(context: Context, planned: Planned): Promise<Made> {
  const { form, digits } = planned.conditions;
  const { amount, country, currency, webhookURL, reference } = fieldsOf(context, planned);
  const redirectURL = digits.round ? `https://${siteOf(context)}/orders/1?step=done&item=2#top` : undefined;
  const named = context.options.profile === "extended" ? { reference } : {};
  const body: Body = { amount, country, currency, webhookURL, redirectURL, ...named };
  const response = await send(context, form, body, startCheckout);
  if (isAccepted(response)) return { planned, body, response };
  const usual = checkoutBody(context, { webhookURL: webhookURL && someAddress(context), redirectURL, ...named });
  const again = is4xx(response) ? await startCheckout(context, usual) : response;
  const fields = Object.keys(JSON.parse(JSON.stringify(usual)) as Body);
  expectStatus(context, acceptedId, again, "2xx", `for ${fields.join(", ")}`);
  return { planned, body: usual, response: again };
}

/** Judges that a checkout's record has the values of its request and of its response. */
async function judgeRecord(context: Context, { body, response }: Made, outcome: Body) {
  const { url: _, ...created } = dataOf(response);
  const { reference: merchantsReference, webhookURL, redirectURL, ...asked } = body;
  const addresses = { ...(webhookURL ? { webhookURL } : {}), ...(redirectURL ? { redirectURL } : {}) };
  const expected: Body = { ...created, ...asked, ...addresses, merchantsReference, ...outcome };
  const found = await verifyCheckout(context, textOf(created["reference"]));
  const actual = Object.fromEntries(Object.keys(expected).map((name) => [name, dataOf(found)[name]]));
  same(context, recordId, "record", actual, expected, [response, found]);
}

/** Judges that the reference of a checkout cannot be used again, and that the refusal names the checkout. */
async function judgeRepeat(context: Context, { planned, body, response }: Made) {
  const { repeatForm } = planned.conditions;
  const again = await send(context, repeatForm, { ...body, amount: 99 }, startInvalidCheckout);
  const { location = "missing" } = again.headers;
  const ok = again.status === 409 && location.endsWith(`/v1/checkouts/${textOf(dataOf(response)["reference"])}`);
  const expected = `409 with the checkout's Location for a duplicate reference, as ${repeatForm.what}`;
  context.judge(repeatId, ok, expected, `${describeResponse(again)}, Location: ${location}`, again);
}

/** An optional separator between groups of three digits, as in 1,234 and 1 234. */
const separator = "[\\s.,'’]?";
const number = "\\d(?:[\\d\\s.,'’]*\\d)?";

/** Names and signs of the currencies of the common pairs. */
const signs: Record<string, string> = { XOF: "XOF|F?\\s?CFA", NGN: "NGN|₦", GHS: "GHS|GH[₵¢]", KES: "KES|K[Ss]h" };
const currencies = Object.values(signs).join("|");

/** Returns the text of a page that a person sees. */
const visibleText = (html: string) =>
  html
    .replaceAll(/<(script|style)\b[^]*?<\/\1>/gi, " ")
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/&nbsp;|&#160;|&#8239;|&#xa0;|&#x202f;/gi, " ");

const grouped = (whole: number) => String(whole).replaceAll(/\B(?=(\d{3})+$)/g, separator);

/** Returns a pattern for an amount on a page: divided by 100 or, unless `isDivided`, in the lowest denomination. */
function patternOf(amount: number, isDivided = false): RegExp {
  const cents = amount % 100;
  const fraction = cents === 0 ? "(?:[.,]00?)?" : `[.,]${String(cents).padStart(2, "0")}`;
  const divided = grouped(Math.floor(amount / 100)) + fraction;
  return new RegExp(`(?<![\\d.,])(?:${isDivided ? divided : `${divided}|${grouped(amount)}`})(?![\\d]|[.,]\\d)`);
}

/** Returns the numbers that stand beside the name or sign of a currency, by default of any currency. */
const amountsOn = (text: string, currency = currencies) =>
  [...text.matchAll(new RegExp(`(?:${currency})\\s*(${number})|(${number})\\s*(?:${currency})`, "g"))].map(
    ([, after, before]) => String(after ?? before),
  );

/** Judges the amount on a page. Returns false if the page shows no amount that can be recognised. */
function judgePage(context: Context, body: Record<string, unknown>, created: TargetResponse, page: TargetResponse) {
  const amount = Number(body["amount"]);
  // A page may add the fee in the response to the amount.
  const fees = leavesOf(created.json).flatMap(([name, fee]) => (/fee/i.test(name) && Number(fee) ? [Number(fee)] : []));
  const patterns = [0, ...fees].map((fee) => patternOf(amount + fee));
  const text = visibleText(page.text);
  const shown = amountsOn(text);
  const inCurrency = amountsOn(text, signs[textOf(body["currency"])]);
  const right = (shown.length > 0 ? inCurrency : [text]).some((one) => patterns.some((pattern) => pattern.test(one)));
  if (!right && shown.length === 0) return false;
  const expected = `${(amount / 100).toFixed(2)} ${textOf(body["currency"])} on the page`;
  const actual = right ? "as expected" : shown.join(", ");
  context.judge("checkout.page-amount", right, expected, actual, [created, page]);
  return true;
}

/** Creates a checkout for each common country, with different amounts. */
async function startAll(context: Context) {
  const checkouts = [];
  const { options, limits, random } = context;
  const { largestAmount = Infinity, largestCheckout = Infinity, largestByCurrency = {} } = limits.all;
  for (const { country, currency } of new Set([pairOf(options.recipient), ...commonPairs])) {
    if (exceeded(limits.all, { country, currency }) !== undefined) continue;
    const largest = Math.min(largestAmount, largestCheckout, largestByCurrency[currency] ?? Infinity);
    const most = Math.min(99_999, Math.floor(largest / 100));
    // The amounts are whole hundreds, because a page may show some currencies without decimals.
    const body = checkoutBody(context, { amount: 100 * random(Math.min(1001, most - 20), most), country, currency });
    const created = await startCheckout(context, body);
    const { status = 0 } = created;
    const link = linkOf(created);
    if (status < 300 && link !== undefined) checkouts.push({ body, created, link });
    else if (checkouts.length === 0)
      throw new Prerequisite("a 2xx with a link for a checkout", describeResponse(created), [created]);
  }
  return checkouts;
}

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
  context.judge("checkout.redirect", reply === "yes", expected, actual);
}

export const checks = [
  judges(
    ["checkout.accepted", "checkout.link", "checkout.link-opens", "checkout.page-html"],
    {},
    async (context, id) => {
      const response = await startCheckout(context, checkoutBody(context));
      expectStatus(context, id, response, "2xx", "for a valid checkout");
      const isLinked = linkOf(response) !== undefined;
      context.judge("checkout.link", isLinked, "an http or https URL in the response", response);
      const link = pageLink(response);
      const page = await follow(context, link);
      expectStatus(context, "checkout.link-opens", page, "2xx", `at ${link}`, [response, page]);
      const type = page.headers["content-type"];
      // Browsers recognise a page without a Content-Type by its content.
      const isHtml = type === undefined || /^(text\/html|application\/xhtml\+xml)\s*(;|$)/i.test(type);
      context.judge("checkout.page-html", isHtml, "Content-Type text/html", `Content-Type ${type ?? "missing"}`, page);
    },
  ),
  judges("checkout.reference", {}, async (context, id) => {
    // The requests are equal, so that the check notices a reference that is derived from their values.
    const body = checkoutBody(context);
    const first = await accepted(context, body);
    const second = referencesOf(await accepted(context, body));
    const distinct = referencesOf(first).filter((text) => !second.includes(text));
    context.judge(id, distinct.length > 0, "a reference that differs from the other checkout's reference", first);
  }),
  judges("checkout.malformed-refused", {}, async (context, id) => {
    for (const [what, body] of [...bodiesOf(checkoutBody(context)), ["an empty object", "{}"] as const])
      expectStatus(context, id, await startInvalidCheckout(context, undefined, asJson(body)), "4xx", `for ${what}`);
    const headers = { "content-type": "application/json", "content-length": "0" };
    expectStatus(context, id, await startInvalidCheckout(context, undefined, { headers }), "4xx", "for no body");
  }),
  judges("checkout.response-body", {}, async (context, id) => {
    const response = await accepted(context);
    context.observe(id, "status", response.status);
    context.observe(id, "fields", shapeOf(response.json));
  }),

  judges([acceptedId, recordId, repeatId], { phase: "opening" }, async (context) => {
    const created = await several(planOf(context.options), concurrency, (planned) => create(context, planned));
    const all = created.filter(({ response }) => isAccepted(response) && linkOf(response) !== undefined);
    given(all.length > 0, "a 2xx with a link for a checkout", created[0]!.response);
    context.judge(acceptedId, true, "2xx", `2xx for ${all.length} checkouts`, all[0]!.response);
    await several([...all.entries()], concurrency, async ([index, each]) => {
      const outcome = outcomes[index % outcomes.length];
      const isEnded = outcome !== undefined && (await finishAny(context, each.response, outcome));
      if (context.options.profile === "core") return;
      await judgeRecord(context, each, isEnded ? { status: outcome } : {});
      await judgeRepeat(context, each);
    });
  }),

  judges(["checkout.links-differ", "checkout.page-amount"], {}, async (context, id) => {
    const checkouts = await startAll(context);
    const links = checkouts.map(({ link }) => link);
    const differ = new Set(links).size === links.length;
    context.judge(id, differ, "a different link for each checkout", links.join(", "));
    let recognised = false;
    // The pages are opened in reverse order, so that the check notices a page that always shows the latest or the
    // first checkout.
    for (const { body, created, link } of checkouts.toReversed()) {
      if (judgePage(context, body, created, await follow(context, link))) recognised = true;
    }
    if (!recognised) context.notApplicable("checkout.page-amount", "the page shows no amount that can be recognised");
  }),
  judges("money.page-divides", {}, async (context, id) => {
    for (const payee of [
      { country: "CI", currency: "XOF" },
      { country: "KE", currency: "KES" },
    ]) {
      const body = checkoutBody(context, { amount: 123_456_789, ...payee });
      const created = await startCheckout(context, body);
      const page = await context.target.openLink(pageLink(created));
      const amount = Number(body["amount"]);
      const isShown = patternOf(amount, true).test(visibleText(page.text));
      const expected = `${(amount / 100).toFixed(2)} ${payee.currency} on the page`;
      context.judge(id, isShown, expected, ["not shown"], [created, page]);
    }
  }),
  judges("checkout-request.shown-as-text", {}, async (context, id) => {
    const own = context.fresh();
    const { response } = await started(context, { reference: `${own}"><i id=x>` });
    const link = pageLink(response);
    const page = await follow(context, link);
    // The quotation mark would end an attribute's value, so this text is unsafe anywhere but in a script.
    const html = page.text.replaceAll(/<(script|style)\b[^]*?<\/\1>/gi, "");
    if (!html.includes(own)) return context.notApplicable(id, "the page does not show the merchant's reference");
    const ok = !html.includes(`${own}"><i id=x>`);
    context.judge(id, ok, "the reference with its markup escaped", ["markup"], [response, page]);
  }),

  judges("checkout.redirect", { needs: ["finish-or-person"] }, async (context, id) => {
    const redirectURL = `https://${siteOf(context)}/orders/${context.fresh()}?step=done&item=2#top`;
    const created = await startCheckout(context, checkoutBody(context, { redirectURL }));
    const link = pageLink(created, [redirectURL]);
    if (context.person && !hasControl(context.options, "finish")) return askForRedirect(context, link, redirectURL);
    if (!(await ended(context, created, "success"))) return noneEnded(context, [id]);
    const { response, address } = await returnToMerchant(context, link);
    const { pathname, hash } = new URL(redirectURL);
    const led =
      address?.pathname === pathname &&
      address.hash === hash &&
      address.searchParams.get("step") === "done" &&
      address.searchParams.get("item") === "2";
    const expected = `a redirect, refresh or link from the page of the paid checkout to ${redirectURL}`;
    const actual = address?.href ?? `no way to the merchant; the page: ${describeResponse(response)}`;
    context.judge(id, led, expected, actual);
  }),
  judges("redirect.parameters", { needs: ["finish"] }, async (context, id) => {
    for (const outcome of ["success", "failed", "cancelled"]) {
      const fresh = context.fresh();
      const redirectURL = `https://${siteOf(context)}/orders/1?step=done&status=forged&a=1&a=2#top`;
      const checkout = await started(context, { redirectURL, reference: fresh });
      const link = pageLink(checkout.response, [redirectURL]);
      await finishCheckout(context, checkout.reference, outcome);
      const { response, address } = await returnToMerchant(context, link);
      const query = address?.searchParams;
      const parameters = [query?.getAll("reference"), query?.getAll("merchantsReference"), query?.getAll("status")];
      const set = JSON.stringify(parameters) === JSON.stringify([[checkout.reference], [fresh], [outcome]]);
      const kept =
        query?.get("step") === "done" && query.getAll("a").join() === "1,2" && address?.pathname === "/orders/1";
      const expected = `303 to redirectURL with its query kept, and reference, merchantsReference and status ${outcome} once each`;
      const actual = `${response.status ?? "no response"}, Location: ${address?.href ?? "none to the merchant"}`;
      context.judge(id, response.status === 303 && set && kept, expected, actual, response);
    }
  }),
];
