import { expect, test } from "vitest";
import { receiverOf } from "./events.ts";

test.each([
  ["https://merchant.example/webhooks?a=b", "merchant.example"],
  ["https://Merchant.Example:443/", "merchant.example"],
  ["http://127.0.0.1:4000/a", "127.0.0.1:4000"],
  ["http://127.0.0.1:4001/a", "127.0.0.1:4001"],
  ["http://2130706433/", "127.0.0.1"],
  ["nonsense", "invalid"],
  ["mailto:ada@merchant.example", "invalid"],
])("the receiver of %s is %j", (url, receiver) => {
  expect(receiverOf(url)).toBe(receiver);
});
