// Servers that do not lead the customer back to the merchant (§2.4, D10).
import { type Fault, fault, type Hooks, quickFault } from "../fault.ts";
import { createCheckout, dataOf, fieldsOf, html, isOf, withHeader } from "../ways.ts";

/** Changes the address to which the payment page redirects the customer. */
const returns = (change: (address: URL) => string): Hooks => ({
  async handle(call, ask) {
    const reply = await ask(call);
    const { location } = reply?.headers ?? {};
    if (!reply || !location?.startsWith("http") || !call.path.startsWith("/checkouts/")) return reply;
    return withHeader(reply, "location", change(new URL(location)));
  },
});
const losing = (name: string) => (address: URL) => {
  address.searchParams.delete(name);
  return address.href;
};

export const faults: readonly Fault[] = [
  fault(
    "return-only-with-reference",
    "A checkout without the merchant's own reference never returns.",
    "checkout.redirect",
    () => {
      const unnamed = new Set<string>();
      return {
        async handle(call, ask) {
          const reply = await ask(call);
          if (reply && isOf(call, createCheckout) && fieldsOf(call.body)?.["reference"] === undefined)
            unnamed.add(String(dataOf(reply)["reference"]));
          return call.path.startsWith("/checkouts/") && unnamed.has(call.path.split("/")[2]?.split("?")[0] ?? "")
            ? { ...html(200), text: "<p>Paid.</p>" }
            : reply;
        },
      };
    },
  ),
  fault(
    "return-to-home",
    "The customer returns to the home page of the merchant instead of redirectURL.",
    "checkout.redirect redirect.parameters",
    () => returns((address) => `${address.origin}/${address.search}`),
  ),
  quickFault("return-without-status", "The return address has no status.", "redirect.parameters", () =>
    returns(losing("status")),
  ),
  fault("return-without-reference", "The return address has no reference.", "redirect.parameters", () =>
    returns(losing("reference")),
  ),
  fault("return-without-merchants", "The return address has no merchantsReference.", "redirect.parameters", () =>
    returns(losing("merchantsReference")),
  ),
  fault(
    "return-without-query",
    "The return address loses the merchant's own query parameters.",
    "redirect.parameters",
    () =>
      returns((address) => {
        const kept = ["reference", "merchantsReference", "status"].map((name) => [
          name,
          address.searchParams.get(name) ?? "",
        ]);
        address.search = String(new URLSearchParams(kept));
        return address.href;
      }),
  ),
  fault("return-wrong-status", "The return address has the wrong status.", "redirect.parameters", () =>
    returns((address) => {
      address.searchParams.set("status", address.searchParams.get("status") === "success" ? "failed" : "success");
      return address.href;
    }),
  ),
  fault(
    "return-cut-at-ampersand",
    "The return address is cut at the first ampersand of redirectURL.",
    "checkout.redirect redirect.parameters",
    () =>
      returns((address) => {
        for (const name of ["item", "a"]) address.searchParams.delete(name);
        return address.href;
      }),
  ),
  fault(
    "return-after-fragment",
    "The outcome is appended after the fragment of redirectURL.",
    "redirect.parameters",
    () =>
      returns((address) =>
        address.hash === "" ? address.href : `${address.origin}${address.pathname}${address.hash}${address.search}`,
      ),
  ),
  fault("return-302", "The return to the merchant is a 302.", "redirect.parameters", () => ({
    async handle(call, ask) {
      const reply = await ask(call);
      return reply?.headers.location?.startsWith("http") ? { ...reply, status: 302 } : reply;
    },
  })),
];
