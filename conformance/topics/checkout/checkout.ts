// Checks checkouts (§2.4, §4.3). The interface does not define the shape of the response, so these checks search the
// whole response for the link and the reference.
import { given, type Check, type Context } from "../../check.ts";
import type { TargetResponse } from "../../target/exchange.ts";
import { expectStatus, shows } from "../../steps/expect.ts";
import { bodiesOf } from "../json/json.ts";
import { checkoutBody, is2xx, startCheckout, startInvalidCheckout } from "../../steps/requests.ts";

/** Returns every string in a JSON value with the name of its field. */
function texts(value: unknown, name = ""): [name: string, text: string][] {
  if (typeof value === "string") return [[name, value]];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => texts(inner, key));
}

const isLink = (text: string) => /^https?:\/\/[^/]/i.test(text) && URL.canParse(text);

/** Returns the URLs in the response that are not in `sent`, the values of the request. */
export const linksOf = (response: TargetResponse, sent: readonly unknown[]) =>
  texts(response.json).flatMap(([, text]) => (isLink(text) && !sent.includes(text) ? [text] : []));

/** Returns the link to the payment page: the first URL in the response that is not in `sent`, the request's URLs. */
export const linkOf = (response: TargetResponse, sent: readonly string[] = []) => linksOf(response, sent)[0];

/** Like `linkOf`, but throws `Prerequisite` if the response has no link. */
export function pageLink(response: TargetResponse, sent: readonly string[] = []): string {
  const link = linkOf(response, sent);
  given(link !== undefined, "a link to the payment page", response);
  return link;
}

/**
 * Returns the strings in fields with a typical name for a reference; without such a field, all strings except links.
 */
export function referencesOf(response: TargetResponse): string[] {
  const all = texts(response.json).filter(([, text]) => !isLink(text) && text !== "");
  const named = all.filter(([name]) => /ref|^id$|_id$|Id$|checkout|token|session/i.test(name));
  return (named.length > 0 ? named : all).map(([, text]) => text);
}

/** Creates a checkout that a check builds on. Throws `Prerequisite` if the target does not accept it. */
async function started(context: Context, over: Record<string, unknown> = {}): Promise<TargetResponse> {
  const response = await startCheckout(context, checkoutBody(context, over));
  given(is2xx(response), "a 2xx for a valid checkout", response);
  return response;
}

/** Replaces every value in a JSON value with the name of its type. */
export const shapeOf = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return value === null ? "null" : typeof value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shapeOf(inner)]));
};

export const checks: Check[] = [
  {
    name: "Checkout with the required fields is accepted",
    ids: ["checkout.accepted", "checkout.link", "checkout.link-opens", "checkout.page-html"],
    effect: "moves-money",
    async run(context) {
      const response = await startCheckout(context, checkoutBody(context));
      expectStatus(context, "checkout.accepted", response, "2xx", "for a valid checkout");
      const isLinked = linkOf(response) !== undefined;
      shows(context, "checkout.link", response, isLinked, "an http or https URL in the response");
      const link = pageLink(response);
      const page = await follow(context, link);
      expectStatus(context, "checkout.link-opens", page, "2xx", `at ${link}`, [response, page]);
      const type = page.headers["content-type"];
      // Browsers recognise a page without a Content-Type by its content.
      const isHtml = type === undefined || /^(text\/html|application\/xhtml\+xml)\s*(;|$)/i.test(type);
      context.judge("checkout.page-html", isHtml, "Content-Type text/html", `Content-Type ${type ?? "missing"}`, page);
    },
  },
  {
    name: "Checkout references are unique",
    ids: ["checkout.reference"],
    effect: "moves-money",
    async run(context) {
      // The requests are equal, so that the check notices a reference that is derived from their values.
      const body = checkoutBody(context);
      const first = await started(context, body);
      const second = referencesOf(await started(context, body));
      const own = referencesOf(first).filter((text) => !second.includes(text));
      const expected = "a reference that differs from the other checkout's reference";
      shows(context, "checkout.reference", first, own.length > 0, expected);
    },
  },
  {
    name: "Malformed checkout is refused",
    ids: ["checkout.malformed-refused"],
    effect: "must-be-rejected",
    async run(context) {
      const others = [
        ["no body", undefined],
        ["an empty object", "{}"],
      ] as const;
      for (const [what, body] of [...bodiesOf(checkoutBody(context)), ...others]) {
        const headers = {
          "content-type": "application/json",
          ...(body === undefined ? { "content-length": "0" } : {}),
        };
        const response = await startInvalidCheckout(context, undefined, { body, headers });
        expectStatus(context, "checkout.malformed-refused", response, "4xx", `for ${what}`);
      }
    },
  },
  {
    name: "Records the response to a checkout",
    ids: ["checkout.response-body"],
    effect: "moves-money",
    async run(context) {
      const response = await started(context);
      context.observe("checkout.response-body", "status", response.status);
      context.observe("checkout.response-body", "fields", shapeOf(response.json));
    },
  },
];

/** Opens a link and follows up to five redirects. Returns the last response. */
export async function follow(context: Context, link: string): Promise<TargetResponse> {
  let url = link;
  for (let hops = 0; ; hops += 1) {
    const response = await context.target.openLink(url);
    const { location } = response.headers;
    const { status = 0 } = response;
    if (location === undefined || status < 300 || status > 399 || hops === 5) return response;
    url = new URL(location, url).href;
  }
}
