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

  describe("without a reference", () => {
    const { reference: _, ...anonymous } = checkoutRequest;
    const generated = "0".repeat(31) + "1";

    test("sends the same generated one with every attempt, so that at most one is created", async () => {
      const { client, time, sent } = scriptedClient([
        connectionLost(),
        duplicate(at),
        ok({ ...stored, merchantsReference: generated }),
      ]);
      const checkout = await time.run(client.checkouts.create(anonymous));
      expect(checkout).toMatchObject({ reference: "CHK1", merchantsReference: generated, recovered: true });
      expect(sent.slice(0, 2).map(({ body }) => body)).toEqual(
        [0, 1].map(() => ({ ...anonymous, reference: generated })),
      );
    });

    test("is created by a service that does not know merchants' references", async () => {
      const { client, time } = scriptedClient([ok({ ...checkoutCreated, merchantsReference: "CHK1" })]);
      expect(await time.run(client.checkouts.create(anonymous))).toMatchObject({ url: checkoutCreated.url });
    });

    test("is unknown after a 500, and the error has the generated reference", async () => {
      const { client, time } = scriptedClient([refusal(500)], { retry: { tries: 1 } });
      const error = await time.run(rejectionOf(client.checkouts.create(anonymous)));
      expect(error).toBeInstanceOf(OutcomeUnknownError);
      expect(error).toMatchObject({
        reference: generated,
        message: expect.stringContaining(`for ${generated}.`),
      });
    });
  });

  test.each(["", null, 7])("is not created with the reference %j", async (reference) => {
    const { client, time, sent } = scriptedClient([]);
    const error = await time.run(
      rejectionOf(client.checkouts.create({ ...checkoutRequest, reference: reference as string })),
    );
    expect(error).toBeInstanceOf(UsageError);
    expect((error as Error).message).toMatch(
      reference === 7 ? /^reference must be a text of your own/ : /^reference is missing\. It must be a text/,
    );
    expect(sent).toEqual([]);
  });

  test.each([undefined, null, "", 7])("whose response has the link %j is not accepted as created", async (url) => {
    const { client, time } = scriptedClient([ok({ ...checkoutCreated, url })], { retry: { tries: 1 } });
    expect(await time.run(rejectionOf(client.checkouts.create(checkoutRequest)))).toBeInstanceOf(OutcomeUnknownError);
  });
});
