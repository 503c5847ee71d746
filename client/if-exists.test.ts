import { describe, expect, test } from "vitest";
import { DuplicateReferenceError, OutcomeUnknownError, UsageError } from "./index.ts";
import {
  checkoutCreated,
  checkoutRequest,
  disbursementCreated,
  disbursementRequest,
  duplicate,
  ok,
  record,
  refusal,
  rejectionOf,
  scriptedClient,
} from "./testing/fakes.ts";

const here = "/v1/disbursements/DSB1";
const ifExists = { ifExists: "return" } as const;

describe('a create with ifExists: "return"', () => {
  test("returns an existing payout that matches, marked as recovered", async () => {
    const { client, time, sent } = scriptedClient([duplicate(here), ok(record)]);
    expect(await time.run(client.disbursements.create(disbursementRequest, ifExists))).toEqual({
      ...record,
      recovered: true,
    });
    expect(sent).toHaveLength(2);
  });

  test("returns a new payout with recovered: false", async () => {
    const { client, time } = scriptedClient([ok(disbursementCreated)]);
    expect(await time.run(client.disbursements.create(disbursementRequest, ifExists))).toMatchObject({
      recovered: false,
    });
  });

  test("still throws if the existing payout differs", async () => {
    const { client, time } = scriptedClient([duplicate(here), ok({ ...record, amount: 1 })]);
    const error = await time.run(rejectionOf(client.disbursements.create(disbursementRequest, ifExists)));
    expect(error).toBeInstanceOf(DuplicateReferenceError);
    expect(error).toMatchObject({ matches: false });
  });

  test.each([
    ["found", [duplicate(here), refusal(401)]],
    ["named", [duplicate()]],
  ])("leaves the outcome unknown if the existing payout is not %s", async (_, steps) => {
    const { client, time } = scriptedClient(steps, { retry: { totalTime: 1000 } });
    const error = await time.run(rejectionOf(client.disbursements.create(disbursementRequest, ifExists)));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({ status: 409, cause: { name: "DuplicateReferenceError", matches: undefined } });
  });

  test("returns an existing checkout without its url", async () => {
    const { url, ...checkout } = { ...checkoutCreated, country: "CI", currency: "XOF" };
    const { client, time } = scriptedClient([duplicate("/v1/checkouts/CHK1"), ok(checkout)]);
    expect(url).toBeTruthy();
    expect(await time.run(client.checkouts.create(checkoutRequest, ifExists))).toEqual({
      ...checkout,
      recovered: true,
    });
  });
});

test("an unknown value of ifExists is refused before anything is sent", async () => {
  const { client, sent } = scriptedClient([]);
  const options = { ifExists: "skip" } as object;
  const error = await rejectionOf(client.disbursements.create(disbursementRequest, options));
  expect(error).toBeInstanceOf(UsageError);
  expect(error).toMatchObject({ message: expect.stringContaining('"return"') });
  expect(sent).toHaveLength(0);
});
