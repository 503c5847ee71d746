import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { RailError, type Rail, type RailCall, type RailPayment } from "../module.ts";
import { railSuite, startFaultyGateway, type FaultyGateway } from "../suite/index.ts";
import createMomoRail, { uuidOf } from "./momo.ts";

/** Accepted credentials. */
const MOMO = { apiUser: "user", apiKey: "api-key", subscriptionKey: "d-key", environment: "mtnivorycoast" };
const UUID_4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const ACCOUNT_CURRENCIES = new Set(["XOF", "XAF"]);
/** The host that is registered for callbacks. */
const CALLBACK_HOST = "https://gateway.example/";

const folder = mkdtempSync(join(tmpdir(), "momo-"));
afterAll(() => rmSync(folder, { recursive: true }));
const fileOf = (name: string, text: string) => {
  writeFileSync(join(folder, name), `${text}\n`);
  return join(folder, name);
};

const pays = (method: string, path: string) => method === "POST" && path.endsWith("/transfer");
const railAt = (url: string, changes = {}): Rail =>
  createMomoRail({
    url,
    targetEnvironment: MOMO.environment,
    apiUser: MOMO.apiUser,
    apiKeyFile: fileOf("api", MOMO.apiKey),
    subscriptionKeyFile: fileOf("subscription", MOMO.subscriptionKey),
    callbacks: true,
    ...changes,
  }) as Rail;

railSuite(
  "MTN MoMo",
  {
    async open() {
      const momo = await startMomoSimulator();
      const gateway = await startFaultyGateway(momo.url, pays);
      return {
        rail: railAt(gateway.url),
        recorded: async (reference) => momo.find(reference).length,
        async end({ reference }, status) {
          if (status === "success") momo.end(reference, "SUCCESSFUL");
          else momo.end(reference, "FAILED", "PAYEE_NOT_FOUND");
        },
        contradict: async ({ reference }) => momo.end(reference, "FAILED", "INTERNAL_PROCESSING_ERROR"),
        gateway,
        refusal: { status: 500, body: { code: "PAYEE_NOT_FOUND", message: "Payee does not exist." } },
        withWrongCredentials: async () => railAt(gateway.url, { apiKeyFile: fileOf("wrong", "wrong-key") }),
        elsewhere: async () => railAt(gateway.url),
        notificationOf: async ({ reference }) => ({
          headers: {},
          body: Buffer.from(JSON.stringify(momo.find(reference)[0])),
        }),
        async close() {
          await gateway.close();
          await momo.close();
        },
      };
    },
    without: ["list", "checkouts"],
  },
  { describe, test, before: beforeAll, after: afterAll },
);

const failed = (code: string) => ({ status: "failed", failure: { code } });

describe("MTN MoMo", () => {
  let momo: MomoSimulator;
  let between: FaultyGateway;
  let rail: Rail;
  const call: RailCall = {
    signal: new AbortController().signal,
    notifyUrl: "https://gateway.example/rails/test/webhooks",
    returnUrl: "https://gateway.example/checkouts/CHK1/return",
    inDoubt: false,
  };
  let made = 0;
  function aPayment(changes: Partial<RailPayment> = {}): RailPayment {
    made += 1;
    const common = { amount: 10_000, country: "CI", currency: "XOF", phoneNumber: "2250501020304", createdAt: 0 };
    return { kind: "disbursement", reference: `DSBMOMO${made}`, ...common, ...changes };
  }

  beforeAll(async () => {
    momo = await startMomoSimulator();
    between = await startFaultyGateway(momo.url, (method) => method === "GET");
  });
  afterAll(async () => {
    await between.close();
    await momo.close();
  });
  beforeEach(() => {
    rail = railAt(between.url);
  });

  test.each([
    [10_000, "100"],
    [1, "0.01"],
    [101, "1.01"],
    [9_007_199_254_740_991, "90071992547409.91"],
  ])("the amount %d is sent as %s, and recognised", async (amount, sent) => {
    const payment = aPayment({ amount });
    await rail.pay(payment, call);
    expect(momo.find(payment.reference)).toMatchObject([{ amount: sent, externalId: payment.reference }]);
    expect(await rail.find(payment, call)).toMatchObject({
      status: "pending",
      railReference: uuidOf(payment.reference),
    });
  });

  test.each([
    ["FAILED", "PAYEE_NOT_FOUND", failed("wallet_not_found")],
    ["FAILED", "PAYEE_NOT_ALLOWED_TO_RECEIVE", failed("wallet_blocked")],
    ["FAILED", "NOT_ENOUGH_FUNDS", failed("payer_insufficient_funds")],
    ["FAILED", "PAYER_LIMIT_REACHED", failed("declined")],
    ["FAILED", "INTERNAL_PROCESSING_ERROR", failed("declined")],
    ["FAILED", undefined, failed("declined")],
    // MTN still works on this payout.
    ["FAILED", "PAYEE_DELAYED", { status: "pending" }],
    // The reference is MTN's financial transaction.
    ["SUCCESSFUL", undefined, { status: "success", railReference: "684835019" }],
  ] as const)("a payout that MTN calls %s with %s is %j", async (status, reason, expected) => {
    const payment = aPayment();
    await rail.pay(payment, call);
    momo.end(payment.reference, status, reason);
    expect(await rail.find(payment, call)).toMatchObject(expected);
  });

  test.each([
    [401, 2],
    [429, 1],
    [503, 1],
  ])("an error %d of the look-up after a 409 does not prove that MTN lacks the payout", async (status, times) => {
    const payment = aPayment();
    await rail.pay(payment, call);
    for (let count = 0; count < times; count += 1) between.spoil({ status });
    const error = await rail.pay(payment, call).catch((thrown: unknown) => thrown);
    expect(error).not.toBeInstanceOf(RailError);
    expect(error).toMatchObject({ message: expect.stringContaining("the look-up failed") });
  });

  test("one token serves many calls, and a revoked one is replaced", async () => {
    const before = momo.given();
    for (const payment of [aPayment(), aPayment()]) await rail.pay(payment, call);
    expect(momo.given() - before).toBe(1);
    momo.revokeTokens();
    expect(await rail.pay(aPayment(), call)).toMatchObject({ status: "pending" });
    expect(momo.given() - before).toBe(2);
  });

  test.each([
    ["another target environment", { targetEnvironment: "mtnghana" }, {}],
    ["another subscription key", { subscriptionKeyFile: fileOf("other", "other-key") }, {}],
    ["a callback address of another host", {}, { notifyUrl: "https://other.example/" }],
  ])("%s needs a repair", async (_, settings, address) => {
    const paid = railAt(between.url, settings).pay(aPayment(), { ...call, ...address });
    await expect(paid).rejects.toMatchObject({ options: { needsRepair: true } });
  });

  test("a 404 of another service proves nothing", async () => {
    between.spoil({ status: 404, body: { statusCode: 404, message: "Resource not found" } });
    await expect(rail.find(aPayment(), call)).rejects.toThrow("404: Resource not found");
  });
});

interface MomoRecord {
  amount: string;
  currency: string;
  externalId: string;
  payee: { partyIdType: string; partyId: string };
  status: "PENDING" | "SUCCESSFUL" | "FAILED";
  reason?: string | undefined;
  financialTransactionId?: string;
}

type MomoSimulator = Awaited<ReturnType<typeof startMomoSimulator>>;

/** Starts MTN MoMo's API for disbursements as its documentation describes it. */
async function startMomoSimulator() {
  /** By X-Reference-Id. */
  const records = new Map<string, MomoRecord>();
  let tokens = 0;
  let oldest = 1;

  /** Returns the status and body of a response. */
  function respond(request: string, headers: IncomingHttpHeaders, body: Partial<MomoRecord>): [number, object?] {
    if (headers["ocp-apim-subscription-key"] !== MOMO.subscriptionKey)
      return [401, { statusCode: 401, message: "Access denied due to invalid subscription key." }];
    if (request === "POST /disbursement/token/") {
      const expected = `Basic ${Buffer.from(`${MOMO.apiUser}:${MOMO.apiKey}`).toString("base64")}`;
      if (headers.authorization !== expected) return [401, { error: "login_failed" }];
      tokens += 1;
      return [200, { access_token: `token-${tokens}`, token_type: "access_token", expires_in: 3_600 }];
    }
    const [, token = "0"] = /^Bearer token-(\d+)$/.exec(headers.authorization ?? "") ?? [];
    if (Number(token) < oldest) return [401, { statusCode: 401, message: "Unauthorized" }];
    if (headers["x-target-environment"] !== MOMO.environment)
      return [500, { code: "NOT_ALLOWED_TARGET_ENVIRONMENT", message: "Access to target environment is forbidden." }];

    const [, asked] = /^GET \/disbursement\/v1_0\/transfer\/(.+)$/.exec(request) ?? [];
    if (asked !== undefined) {
      const record = records.get(asked);
      return record
        ? [200, record]
        : [404, { code: "RESOURCE_NOT_FOUND", message: "Requested resource was not found." }];
    }
    if (request !== "POST /disbursement/v1_0/transfer")
      return [404, { statusCode: 404, message: "Resource not found" }];

    const id = String(headers["x-reference-id"]);
    const isValid =
      UUID_4.test(id) &&
      /^\d+(\.\d{1,2})?$/.test(body.amount ?? "") &&
      body.payee?.partyIdType === "MSISDN" &&
      /^\d{8,15}$/.test(body.payee.partyId);
    if (!isValid) return [400];
    if (records.has(id)) return [409, { code: "RESOURCE_ALREADY_EXIST", message: "Duplicated reference id." }];
    if (!ACCOUNT_CURRENCIES.has(body.currency!))
      return [500, { code: "INVALID_CURRENCY", message: "Currency not supported." }];
    const callbackUrl = headers["x-callback-url"] as string | undefined;
    if (callbackUrl !== undefined && !callbackUrl.startsWith(CALLBACK_HOST))
      return [500, { code: "INVALID_CALLBACK_URL_HOST", message: "Callback URL with different host name." }];
    records.set(id, { ...(body as MomoRecord), status: "PENDING" });
    return [202];
  }

  const server = createServer(async (request, response) => {
    const { method = "", url = "", headers } = request;
    const sent = method === "POST" && !url.endsWith("/token/") ? ((await json(request)) as MomoRecord) : {};
    const [status, body] = respond(`${method} ${url}`, headers, sent);
    response.writeHead(status, body && { "content-type": "application/json" }).end(body && JSON.stringify(body));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");

  const find = (externalId: string) => [...records.values()].filter((record) => record.externalId === externalId);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    find,
    end(externalId: string, status: "SUCCESSFUL" | "FAILED", reason?: string) {
      const more = status === "SUCCESSFUL" && { financialTransactionId: "684835019" };
      for (const record of find(externalId)) Object.assign(record, { status, reason, ...more });
    },
    /** Makes every token invalid that was given so far. */
    revokeTokens() {
      oldest = tokens + 1;
    },
    /** How many tokens were given. */
    given: () => tokens,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
