import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, test, vi } from "vitest";
import { RailError, type Rail, type RailCall, type RailPayment } from "../module.ts";
import { reservePort } from "../../../scripts/testing/reserve-port.ts";
import { railsOf } from "../../testing/rail.ts";
import { seededRandom } from "../../testing/random.ts";
import { startFaultyGateway, type FaultyGateway } from "../suite/faults.ts";
import { railSuite } from "../../testing/rail-suite.ts";
import { startServer, type TestServer } from "../../testing/server.ts";
import { checkedRail } from "../checked-rail.ts";
import { MOMO, startMomoSimulator, type MomoSimulator } from "./momo-simulator.ts";
import createMomoRail, { uuidOf } from "./momo.ts";

const folder = mkdtempSync(join(tmpdir(), "momo-"));
afterAll(() => rmSync(folder, { recursive: true }));
const fileOf = (name: string, text: string) => {
  writeFileSync(join(folder, name), `${text}\n`);
  return join(folder, name);
};

const pays = (method: string, path: string) => method === "POST" && /transfer|requesttopay/.test(path);
const settingsFor = (url: string, changes = {}) => ({
  url,
  targetEnvironment: "mtnivorycoast",
  apiUser: MOMO.apiUser,
  apiKeyFile: fileOf("api", MOMO.apiKey),
  disbursementKeyFile: fileOf("disbursement", MOMO.disbursementKey),
  collectionKeyFile: fileOf("collection", MOMO.collectionKey),
  callbacks: true,
  ...changes,
});
async function aPayPage() {
  const port = await reservePort();
  return { payPage: { port, url: `http://127.0.0.1:${port}` } };
}

railSuite("MTN MoMo", {
  async open() {
    const momo = await startMomoSimulator();
    const gateway = await startFaultyGateway(momo.url, pays);
    return {
      rail: await createMomoRail(settingsFor(gateway.url, await aPayPage())),
      recorded: async (reference) => momo.find(reference).length,
      async end({ reference }, status) {
        if (status === "success") momo.end(reference, "SUCCESSFUL");
        else momo.end(reference, "FAILED", "PAYEE_NOT_FOUND");
      },
      contradict: async ({ reference }) => momo.end(reference, "FAILED", "INTERNAL_PROCESSING_ERROR"),
      gateway,
      refusal: { status: 500, body: { code: "PAYEE_NOT_FOUND", message: "Payee does not exist." } },
      withWrongCredentials: async () =>
        createMomoRail(settingsFor(gateway.url, { apiKeyFile: fileOf("wrong", "wrong-key") })),
      elsewhere: async () => createMomoRail(settingsFor(gateway.url)),
      async notificationOf({ reference }) {
        const [record] = momo.find(reference);
        return { headers: {}, body: Buffer.from(JSON.stringify(momo.bodyOf(record!))) };
      },
      async close() {
        await gateway.close();
        await momo.close();
      },
    };
  },
  without: ["list"],
});

/** Moves the monotonic clock alone. */
const passTwoMinutes = () => vi.spyOn(performance, "now").mockReturnValue(performance.now() + 121_000);

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
    between = await startFaultyGateway(momo.url, pays);
  });
  afterAll(async () => {
    await between.close();
    await momo.close();
  });
  beforeEach(async () => {
    rail = await createMomoRail(settingsFor(between.url));
  });

  test("a reference has one UUID of version 4, which never changes", () => {
    expect(uuidOf("DSB1")).toBe("33a53fad-5da6-482a-86ee-ca1813b9fa81");
    expect(uuidOf("DSB2")).not.toBe(uuidOf("DSB1"));
  });

  test.each([
    [10_000, "100"],
    [12_550, "125.5"],
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
    ["PAYEE_NOT_FOUND", "wallet_not_found"],
    ["PAYEE_NOT_ALLOWED_TO_RECEIVE", "wallet_blocked"],
    ["NOT_ENOUGH_FUNDS", "payer_insufficient_funds"],
    ["PAYER_LIMIT_REACHED", "declined"],
    ["INTERNAL_PROCESSING_ERROR", "declined"],
    [undefined, "declined"],
  ])("a payout that failed with %s has the code %s", async (reason, code) => {
    const payment = aPayment();
    await rail.pay(payment, call);
    momo.end(payment.reference, "FAILED", reason);
    expect(await rail.find(payment, call)).toMatchObject({ status: "failed", failure: { code } });
  });

  test("a payout that MTN still works on is pending, whatever its status says", async () => {
    const payment = aPayment();
    await rail.pay(payment, call);
    momo.end(payment.reference, "FAILED", "PAYEE_DELAYED");
    expect(await rail.find(payment, call)).toMatchObject({ status: "pending" });
  });

  test.each([401, 429, 503])(
    "an error %d of the look-up after a 409 does not prove that MTN lacks the payout",
    async (status) => {
      const gateway = await startFaultyGateway(momo.url, (method) => method === "GET");
      const behind = await createMomoRail(settingsFor(gateway.url));
      const payment = aPayment();
      await behind.pay(payment, call);
      for (let count = 0; count < 2; count += 1) gateway.spoil({ status });
      const error = await behind.pay(payment, call).catch((thrown: unknown) => thrown);
      expect([error instanceof RailError, (error as Error).message]).toEqual([
        false,
        expect.stringContaining("the look-up failed"),
      ]);
      await gateway.close();
    },
  );

  test("a checkout that nobody has paid is cancelled when its page no longer takes numbers", async () => {
    const withPage = await createMomoRail(settingsFor(between.url, await aPayPage()));
    const checkout = aPayment({ kind: "checkout" });
    const agedBy = (minutes: number) => ({ ...checkout, createdAt: Date.now() - minutes * 60_000 });
    // The wall clock may just have jumped: then a number may be on its way to MTN.
    expect(await withPage.find(agedBy(28), call)).toMatchObject({ status: "pending" });
    passTwoMinutes();
    expect(await withPage.find(agedBy(26), call)).toMatchObject({ status: "pending" });
    expect(await withPage.find(agedBy(28), call)).toEqual({ status: "cancelled" });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_000 });
    expect(await withPage.find(agedBy(28), call)).toMatchObject({ status: "pending" });
    passTwoMinutes();
    expect(await withPage.find(agedBy(28), call)).toEqual({ status: "cancelled" });
    vi.useRealTimers();
    vi.restoreAllMocks();
    await withPage.close!();
  });

  test("a successful payout has MTN's financial transaction as its reference", async () => {
    const payment = aPayment();
    await rail.pay(payment, call);
    momo.end(payment.reference, "SUCCESSFUL");
    expect(await rail.find(payment, call)).toEqual({ status: "success", railReference: "684835019" });
  });

  test("one token serves many calls, and a revoked one is replaced", async () => {
    const before = momo.given();
    await Promise.all([aPayment(), aPayment(), aPayment()].map((payment) => rail.pay(payment, call)));
    expect(momo.given() - before).toBe(1);
    momo.revokeTokens();
    expect(await rail.pay(aPayment(), call)).toMatchObject({ status: "pending" });
    expect(momo.given() - before).toBe(2);
  });

  test.each([
    ["another target environment", { targetEnvironment: "mtnghana" }],
    ["another subscription key", { disbursementKeyFile: fileOf("other", "other-key") }],
  ])("%s needs a repair", async (_, changes) => {
    const wrong = await createMomoRail(settingsFor(between.url, changes));
    await expect(wrong.pay(aPayment(), call)).rejects.toMatchObject({ options: { needsRepair: true } });
  });

  test("a callback address of another host needs a repair", async () => {
    const wrong = { ...call, notifyUrl: "https://other.example/" };
    await expect(rail.pay(aPayment(), wrong)).rejects.toMatchObject({ options: { needsRepair: true } });
  });

  test("a service that refuses the connection has taken nothing", async () => {
    const unreachable = await createMomoRail(settingsFor(`http://127.0.0.1:${await reservePort()}`));
    await expect(unreachable.pay(aPayment(), call)).rejects.toBeInstanceOf(RailError);
  });

  test("a 404 of another service proves nothing", async () => {
    const other = await startFaultyGateway(momo.url, (method) => method === "GET");
    const lost = await createMomoRail(settingsFor(other.url));
    other.spoil({ status: 404, body: { statusCode: 404, message: "Resource not found" } });
    await expect(lost.find(aPayment(), call)).rejects.toThrow("404: Resource not found");
    await other.close();
  });

  describe("behind a live server", () => {
    let gateway: TestServer;
    let seed = 20;
    beforeEach(async () => {
      vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 10, 20, 9, 30) });
      seed += 1;
      rail = await createMomoRail(settingsFor(between.url, await aPayPage()));
      const env = { SANDBOX: "false", PUBLIC_URL: "https://gateway.example" };
      gateway = await startServer({ seed, env, rails: railsOf(checkedRail(rail)) });
    });
    afterEach(async () => {
      vi.useRealTimers();
      await gateway.close();
      await rail.close!();
    });
    const statusOf = async (reference: string) =>
      (await gateway.request("GET", `/v1/disbursements/${reference}`)).body.data.status;

    test.each(["POST", "PUT"])("a callback by %s only causes a look-up", async (method) => {
      const { reference } = (await gateway.createPayout({ phoneNumber: "2250501020304" })).body.data;
      await gateway.pass(0);
      const callBack = async (body: object) => {
        const init = { method, body: JSON.stringify(body) };
        expect((await fetch(`${gateway.url}/rails/test/webhooks`, init)).status).toBe(204);
        await gateway.pass(0);
      };
      const [record] = momo.find(reference);
      await callBack({ ...momo.bodyOf(record!), status: "SUCCESSFUL" });
      expect(await statusOf(reference)).toBe("pending");
      momo.end(reference, "SUCCESSFUL");
      await callBack(momo.bodyOf(record!));
      expect(await statusOf(reference)).toBe("success");
    });

    test("payouts over a hostile connection are each paid once, and end as MTN says", async () => {
      const random = seededRandom(7);
      const faults = ["lost before", "lost after", "page", "truncated", { status: 429 }, { status: 503 }] as const;
      const references: string[] = [];
      for (let count = 0; count < 40; count += 1) {
        if (random.next() < 0.6) between.spoil(faults[Math.floor(random.next() * faults.length)]!);
        references.push((await gateway.createPayout({ phoneNumber: "2250501020304" })).body.data.reference);
      }
      for (let tries = 0; tries < 6; tries += 1) await gateway.pass(60_000);
      for (const [index, reference] of references.entries()) {
        expect([reference, momo.find(reference).length]).toEqual([reference, 1]);
        momo.end(reference, index % 3 === 0 ? "FAILED" : "SUCCESSFUL", index % 3 === 0 ? "PAYEE_NOT_FOUND" : undefined);
      }
      for (let tries = 0; tries < 4; tries += 1) await gateway.pass(3_600_000);
      for (const [index, reference] of references.entries())
        expect([reference, await statusOf(reference)]).toEqual([reference, index % 3 === 0 ? "failed" : "success"]);
    });

    test("a payer enters a number on the rail's page, and is asked to pay once", async () => {
      const { reference } = (await gateway.createCheckout({ amount: 10_000 })).body.data;
      await gateway.pass(0);
      const led = await fetch(`${gateway.url}/checkouts/${reference}`, { redirect: "manual" });
      const page = led.headers.get("location")!;
      expect(await (await fetch(page)).text()).toContain("100 XOF");
      const enter = (number: string) =>
        fetch(page, { method: "POST", body: new URLSearchParams({ number }), redirect: "manual" });
      expect((await enter("abc")).status).toBe(422);
      const { url: notServed } = await fetch(`${page.slice(0, -3)}AAA`);
      expect((await fetch(notServed)).status).toBe(404);
      // A refusal records nothing, so the payer can enter another number.
      expect(await (await enter("22505002")).text()).toContain("MTN refused");
      await Promise.all([enter("2250501020304"), enter("2250501020304")]);
      expect(momo.find(reference)).toMatchObject([{ amount: "100", payer: { partyId: "2250501020304" } }]);
      expect(await (await fetch(page)).text()).toContain("Confirm the payment");
      momo.end(reference, "SUCCESSFUL");
      const back = await fetch(page, { redirect: "manual" });
      expect(back.headers.get("location")).toBe(`https://gateway.example/checkouts/${reference}/return`);
      await gateway.pass(60_000);
      const { status } = (await gateway.request("GET", `/v1/checkouts/${reference}`)).body.data;
      expect(status).toBe("success");
    });
  });
});
