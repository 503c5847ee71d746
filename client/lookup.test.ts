import { describe, expect, test } from "vitest";
import { DuplicateReferenceError, NotFoundError, OutcomeUnknownError, TimeoutError } from "./index.ts";
import {
  connectionLost,
  disbursementRequest,
  duplicate,
  ok,
  reachedClient,
  record,
  refusal,
  rejectionOf,
  respond,
  scriptedClient,
} from "./testing/fakes.ts";
import type { Step } from "./testing/fakes.ts";

const here = "/v1/disbursements/DSB1";
const listed = "https://pay.example/v1/disbursements?merchantsReference=payroll-1";
const list = (...items: unknown[]) => ok({ items });
const create = async (steps: Step[], options = {}) => {
  const script = await reachedClient(steps, options);
  const call = script.time.run(script.client.disbursements.create(disbursementRequest));
  return { ...script, call };
};

describe("after a 409", () => {
  test("a record that no replica has yet is looked for again", async () => {
    const { call, sent } = await create([connectionLost(), duplicate(here), refusal(404), refusal(404), ok(record)]);
    expect(await call).toEqual({ ...record, recovered: true });
    expect(sent.slice(2).map(({ url }) => url)).toEqual([0, 1, 2].map(() => `https://pay.example${here}`));
  });

  test("the look for it ends after 10 s, and the list is asked", async () => {
    const { call, sent } = await create(
      [connectionLost(), duplicate(here), ...Array.from({ length: 7 }, () => refusal(404)), list(record)],
      { retry: { maxDelay: 4000 } },
    );
    expect(await call).toMatchObject({ recovered: true });
    expect(sent.at(-1)!.url).toBe(listed);
    expect(sent.at(-2)!.at - sent[2]!.at).toBeLessThanOrEqual(10_000);
  });

  test.each([
    ["without Location", [duplicate()]],
    ["whose Location is of another reference", [duplicate(here), ok({ ...record, merchantsReference: "x" })]],
    ["whose Location cannot be read", [duplicate(here), refusal(401)]],
    ["whose Location is none of a record", [duplicate("/")]],
  ])("%s, the record is found in the list", async (_, steps) => {
    const { call, sent } = await create([connectionLost(), ...steps, list(record)]);
    expect(await call).toEqual({ ...record, recovered: true });
    expect(sent.at(-1)).toMatchObject({ method: "GET", url: listed });
  });

  test("a list that does not have the record yet is read again", async () => {
    const others = { ...record, merchantsReference: "payroll-10" };
    const { call, delays } = await create([connectionLost(), duplicate(), list(), list(others), list(others, record)]);
    expect(await call).toMatchObject({ reference: "DSB1", recovered: true });
    expect(delays().slice(2)).toEqual([250, 500]);
  });

  test("the first attempt's duplicate carries the record from the list", async () => {
    const { call } = await create([duplicate(), list(record)]);
    const error = (await rejectionOf(call)) as DuplicateReferenceError;
    expect(error).toBeInstanceOf(DuplicateReferenceError);
    expect([error.matches, error.existing]).toEqual([true, record]);
  });

  test.each([404, 405])("a service without lists (%i) is not asked twice, and the error says so", async (status) => {
    const noList = respond(status, { statusCode: status, error: "Not Found" });
    const { call, sent } = await create([duplicate(), noList]);
    const { cause } = (await rejectionOf(call)) as OutcomeUnknownError;
    const error = cause as DuplicateReferenceError;
    expect(error).toMatchObject({ name: "DuplicateReferenceError", matches: undefined, existing: undefined });
    expect(error.cause).toBeInstanceOf(NotFoundError);
    expect((error.cause as Error).message).toMatch(/the service has no list/);
    expect(sent).toHaveLength(2);
  });

  test.each([
    ["a page with 404", respond(404, "<html>")],
    ["a page with 405", respond(405, "<html>")],
    ["a gateway's JSON", respond(404, { message: "no Route matched with those values" })],
    ["the error body of another status", respond(404, { statusCode: 500, error: "Internal Server Error" })],
  ])("%s in place of the list does not mean that there is none: it is read again", async (_, response) => {
    const { call, sent } = await create([connectionLost(), duplicate(), response, list(record)]);
    expect(await call).toEqual({ ...record, recovered: true });
    expect(sent.at(-1)!.url).toBe(listed);
  });

  test("a list that never has it leaves the outcome open, and the error says so", async () => {
    const { call } = await create([connectionLost(), duplicate(), list(), list()], { retry: { tries: 2 } });
    const error = await rejectionOf(call);
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    const cause = ((error as Error).cause as Error).cause as Error;
    expect(cause).toBeInstanceOf(TimeoutError);
    expect(cause.message).toBe("Still missing.");
  });
});

describe("after the last attempt, when the outcome is unknown", () => {
  const unknown = [respond(500), respond(500)];

  test("the record is looked for in the list, once", async () => {
    const { call, sent } = await create([...unknown.map((one) => one.clone()), list(record)], { retry: { tries: 2 } });
    expect(await call).toEqual({ ...record, recovered: true });
    expect(sent.map(({ method }) => method)).toEqual(["POST", "POST", "GET"]);
  });

  test("an empty list proves nothing", async () => {
    const { call, sent } = await create([...unknown.map((one) => one.clone()), list()], { retry: { tries: 2 } });
    expect(await rejectionOf(call)).toBeInstanceOf(OutcomeUnknownError);
    expect(sent).toHaveLength(3);
  });

  test("a record of another payment does not become this one", async () => {
    const { call } = await create([respond(500), list({ ...record, amount: 1 })], { retry: { tries: 1 } });
    expect(await rejectionOf(call)).toBeInstanceOf(OutcomeUnknownError);
  });

  test.each([[null], [{}], [{ ...record, amount: "1" }], [{ ...record, merchantsReference: "x" }]])(
    "an item that is not the record is ignored: %j",
    async (item) => {
      const { call } = await create([respond(500), list(item)], { retry: { tries: 1 } });
      expect(await rejectionOf(call)).toBeInstanceOf(OutcomeUnknownError);
    },
  );

  test("nothing is looked for if the service was never reached", async () => {
    const { client, time, sent } = scriptedClient([connectionLost()], { retry: { tries: 1 } });
    const error = await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(sent).toHaveLength(1);
  });

  test("nothing is looked for after an abort", async () => {
    const controller = new AbortController();
    const abort: Step = () => {
      controller.abort();
      return new Promise(() => {});
    };
    const { client, time, sent } = await reachedClient([abort]);
    const call = client.disbursements.create(disbursementRequest, { signal: controller.signal });
    expect(await time.run(rejectionOf(call))).toBeInstanceOf(OutcomeUnknownError);
    expect(sent).toHaveLength(1);
  });

  test("a refused key is no reason to say that nothing was recorded", async () => {
    const { call } = await create([connectionLost(), refusal(401), refusal(401)]);
    const error = await rejectionOf(call);
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect((error as Error).cause).toMatchObject({ name: "AuthenticationError", status: 401 });
  });
});
