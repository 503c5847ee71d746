import type { Checkout } from "../../domain/storage.ts";

/**
 * Where the customer goes back to (D10): the merchant's address with `reference`, `merchantsReference` and `status` set.
 * The rest of its query stays character by character, and so does a fragment. The merchant must not trust any of it:
 * whoever has the browser can write such an address; a webhook or a verify tells what is true.
 */
export function returnAddress(redirectURL: string, { reference, merchantsReference, status }: Checkout): string {
  const address = new URL(redirectURL);
  const own = { reference, merchantsReference, status };
  const kept = address.search
    .slice(1)
    .split("&")
    .filter((parameter) => parameter !== "" && !Object.hasOwn(own, nameOf(parameter)));
  const added = Object.entries(own).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  address.search = [...kept, ...added].join("&");
  return address.href;
}

/** The name as a server would decode it: `%73tatus` is `status` too. */
function nameOf(parameter: string): string {
  const [name = ""] = new URLSearchParams(parameter).keys();
  return name;
}
