import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import type { ClientError } from "./index.ts";
import {
  disbursementRequest,
  duplicate,
  key,
  ok,
  record,
  rejectionOf,
  respond,
  scriptedClient,
} from "./testing/fakes.ts";
import type { Step } from "./testing/fakes.ts";

const { phoneNumber } = disbursementRequest;

/** Everything that a program could print about a failed create: the error, its causes and what the hooks received. */
async function shownAfter(steps: Step[], apiKey: string = key, request: object = {}) {
  const received: unknown[] = [];
  const collect = (info: object) => void received.push(info);
  const { client, time } = scriptedClient(steps, {
    apiKey,
    retry: { tries: 1 },
    hooks: { onRequest: collect, onResponse: collect, onRetry: collect },
  });
  const call = client.disbursements.create({ ...disbursementRequest, ...request });
  const error = (await time.run(rejectionOf(call))) as ClientError;
  const causes = [error, error.cause, (error.cause as Error | undefined)?.cause];
  const texts = causes.flatMap((one) => [
    inspect(one, { depth: 9 }),
    JSON.stringify(one),
    (one as Error | undefined)?.stack,
  ]);
  return { error, shown: [...texts, inspect(received, { depth: 9, showHidden: true })].join("\n") };
}

const fields = [{ path: "phoneNumber", code: "pattern", message: `${phoneNumber} is no number` }];
const refused = {
  statusCode: 422,
  error: `Bad ${phoneNumber}`,
  message: `+${phoneNumber} ${key}`,
  code: "invalid_value",
  fields,
};
const echoed = (secret: string): [string, Step][] => [
  ["x-request-id", respond(400, { statusCode: 400, error: "Bad" }, { "x-request-id": `id-${secret}` })],
  ["x-request-id of a page", respond(503, "<html>", { "x-request-id": secret })],
  ["an error that is thrown", new TypeError(`Invalid header value ${secret}`)],
  ["the cause of an error", new TypeError("failed", { cause: new Error(`sent ${secret}`) })],
  ["a property of an error", Object.assign(new TypeError("failed"), { request: { headers: { "x-api-key": secret } } })],
  ["the code of an error", Object.assign(new TypeError("failed"), { code: secret })],
  ["a text that is thrown", () => Promise.reject(secret)],
  ["a refusal", respond(422, refused)],
  [
    "an escaped refusal",
    respond(422, JSON.stringify(refused).replaceAll(secret[0]!, `\\u00${secret.charCodeAt(0).toString(16)}`)),
  ],
];

describe("nothing that a program prints contains", () => {
  test.each(echoed(key))("the key, even if it is in %s", async (_, step) => {
    const { shown } = await shownAfter([step]);
    expect(shown).toMatch(/Error/);
    expect(shown).not.toContain(key);
  });

  test.each(echoed(phoneNumber))("the phone number, even if it is in %s", async (_, step) => {
    expect((await shownAfter([step])).shown).not.toContain(phoneNumber);
  });

  test("the phone number of the record that uses the reference", async () => {
    const other = { ...record, customer: { ...record.customer, phoneNumber: "2250000000111", name: "Somebody" } };
    const { error, shown } = await shownAfter([duplicate("/v1/disbursements/DSB1"), ok(other)]);
    expect(error).toMatchObject({ name: "DuplicateReferenceError", matches: false, existing: other });
    expect(shown).not.toMatch(/2250000000111|Somebody/);
  });
});

test("the last digits of a phone number remain", async () => {
  const { error } = await shownAfter([respond(422, refused)]);
  expect(error.serverMessage).toBe("Bad …473: +…473 [key]");
  expect(error.fields).toEqual([{ ...fields[0], message: "…473 is no number" }]);
});

test("a text that is too short for a phone number is not replaced", async () => {
  const answer = { statusCode: 422, error: "Bad", message: "phoneNumber must have 10 to 15 digits, 12345 has 5" };
  const short = await shownAfter([respond(422, answer)], key, { phoneNumber: "12345" });
  expect(short.error.serverMessage).toBe(`Bad: ${answer.message}`);
  const number = await shownAfter([respond(422, { ...answer, message: "no 123456" })], key, { phoneNumber: 123456 });
  expect(number.error.serverMessage).toBe("Bad: no …456");
  const none = await shownAfter([respond(422, { ...answer, message: "undefined" })], key, { phoneNumber: undefined });
  expect(none.error.serverMessage).toBe("Bad: undefined");
});
