import { describe, expect, test } from "vitest";
import { OutcomeUnknownError, UsageError } from "./index.ts";
import {
  checkoutCreated,
  checkoutRequest,
  connectionLost,
  duplicate,
  ok,
  record,
  refusal,
  rejectionOf,
  scriptedClient,
} from "./testing/fakes.ts";

describe("a checkout", () => {
  const at = "/v1/checkouts/CHK1";
  const stored = { ...record, reference: "CHK1", merchantsReference: "order-1", amount: 2500000, customer: undefined };

  test("is created", async () => {
    const { client, time, sent } = scriptedClient([ok(checkoutCreated)]);
    expect(await time.run(client.checkouts.create(checkoutRequest))).toEqual({ ...checkoutCreated, recovered: false });
    expect(sent[0]).toMatchObject({ method: "POST", url: "https://pay.example/v1/checkouts", body: checkoutRequest });
  });

  test("is recovered without a link and without comparing a recipient", async () => {
    const { client, time } = scriptedClient([connectionLost(), duplicate(at), ok(stored)]);
    const checkout = await time.run(client.checkouts.create(checkoutRequest));
    expect(checkout).toMatchObject({ reference: "CHK1", recovered: true });
    expect(checkout.url).toBeUndefined();
  });

  test("may be retried without a reference", async () => {
    const { reference: _, ...anonymous } = checkoutRequest;
    const { client, time } = scriptedClient([connectionLost(), ok({ ...checkoutCreated, merchantsReference: "CHK1" })]);
    expect(await time.run(client.checkouts.create(anonymous))).toMatchObject({
      recovered: false,
      url: checkoutCreated.url,
    });
  });

  test("without a reference is unknown after a 500, like any other", async () => {
    const { reference: _, ...anonymous } = checkoutRequest;
    const { client, time } = scriptedClient([refusal(500)], { retry: { tries: 1 } });
    const error = await time.run(rejectionOf(client.checkouts.create(anonymous)));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect((error as Error).message).toMatch(/same reference \(none\)/);
  });

  test.each(["", null, 7])("is not created with the reference %j", async (reference) => {
    const { client, time, sent } = scriptedClient([]);
    const error = await time.run(
      rejectionOf(client.checkouts.create({ ...checkoutRequest, reference: reference as string })),
    );
    expect(error).toBeInstanceOf(UsageError);
    expect((error as Error).message).toBe("reference must be a non-empty string.");
    expect(sent).toEqual([]);
  });

  test("whose response has no link is not accepted as created", async () => {
    const { url: _, ...withoutLink } = checkoutCreated;
    const { client, time } = scriptedClient([ok(withoutLink)], { retry: { tries: 1 } });
    expect(await time.run(rejectionOf(client.checkouts.create(checkoutRequest)))).toBeInstanceOf(OutcomeUnknownError);
  });
});
