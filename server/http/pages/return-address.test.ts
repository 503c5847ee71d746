import { expect, test } from "vitest";
import type { Checkout } from "../../domain/checkouts.ts";
import { returnAddress } from "./return-address.ts";

const checkout: Checkout = {
  id: "0",
  merchantId: "1",
  reference: "CHKABC",
  merchantsReference: "order 7&8/é",
  amount: 1,
  fee: 0,
  country: "CI",
  currency: "XOF",
  locale: "en",
  status: "success",
  createdAt: 0,
  updatedAt: 0,
};
const own = "reference=CHKABC&merchantsReference=order%207%268%2F%C3%A9&status=success";

test.each([
  ["no query", "https://shop.example/thanks", `https://shop.example/thanks?${own}`],
  ["no path", "https://shop.example", `https://shop.example/?${own}`],
  ["an empty query", "https://shop.example/?", `https://shop.example/?${own}`],
  [
    "a query, which is preserved byte for byte",
    "http://shop.example/?a=b%20c+d&flag&a=~",
    `http://shop.example/?a=b%20c+d&flag&a=~&${own}`,
  ],
  [
    "our own parameters, which are replaced",
    "https://shop.example/?status=x&a=1&reference=y&status",
    `https://shop.example/?a=1&${own}`,
  ],
  [
    "our own parameters, percent-encoded",
    "https://shop.example/?%73tatus=x&merchants%52eference=",
    `https://shop.example/?${own}`,
  ],
  [
    "parameters with similar names",
    "https://shop.example/?Status=x&statuses=y",
    `https://shop.example/?Status=x&statuses=y&${own}`,
  ],
  [
    "a question mark at the start of the query",
    "https://shop.example/??a=b&??c",
    `https://shop.example/??a=b&??c&${own}`,
  ],
  [
    "a parameter named ?status, which is not ours",
    "https://shop.example/??status=1&?reference=2",
    `https://shop.example/??status=1&?reference=2&${own}`,
  ],
  [
    "names from Object.prototype",
    "https://shop.example/?toString=1&__proto__=2",
    `https://shop.example/?toString=1&__proto__=2&${own}`,
  ],
  ["a fragment", "https://shop.example/app?a=1#/order/7?b=2", `https://shop.example/app?a=1&${own}#/order/7?b=2`],
  ["a port and an escape", "http://127.0.0.1:8080/caf%C3%A9", `http://127.0.0.1:8080/caf%C3%A9?${own}`],
])("a redirectURL with %s", (_, redirectURL, expected) => {
  expect(returnAddress(redirectURL, checkout)).toBe(expected);
});
