import { afterEach, describe, expect, test, vi } from "vitest";
import packageJson from "./package.json" with { type: "json" };
import type { ClientError } from "./index.ts";
import {
  connectionLost,
  disbursementCreated,
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
import { system } from "./runtime.ts";

const traceparents = (sent: { headers: Headers }[]) => sent.map(({ headers }) => headers.get("traceparent"));

describe("requests", () => {
  test("name the client and its version", async () => {
    const { client, time, sent } = scriptedClient([ok(record)]);
    await time.run(client.disbursements.verify("DSB1"));
    expect(sent[0]!.headers.get("user-agent")).toBe(`disbursement-checkout-client/${packageJson.version}`);
  });

  test("of a call share a trace id, and each attempt has its own parent id", async () => {
    const { client, time, sent } = scriptedClient([connectionLost(), duplicate("/v1/disbursements/DSB1"), ok(record)]);
    await time.run(client.disbursements.create(disbursementRequest));
    const zeros = "0".repeat(15);
    expect(traceparents(sent)).toEqual([2, 3, 4].map((id) => `00-0${zeros}${zeros}1-${zeros}${id}-01`));
  });

  test("of other calls have other trace ids", async () => {
    const { client, time, sent } = scriptedClient([ok(record), ok(record)]);
    for (const reference of ["DSB1", "DSB1"]) await time.run(client.disbursements.verify(reference));
    expect(new Set(traceparents(sent).map((value) => value!.slice(3, 35))).size).toBe(2);
  });

  test("have the caller's headers instead, if there are any", async () => {
    const headers = { "User-Agent": "mine/1", traceparent: "00-a-b-00" };
    const { client, time, sent } = scriptedClient([ok(record)], { headers });
    await time.run(client.disbursements.verify("DSB1"));
    expect(sent[0]!.headers.get("user-agent")).toBe("mine/1");
    expect(traceparents(sent)).toEqual(["00-a-b-00"]);
  });

  test("have random ids", () => {
    const ids = Array.from({ length: 100 }, () => system.id());
    expect(new Set(ids).size).toBe(100);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
  });
});

describe("an error", () => {
  const fields = [{ path: "amount", code: "minimum", message: "must be at least 1" }];
  const invalid = { statusCode: 422, error: "Invalid", code: "invalid_value", fields };

  test("has the service's code and fields, and the call's reference", async () => {
    const { client, time } = scriptedClient([respond(422, invalid, { "retry-after": "2" })]);
    const error = await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
    expect(error).toMatchObject({ name: "ValidationError", code: "invalid_value", fields, retryAfter: 2000 });
    expect(error).toMatchObject({ reference: "payroll-1", requestId: "req_1", status: 422 });
  });

  test("has no code or fields of a gateway", async () => {
    const { client, time } = scriptedClient([respond(422, { ...invalid, statusCode: 400 })]);
    const error = (await time.run(rejectionOf(client.disbursements.verify("DSB1")))) as ClientError;
    expect([error.code, error.fields, error.serverMessage]).toEqual([undefined, undefined, "Invalid"]);
  });

  test("has the history of the call, in order, with the look for the record", async () => {
    const { client, time } = await reachedClient([connectionLost(), refusal(503), refusal(404)], {
      retry: { tries: 2 },
    });
    const error = (await time.run(rejectionOf(client.disbursements.create(disbursementRequest)))) as ClientError;
    expect(error.attempts).toMatchObject([
      { operation: "createDisbursement", attempt: 1, status: undefined, error: { name: "ConnectionError" } },
      { operation: "createDisbursement", attempt: 2, status: 503, requestId: "req_1", error: { name: "ServerError" } },
      { operation: "listDisbursements", reference: "payroll-1", attempt: 1, status: 404 },
    ]);
    expect(error).toMatchObject({
      name: "OutcomeUnknownError",
      reference: "payroll-1",
      requestId: "req_1",
      status: 503,
    });
    expect(new Set(error.attempts!.map(({ callId }) => callId))).toEqual(new Set([error.callId]));
  });

  test("has no request id if the response has none", async () => {
    const { client, time } = scriptedClient([new Response("", { status: 422 })]);
    const error = (await time.run(rejectionOf(client.disbursements.verify("DSB1")))) as ClientError;
    expect([error.status, error.requestId]).toEqual([422, undefined]);
  });

  test("of a verify has the service's reference", async () => {
    const { client, time } = scriptedClient([refusal(404)]);
    expect(await time.run(rejectionOf(client.checkouts.verify("CHK9")))).toMatchObject({ reference: "CHK9" });
  });
});

describe("withResponse()", () => {
  test("returns the response beside the data", async () => {
    const { client, time } = scriptedClient([ok(record)]);
    const { data, response } = await time.run(client.disbursements.verify("DSB1").withResponse());
    expect(data).toEqual(record);
    expect([response.status, response.headers.get("x-request-id")]).toEqual([200, "req_1"]);
  });

  test.each([
    ["created", [ok(disbursementCreated)], "POST"],
    ["read at Location", [connectionLost(), duplicate("/v1/disbursements/DSB1"), ok(record)], "GET"],
    ["found in the list", [connectionLost(), duplicate(), ok({ items: [record] })], "GET"],
  ])("of a create returns the response with the record: %s", async (_, steps, method) => {
    const { client, time, sent } = await reachedClient(steps);
    const { data, response } = await time.run(client.disbursements.create(disbursementRequest).withResponse());
    expect(data.reference).toBe("DSB1");
    expect([response.status, sent.at(-1)!.method]).toEqual([200, method]);
  });

  test("throws what the call throws", async () => {
    const { client, time } = scriptedClient([refusal(404)]);
    const call = client.disbursements.verify("DSB1");
    expect(await time.run(rejectionOf(call.withResponse()))).toBe(await rejectionOf(call));
  });
});

test("the result of a call may be asked for after it failed", async () => {
  const { client, time } = scriptedClient([refusal(422)]);
  const call = client.disbursements.create(disbursementRequest);
  await time.run(rejectionOf(call));
  await new Promise(setImmediate);
  expect(await call.result()).toMatchObject({ outcome: "refused", error: { status: 422 } });
});

/** What a call with one retry writes to the console: the name and contents of each entry. */
async function linesOf(options: object) {
  const lines: [string, object][] = [];
  vi.spyOn(console, "log").mockImplementation((line, info) => void lines.push([line, info]));
  const { client, time } = scriptedClient([refusal(500), ok(record)], options);
  await time.run(client.disbursements.verify("DSB1"));
  return lines.map(([line, info]) => [line.replace("disbursement-checkout ", ""), Object.keys(info).length > 0]);
}
describe("the log", () => {
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  });

  const failed = [
    ["onResponse", true],
    ["onRetry", true],
  ];
  const all = [["onRequest", true], ...failed, ["onRequest", true], ["onResponse", true]];

  test.each([
    [{}, "", []],
    [{ logLevel: "off" }, "debug", []],
    [{ logLevel: "warn" }, "", failed],
    [{ logLevel: "debug" }, "", all],
    [{}, "warn", failed],
    [{}, "debug", all],
  ] as const)("with %j and DISBURSEMENT_CHECKOUT_LOG=%j has these lines", async (options, variable, lines) => {
    vi.stubEnv("DISBURSEMENT_CHECKOUT_LOG", variable);
    expect(await linesOf(options)).toEqual(lines);
  });

  test("does not replace the hooks", async () => {
    const onRetry = vi.fn<() => void>();
    await linesOf({ logLevel: "debug", hooks: { onRetry } });
    expect(onRetry).toHaveBeenCalledOnce();
  });

  test("is off where the environment may not be read", async () => {
    vi.stubGlobal("process", {
      get env() {
        throw new Error("Requires env access");
      },
    });
    const created = (() => scriptedClient([]))();
    vi.unstubAllGlobals();
    expect(created.client).toBeDefined();
  });

  test("refuses a level in the environment that does not exist", () => {
    vi.stubEnv("DISBURSEMENT_CHECKOUT_LOG", "everything");
    expect(() => scriptedClient([])).toThrow(/^logLevel must be off, warn or debug\.$/);
  });
});
