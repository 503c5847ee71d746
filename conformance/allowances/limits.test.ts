import { expect, test } from "vitest";
import type { TargetResponse } from "../target/exchange.ts";
import { table } from "./table.ts";
import { createLimits, unknownLimit } from "./limits.ts";

const recipient = "2257038102473";
const own = { reference: "a", amount: 100, phoneNumber: recipient, country: "CI", currency: "XOF" };
const refusal = { statusCode: 422, error: "Too much" };

type Create = { json?: object; over?: object; request?: object; known?: (keyof typeof table)[] };

/** Returns what a target that refuses this create may limit, if only the limits in `known` were searched for. */
function unknown({ json, over, request, known = [] }: Create) {
  const limits = createLimits();
  for (const field of known) limits.markSearched(field);
  const create = { method: "POST", path: "/v1/disbursements", effect: "moves-money", json: { ...own, ...json } };
  const response = { status: 422, json: refusal, exchange: {}, request: { ...create, ...request }, ...over };
  return unknownLimit(limits, recipient, [response as unknown as TargetResponse]);
}

const checkout = { path: "/v1/checkouts", json: { amount: 90_000, country: "CI", currency: "XOF" } };

test.each<[Create, line: string]>([
  [{ json: { amount: 90_000 } }, "largestAmount: 1000000"],
  [{ json: { amount: 50 } }, "smallestAmount: 100"],
  [{ json: { reference: "a".repeat(41) } }, "longestReference: 20"],
  [{ json: { reference: "é" } }, 'referenceCharacters: "A-Za-z0-9_-"'],
  [{ json: { webhookURL: "http://a.example" } }, "httpsWebhooks: true"],
  [{ json: { amount: 90_000, currency: "KES" }, known: ["largestAmount"] }, "largestByCurrency: { KES: 1000000 }"],
  [{ json: { reference: "支".repeat(20) }, known: ["longestReference"] }, "longestReferenceBytes: 40"],
  [{ json: { reference: "-a" } }, 'referenceEnds: "A-Za-z0-9"'],
  [{ request: checkout, known: ["largestAmount"] }, "largestCheckout: 500000"],
  [{ json: { country: "GH" } }, 'countries: ["CI", "GH"]'],
  [{ json: { currency: "GHS" } }, 'currencies: ["XOF", "GHS"]'],
  [{ json: { phoneNumber: "2250501020304" } }, 'numberRanges: ["22507", "233xxxxxxxxx"]'],
])("a limit that nobody searched for may be the reason of a refusal: %j", (create, line) => {
  expect(unknown(create)).toContain(`"${line}" to certify.yaml`);
});

test.each<[string, Create]>([
  ["every target must accept the values", { json: { amount: 10_000 } }],
  ["the interface demands the amount 1", { json: { amount: 1 } }],
  ["the limit was searched for", { json: { amount: 90_000 }, known: ["largestAmount"] }],
  ["the values are invalid", { json: { amount: "90000", country: "ci", currency: "X", phoneNumber: "12" } }],
  ["the error has no fields", { over: { json: { oops: true } } }],
  ["the error has another statusCode", { over: { json: { ...refusal, statusCode: 400 } } }],
  ["the status is 409", { over: { status: 409, json: { ...refusal, statusCode: 409 } } }],
  ["the status is 500", { over: { status: 500, json: { ...refusal, statusCode: 500 } } }],
  ["the target must refuse it", { request: { effect: "must-be-rejected" } }],
  ["it forces an outcome", { request: { forced: true } }],
])("a refusal counts if %s", (_, { json = { amount: 90_000 }, ...create }) => {
  expect(unknown({ json, ...create })).toBeUndefined();
});
