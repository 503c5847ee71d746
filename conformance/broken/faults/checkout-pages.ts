// Servers whose payment pages belong to another checkout, show another amount (§1, §4.3) or do not escape text (D6).
import { type Fault, caughtOnlyBy, fault, type Hooks, type How, type Reply } from "../fault.ts";
import { createCheckout, dataOf, fieldsOf, isAccepted, isOf, withBody, type Fields } from "../ways.ts";

const isPage = (path: string) => path.startsWith("/checkouts/");
const pages = (change: (reply: Reply) => Reply): Hooks => ({
  async handle(call, ask) {
    const reply = await ask(call);
    return reply && isPage(call.path) ? change(reply) : reply;
  },
});
const amounts = (change: (digits: string) => string): Hooks =>
  pages((reply) => ({ ...reply, text: reply.text.replaceAll(/\d[\d,\u00a0\u202f]*\.\d\d/g, change) }));

/** Gives a checkout the link of an earlier checkout if `key` returns the same text for both. */
const sharesLink = (key: (fields: Fields) => string): Hooks => {
  const links = new Map<string, unknown>();
  return {
    async handle(call, ask) {
      const reply = await ask(call);
      if (!reply || !isOf(call, createCheckout) || !isAccepted(reply)) return reply;
      const name = key(fieldsOf(call.body) ?? {});
      const data = dataOf(reply);
      const url = links.get(name) ?? data["url"];
      links.set(name, url);
      return withBody(reply, { statusCode: 200, data: { ...data, url } });
    },
  };
};

/** Shows every person the same page: the first page that was opened, or the page of the latest checkout. */
const samePage: How = () => {
  let first: Reply | undefined;
  return pages((reply) => (first ??= reply));
};
const latestPage: How = () => {
  let latest: string | undefined;
  return {
    async handle(call, ask) {
      if (isPage(call.path) && latest !== undefined) return ask({ ...call, path: latest });
      const reply = await ask(call);
      if (reply && isOf(call, createCheckout) && isAccepted(reply))
        latest = new URL(String(dataOf(reply)["url"])).pathname;
      return reply;
    },
  };
};

export const faults: readonly Fault[] = [
  fault("link-shared-by-all", "All checkouts have the link of the first checkout.", "checkout.links-differ", () =>
    sharesLink(() => "all"),
  ),
  fault("link-shared-by-size", "Checkouts of more than 1,000.00 share one link.", "checkout.links-differ", () =>
    sharesLink(({ amount, currency }) =>
      Number(amount) > 100_000 ? "large" : `${String(amount)} ${String(currency)}`,
    ),
  ),
  fault(
    "page-of-first",
    "Every payment page is the first payment page that was opened.",
    "checkout.page-amount",
    samePage,
  ),
  fault("page-of-latest", "Every link opens the page of the latest checkout.", "checkout.page-amount", latestPage),
  caughtOnlyBy(
    "checkout.page-amount",
    fault("page-times-ten", "The payment page shows ten times the amount.", "checkout.page-amount", () =>
      amounts((shown) => `${shown.slice(0, -3)}0${shown.slice(-3)}`),
    ),
  ),
  fault("page-in-naira", "Every payment page shows its amount in naira.", "checkout.page-amount", () =>
    pages((reply) => ({ ...reply, text: reply.text.replaceAll(/XOF|GHS|KES/g, "NGN") })),
  ),
  fault(
    "page-without-thousands",
    "The payment page shows only the digits after the first separator.",
    "checkout.page-amount",
    () => amounts((shown) => shown.split(/[,\u00a0\u202f]/).at(-1) ?? shown),
  ),
  fault(
    "page-unescaped",
    "The payment page contains the merchant's reference without HTML escapes.",
    "checkout-request.shown-as-text",
    () =>
      pages((reply) => ({
        ...reply,
        text: reply.text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"'),
      })),
  ),
];
