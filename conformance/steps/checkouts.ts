// Reads the responses to checkouts. The interface does not define their shape, so the whole response is searched for the
// link and the reference.
// Ends checkouts: with the sandbox control, or by a person if the target has no such control (`--interactive`).
import { type Context, given } from "../check.ts";
import { hasControl } from "../run-options.ts";
import { type TargetResponse, dataOf, isAccepted } from "../target/exchange.ts";
import { textsIn } from "./responses.ts";
import { verifyCheckout } from "./requests.ts";
import { finishCheckout } from "./sandbox-controls.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";

const isLink = (text: string) => /^https?:\/\/[^/]/i.test(text) && URL.canParse(text);

/** Returns the URLs in the response that are not in `sent`, the values of the request. */
export const linksOf = (response: TargetResponse, sent: readonly unknown[]) =>
  textsIn(response.json).flatMap(([, text]) => (isLink(text) && !sent.includes(text) ? [text] : []));

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
  const all = textsIn(response.json).filter(([, text]) => !isLink(text) && text !== "");
  const named = all.filter(([name]) => /ref|^id$|_id$|Id$|checkout|token|session/i.test(name));
  return (named.length > 0 ? named : all).map(([, text]) => text);
}

/** Replaces every value in a JSON value with the name of its type. */
export const shapeOf = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return value === null ? "null" : typeof value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shapeOf(inner)]));
};

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

const tasks: Record<string, string> = {
  success: "Open this checkout in a browser, pay it, and wait for the result:",
  failed: "Open this checkout in a browser, let its payment fail, and wait for the result:",
  cancelled: "Open this checkout in a browser, cancel it, and wait for the result:",
};

/**
 * Finishes a checkout when it is not known which string in the create response is its reference. Tries each candidate.
 * @returns the reference; undefined without the control, or if the target accepted none of the candidates
 */
export async function finishAny(context: Context, created: TargetResponse, outcome: string) {
  if (!hasControl(context.options, "finish")) return undefined;
  for (const reference of referencesOf(created)) {
    if (isAccepted(await finishCheckout(context, reference, outcome))) return reference;
  }
  return undefined;
}

/** Ends a checkout with this outcome. Returns false if that is not possible, or if the person skipped it. */
export async function ended(context: Context, created: TargetResponse, outcome: string): Promise<boolean> {
  if (hasControl(context.options, "finish")) return (await finishAny(context, created, outcome)) !== undefined;
  // A response may repeat the addresses of the request, which are not the address of the page.
  const sent = Object.values((created.request.json ?? {}) as object).map(String);
  const link = linkOf(created, sent);
  if (!context.person || link === undefined) return false;
  return (await context.person({ link, what: tasks[outcome] ?? "" })) === "yes";
}

/** Returns the status in a checkout's record; undefined if the target has no record under any known reference. */
export async function checkoutStatus(context: Context, created: TargetResponse): Promise<unknown> {
  for (const reference of referencesOf(created)) {
    const response = await verifyCheckout(context, reference);
    if (response.status === 200) return dataOf(response)["status"];
  }
  return undefined;
}

/** Records the reason why no checkout could be ended. */
export function noneEnded(context: Context, ids: readonly RequirementId[]) {
  if (context.person) context.notApplicable(ids, "the person finished no checkout", "caller", "--interactive");
  else context.notApplicable(ids, "the suite cannot finish the target's checkouts");
}
