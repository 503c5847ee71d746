import type { Checkout } from "../../domain/checkouts.ts";

/**
 * Returns the URL that the customer returns to (D10): the merchant's `redirectURL` with `reference`,
 * `merchantsReference` and `status` set. The rest of its query and its fragment are preserved exactly. Merchants must
 * not trust these parameters, since a customer can forge them; only a webhook or a verify is authoritative.
 */
export function returnAddress(redirectURL: string, { reference, merchantsReference, status }: Checkout): string {
  const address = new URL(redirectURL);
  const own = { reference, merchantsReference, status };
  const kept = address.search
    .slice(1)
    .split("&")
    .filter((parameter) => parameter !== "" && !Object.hasOwn(own, nameOf(parameter)));
  const added = Object.entries(own).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  // The setter drops one leading question mark, which could be part of the merchant's query.
  address.search = `?${[...kept, ...added].join("&")}`;
  return address.href;
}

/** The parameter's decoded name: `%73tatus` is `status`. */
function nameOf(parameter: string): string {
  // The constructor drops one leading question mark, too.
  const [name = ""] = new URLSearchParams(`?${parameter}`).keys();
  return name;
}
