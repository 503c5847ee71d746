// Servers with faults in checkouts, in their payment pages and in the customer's return (§2.4, §4.3, D6, D10).
import { alone, also, forEach, type Call, type Faults, type How, type Reply } from "../../broken/fault.ts";
import { asJson, fieldsOf, isPage, pathOf, withFields, without, type Fields } from "../../broken/calls.ts";
import { data, handles, pages, refuses, responses, statuses } from "../../broken/changes.ts";
import { dataOf, isAccepted, withBody, withHeader } from "../../broken/replies.ts";

const created = (change: (created: Fields) => unknown) => data("createCheckout", change);
const page = (change: (text: string) => string) => pages((reply) => ({ ...reply, text: change(reply.text) }));
const amounts = (change: (digits: string) => string) =>
  page((text) => text.replaceAll(/\d[\d,\u00a0\u202f]*\.\d\d/g, change));

/** Pays a checkout whose payment page is opened by a matching request. */
const pays = (fits: (call: Call) => boolean) =>
  also(
    "checkout-states.opened-stays-pending",
    handles(async (call, ask, world) => {
      const reply = await ask(call);
      const path = `/sandbox${pathOf(call)}/finish`;
      const finish = { method: "POST", path, headers: { "x-api-key": world.key }, body: Buffer.alloc(0) };
      if (isPage(call) && fits(call)) await ask(asJson(withFields(finish, { outcome: "success" })));
      return reply;
    }),
  );

/** Changes the address to which the payment page redirects the customer. */
const returns = (change: (address: URL) => string): How =>
  pages((reply) => {
    const { location } = reply.headers;
    return location?.startsWith("http") ? withHeader(reply, "location", change(new URL(location))) : reply;
  });
const losing =
  (...names: string[]) =>
  (address: URL) => {
    for (const name of names) address.searchParams.delete(name);
    return address.href;
  };
/** Returns true if the body is not a JSON object. */
const isMalformed = ({ body }: Call) => body.length > 0 && fieldsOf(body) === undefined;

export const faults: Faults = {
  "checkout.accepted: A checkout without redirectURL is refused.": also(
    "checkout.optional-fields",
    refuses(({ redirectURL }) => redirectURL === undefined, 422, "createCheckout"),
  ),
  "checkout.accepted: Creating a checkout returns a redirect to the payment page.": also(
    "answers.exact",
    statuses("createCheckout", 200, 303),
  ),
  "checkout.link: The checkout response has no link.": created((checkout) => without(checkout, "url")),
  "checkout.link: The link to the payment page is relative.": created(({ url, ...checkout }) => ({
    ...checkout,
    url: new URL(String(url)).pathname,
  })),
  "checkout.link-opens: The link leads to a page that does not exist.": created(({ url, ...checkout }) => ({
    ...checkout,
    url: `${String(url)}0`,
  })),
  "checkout.link-pays-nothing: Opening the link to the payment page pays the checkout.": alone(
    pays(({ method }) => method === "GET"),
  ),
  "checkout.link-pays-nothing: A messenger's preview of the link pays the checkout.": pays(({ headers }) =>
    /WhatsApp|facebook/.test(String(headers["user-agent"])),
  ),
  "checkout.links-differ: All checkouts share one link.": () => {
    let first: unknown;
    return created((checkout) => ({ ...checkout, url: (first ??= checkout["url"]) }));
  },
  "checkout.page-html: Browsers download the payment page instead of showing it.": pages((reply) =>
    withHeader(reply, "content-type", "application/octet-stream"),
  ),
  "checkout.page-amount: Every payment page is the first payment page that was opened.": () => {
    let first: Reply | undefined;
    return pages((reply) => (first ??= reply));
  },
  "checkout.page-amount: The payment page shows ten times the amount.": alone(
    amounts((shown) => `${shown.slice(0, -3)}0${shown.slice(-3)}`),
  ),
  "checkout.reference: The checkout response has no reference.": created(({ url }) => ({ url })),
  "checkout.response-body: The checkout response has no envelope.": also(
    "checkout-body.shape",
    responses("createCheckout", (reply) => (isAccepted(reply) ? withBody(reply, dataOf(reply)) : reply)),
  ),
  "checkout.malformed-refused: A malformed checkout body returns 500.": refuses(
    (_, call) => isMalformed(call),
    500,
    "createCheckout",
  ),

  "checkout.error-statuses: Every invalid checkout returns 422.": statuses("createCheckout", 400, 422),
  "checkout.states: A successful checkout has the status paid.": also(
    "checkout-states.outcomes",
    data("verifyCheckout", (record) => (record["status"] === "success" ? { ...record, status: "paid" } : record)),
  ),
  "checkout.redirect: The return address is cut at the first ampersand of redirectURL.": also(
    "redirect.parameters",
    returns(losing("item", "a")),
  ),
  "checkout.redirect: The customer returns to the home page of the merchant instead of redirectURL.": also(
    "redirect.parameters",
    returns((address) => `${address.origin}/${address.search}`),
  ),
  ...forEach(["reference", "merchantsReference", "status"], (name) => [
    `redirect.parameters: The return address has no ${name}.`,
    returns(losing(name)),
  ]),
  "redirect.parameters: The outcome is appended after the fragment of redirectURL.": returns(
    ({ href, hash, origin, pathname, search }) => (hash === "" ? href : origin + pathname + hash + search),
  ),
  "money.page-divides: The payment page shows the amount undivided, in the lowest denomination.": page((text) =>
    text.replaceAll(/([\d\u202f\u00a0,]+)\.(\d\d)/g, "$1$2"),
  ),
};
