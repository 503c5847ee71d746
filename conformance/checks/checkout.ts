// §2.4, §4.3: checkouts. The interface leaves the answer's shape open; a link and a reference have to be somewhere in it.
import { Prerequisite, describeResponse, type Check, type Context } from "../check.ts";
import type { TargetResponse } from "../target/exchange.ts";
import { checkoutBody, is4xx, someAddress, startCheckout, startInvalidCheckout } from "./requests.ts";

/** Every text in a JSON value, with the name of its field. */
function texts(value: unknown, name = ""): [name: string, text: string][] {
  if (typeof value === "string") return [[name, value]];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => texts(inner, key));
}

const isLink = (text: string) => /^https?:\/\/[^/]/i.test(text) && URL.canParse(text);

/** The link to the payment page: an address in the answer that was not in the request. */
export const linkOf = (response: TargetResponse, sent: readonly string[] = []) =>
  texts(response.json).find(([, text]) => isLink(text) && !sent.includes(text))?.[1];

/** Texts that may be the reference: fields named so, or any text without spaces that is no link and was not sent. */
function referencesOf(response: TargetResponse): string[] {
  const all = texts(response.json).filter(([, text]) => !isLink(text) && text !== "");
  const named = all.filter(([name]) => /ref|^id$|_id$|Id$|checkout|token|session/i.test(name));
  return (named.length > 0 ? named : all).map(([, text]) => text);
}

const isCreated = ({ status = 0 }: TargetResponse) => status >= 200 && status < 300;

/** Creates a checkout that a check builds on. Throws `Prerequisite` when the target does not accept it. */
async function started(context: Context, over: Record<string, unknown> = {}): Promise<TargetResponse> {
  const response = await startCheckout(context, checkoutBody(over));
  if (!isCreated(response)) throw new Prerequisite("a checkout to build on: a 2xx (§4.3)", describeResponse(response));
  return response;
}

const bad: [string, string, unknown][] = [
  ["checkout.types", "amount", "2500"],
  ["checkout.types", "amount", true],
  ["checkout.types", "currency", 952],
  ["checkout.types", "country", ["CI"]],
  ["checkout.types", "webhookURL", 1],
  ["checkout.types", "redirectURL", {}],
];

const bodies: [string, string | undefined][] = [
  ["no body", undefined],
  ["text", "not json"],
  ["an object cut short", '{"amount":2500,'],
  ["null", "null"],
  ["an array", "[]"],
  ["an empty object", "{}"],
];

/** The names and types of a JSON value, without its values. */
export const shapeOf = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return value === null ? "null" : typeof value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shapeOf(inner)]));
};

export const checkoutChecks: Check[] = [
  {
    name: "a checkout with the required fields",
    ids: ["checkout.accepted", "checkout.link", "checkout.link-opens"],
    effect: "moves-money",
    async run(context) {
      const response = await startCheckout(context, checkoutBody());
      context.judge("checkout.accepted", isCreated(response), "a 2xx", describeResponse(response));
      const link = linkOf(response);
      context.judge(
        "checkout.link",
        link !== undefined,
        "an http or https address in the answer",
        describeResponse(response),
      );
      if (link === undefined) throw new Prerequisite("a link to open", describeResponse(response));
      const page = await follow(context, link);
      const { status = 0 } = page;
      context.judge("checkout.link-opens", status >= 200 && status < 300, `a 2xx at ${link}`, describeResponse(page));
    },
  },
  {
    name: "each checkout has a reference of its own",
    ids: ["checkout.reference"],
    effect: "moves-money",
    async run(context) {
      const first = await started(context);
      const second = referencesOf(await started(context));
      const own = referencesOf(first).filter((text) => !second.includes(text));
      context.judge(
        "checkout.reference",
        own.length > 0,
        "a reference, different from that of another checkout",
        describeResponse(first),
      );
    },
  },
  {
    name: "a checkout with and without addresses",
    ids: ["checkout.optional-fields"],
    effect: "moves-money",
    async run(context) {
      const webhookURL = someAddress(context);
      const redirectURL = "https://merchant.example/orders/1?step=done";
      for (const over of [{}, { webhookURL }, { redirectURL }, { webhookURL, redirectURL }]) {
        const response = await startCheckout(context, checkoutBody(over));
        const what = Object.keys(over).join(" and ") || "neither address";
        context.judge(
          "checkout.optional-fields",
          isCreated(response),
          `a 2xx with ${what}`,
          describeResponse(response),
          [response],
        );
      }
    },
  },
  ...["amount", "currency", "country"].map((field): Check => ({
    name: `a checkout without ${field}`,
    ids: [`checkout.${field}-required`],
    effect: "must-be-rejected",
    async run(context) {
      const response = await startInvalidCheckout(context, checkoutBody({ [field]: undefined }));
      context.judge(
        `checkout.${field}-required`,
        is4xx(response),
        `a 4xx without ${field}`,
        describeResponse(response),
      );
    },
  })),
  {
    name: "a checkout whose body is no object",
    ids: ["checkout.malformed-refused"],
    effect: "must-be-rejected",
    async run(context) {
      for (const [what, body] of bodies) {
        const headers = {
          "content-type": "application/json",
          ...(body === undefined ? { "content-length": "0" } : {}),
        };
        const response = await startInvalidCheckout(context, undefined, { body, headers });
        context.judge("checkout.malformed-refused", is4xx(response), `a 4xx to ${what}`, describeResponse(response), [
          response,
        ]);
      }
    },
  },
  {
    name: "a checkout with a field of the wrong type",
    ids: ["checkout.types", "checkout.error-statuses"],
    effect: "must-be-rejected",
    async run(context) {
      const statuses: Record<string, unknown> = {};
      for (const [id, field, value] of bad) {
        const response = await startInvalidCheckout(context, checkoutBody({ [field]: value }));
        const what = `${field} ${JSON.stringify(value)}`;
        context.judge(id, is4xx(response), `a 4xx to ${what}`, describeResponse(response), [response]);
        statuses[what] = response.status ?? "no answer";
      }
      context.observe("checkout.error-statuses", "status by fault", statuses);
    },
  },
  {
    name: "the answer to a checkout",
    ids: ["checkout.response-body"],
    effect: "moves-money",
    async run(context) {
      const response = await started(context);
      context.observe("checkout.response-body", "status", response.status);
      context.observe("checkout.response-body", "fields", shapeOf(response.json));
    },
  },
];

/** Opens a link as a browser does, redirects followed. */
async function follow(context: Context, link: string): Promise<TargetResponse> {
  let url = link;
  for (let hops = 0; ; hops += 1) {
    const response = await context.target.openLink(url);
    const { location } = response.headers;
    const { status = 0 } = response;
    if (location === undefined || status < 300 || status > 399 || hops === 5) return response;
    url = new URL(location, url).href;
  }
}
