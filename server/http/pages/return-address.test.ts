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
  ["no query", "https://shop.example/thanks", "https://shop.example/thanks?OWN"],
  ["no path", "https://shop.example", "https://shop.example/?OWN"],
  ["an empty query", "https://shop.example/?", "https://shop.example/?OWN"],
  [
    "a query, kept byte for byte",
    "http://shop.example/?a=b%20c+d&flag&a=~",
    "http://shop.example/?a=b%20c+d&flag&a=~&OWN",
  ],
  ["our parameters, replaced", "https://a.example/?status=x&a=1&reference=y&status", "https://a.example/?a=1&OWN"],
  ["our parameters, escaped", "https://a.example/?%73tatus=x&merchants%52eference=", "https://a.example/?OWN"],
  ["similar names", "https://a.example/?Status=x&statuses=y", "https://a.example/?Status=x&statuses=y&OWN"],
  ["a question mark in the query", "https://a.example/??a=b&??c", "https://a.example/??a=b&??c&OWN"],
  [
    "names that are not ours",
    "https://a.example/??status=1&?reference=2",
    "https://a.example/??status=1&?reference=2&OWN",
  ],
  ["names of prototypes", "https://a.example/?toString=1&__proto__=2", "https://a.example/?toString=1&__proto__=2&OWN"],
  ["a fragment", "https://a.example/app?a=1#/order/7?b=2", "https://a.example/app?a=1&OWN#/order/7?b=2"],
  ["a port and an escape", "http://127.0.0.1:8080/caf%C3%A9", "http://127.0.0.1:8080/caf%C3%A9?OWN"],
])("a redirectURL with %s", (_, redirectURL, expected) => {
  expect(returnAddress(redirectURL, checkout)).toBe(expected.replace("OWN", own));
});
