// Checks that each checkout has its own payment page, which shows the amount that was asked for (§1, §4.3), and text as
// text (D6).
import { describeResponse, Prerequisite, type Check, type Context } from "../../check.ts";
import { exceeded } from "../../allowances/table.ts";
import { commonPairs, pairOf } from "../../generate/countries.ts";
import type { TargetResponse } from "../../target/exchange.ts";
import { started } from "../checkout-request/checkout-record.ts";
import { follow, linkOf, pageLink } from "./checkout.ts";
import { holds } from "../../steps/expect.ts";
import { checkoutBody, startCheckout } from "../../steps/requests.ts";
import { textOf } from "../../target/values.ts";

/** Separators between groups of three digits, such as 1,234 and 1 234. */
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

/** Returns a pattern for an amount as a person may see it: divided by 100 or, in core, in the lowest denomination. */
function patternOf(amount: number): RegExp {
  const cents = amount % 100;
  const fraction = cents === 0 ? "(?:[.,]00?)?" : `[.,]${String(cents).padStart(2, "0")}`;
  return new RegExp(
    `(?<![\\d.,])(?:${grouped(Math.floor(amount / 100))}${fraction}|${grouped(amount)})(?![\\d]|[.,]\\d)`,
  );
}

/** Returns the numbers that stand beside the name or sign of a currency, by default of any currency. */
const amountsOn = (text: string, currency = currencies) =>
  [...text.matchAll(new RegExp(`(?:${currency})\\s*(${number})|(${number})\\s*(?:${currency})`, "g"))].map(
    ([, after, before]) => String(after ?? before),
  );

/** Returns the fees in a response, which a page may add to the amount. */
function feesIn(value: unknown, name = ""): number[] {
  if (typeof value === "number") return /fee/i.test(name) ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => feesIn(inner, key));
}

/** Judges a page if it shows an amount that can be recognised. Returns false if it shows none. */
function judgePage(context: Context, body: Record<string, unknown>, created: TargetResponse, page: TargetResponse) {
  const amount = Number(body["amount"]);
  const patterns = [amount, ...feesIn(created.json).map((fee) => amount + fee)].map(patternOf);
  const text = visibleText(page.text);
  const shown = amountsOn(text);
  const own = amountsOn(text, signs[textOf(body["currency"])]);
  const right = (shown.length > 0 ? own : [text]).some((one) => patterns.some((pattern) => pattern.test(one)));
  if (!right && shown.length === 0) return false;
  const expected = `${(amount / 100).toFixed(2)} ${textOf(body["currency"])} on the page`;
  const actual = right ? "as expected" : shown.join(", ");
  context.judge("checkout.page-amount", right, expected, actual, [created, page]);
  return true;
}

/** Creates a checkout for each common country, with different amounts. */
async function startAll(context: Context) {
  const made = [];
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
    if (status < 300 && link !== undefined) made.push({ body, created, link });
    else if (made.length === 0)
      throw new Prerequisite("a 2xx with a link for a checkout", describeResponse(created), [created]);
  }
  return made;
}

export const checks: Check[] = [
  {
    name: "Each checkout has its own page with its own amount",
    ids: ["checkout.links-differ", "checkout.page-amount"],
    effect: "moves-money",
    async run(context) {
      const made = await startAll(context);
      const links = made.map(({ link }) => link);
      const differ = new Set(links).size === links.length;
      const expected = "a different link for each checkout";
      context.judge("checkout.links-differ", differ, expected, links.join(", "), context.responses);
      let recognised = false;
      // The pages are opened in reverse order, so that the check notices a page that always shows the latest or the
      // first checkout.
      for (const { body, created, link } of made.toReversed()) {
        if (judgePage(context, body, created, await follow(context, link))) recognised = true;
      }
      if (!recognised) context.notApplicable("checkout.page-amount", "the page shows no amount that can be recognised");
    },
  },
  {
    name: "Payment page shows a reference with markup as text",
    ids: ["checkout-request.shown-as-text"],
    effect: "moves-money",
    async run(context) {
      const id = "checkout-request.shown-as-text";
      const own = context.fresh();
      const { response } = await started(context, { reference: `${own}"><i id=x>` });
      const link = pageLink(response);
      const page = await follow(context, link);
      // The quotation mark would end an attribute's value, so this text is unsafe anywhere but in a script.
      const html = page.text.replaceAll(/<(script|style)\b[^]*?<\/\1>/gi, "");
      if (!html.includes(own)) return context.notApplicable(id, "the page does not show the merchant's reference");
      const ok = !html.includes(`${own}"><i id=x>`);
      holds(context, id, ok, "the reference with its markup escaped", "markup", [response, page]);
    },
  },
];
