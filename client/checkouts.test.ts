// What is different for checkouts: a link, no recipient, and a reference that the client may generate.
import { expect, test } from "vitest";
import {
  checkoutCreated,
  checkoutRequest,
  connectionLost,
  duplicate,
  ok,
  record,
  scriptedClient,
} from "./testing/fakes.ts";
import type { Step } from "./testing/fakes.ts";

const at = "/v1/checkouts/CHK1";
const stored = { ...record, reference: "CHK1", merchantsReference: "order-1", amount: 2500000, customer: undefined };
const { reference: _, ...anonymous } = checkoutRequest;
const generated = "0".repeat(31) + "1";

async function create(steps: Step[], request: object = checkoutRequest) {
  const { client, time, sent } = scriptedClient(steps, { retry: { tries: 2 } });
  const result = await time.run(client.checkouts.create(request as typeof checkoutRequest).result());
  return { result, sent };
}

test("a checkout is created, and has a link", async () => {
  const { result, sent } = await create([ok(checkoutCreated)]);
  expect(result).toMatchObject({ outcome: "created", data: { ...checkoutCreated, recovered: false } });
  expect(sent[0]).toMatchObject({ method: "POST", url: "https://pay.example/v1/checkouts", body: checkoutRequest });
});

test("a checkout is recovered without a link and without comparing a recipient", async () => {
  const { result } = await create([connectionLost(), duplicate(at), ok(stored)]);
  expect(result).toMatchObject({ outcome: "existed", data: { reference: "CHK1", recovered: true } });
  expect(result.data!.url).toBeUndefined();
});

test("a generated reference is the same in every attempt, so that at most one checkout is created", async () => {
  const found = { ...stored, merchantsReference: generated };
  const { result, sent } = await create([connectionLost(), duplicate(at), ok(found)], anonymous);
  expect(result).toMatchObject({ outcome: "existed", data: { reference: "CHK1", merchantsReference: generated } });
  expect(sent.slice(0, 2).map(({ body }) => body)).toEqual([0, 1].map(() => ({ ...anonymous, reference: generated })));
});

test("a checkout is created, too, if the service ignores the generated reference and returns its own", async () => {
  const { result } = await create([ok({ ...checkoutCreated, merchantsReference: "CHK1" })], anonymous);
  expect(result).toMatchObject({ outcome: "created", data: { url: checkoutCreated.url } });
});

test.each([
  ["", /^reference is missing\. It must be a text/],
  [null, /^reference is missing\. It must be a text/],
  [7, /^reference must be a text of your own/],
])("a checkout is not created with the reference %j", async (reference, message) => {
  const { result, sent } = await create([], { ...checkoutRequest, reference });
  expect(result).toMatchObject({ outcome: "refused", error: { name: "UsageError" } });
  expect([result.error!.message, sent]).toEqual([expect.stringMatching(message), []]);
});

test.each([undefined, null, "", 7])("a response with the link %j is not accepted as created", async (url) => {
  const step = () => ok({ ...checkoutCreated, url });
  expect((await create([step(), step()])).result).toMatchObject({ outcome: "unknown" });
});
