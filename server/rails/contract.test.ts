// A gateway whose rail is another service with this contract: here, the sandbox of a second server.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { RailError, type Rail, type RailCall, type RailPayment } from "../domain/rails.ts";
import { railsOf } from "../testing/rail.ts";
import { startReceiver, type Receiver } from "../testing/receiver.ts";
import { startServer, type TestServer } from "../testing/server.ts";
import { checkedRail } from "./checked-rail.ts";
import { createContractRail } from "./contract.ts";
import { railSuite, startFaultyGateway } from "./suite/index.ts";

const [PENDING, SUCCESS, FAILED] = ["2257038102473", "2250000000001", "2250000000002"];
let service: TestServer;
let rail: Rail;
/** Each replaces `fetch` for one call. */
let transports: (typeof fetch)[];
const env = { WEBHOOK_ALLOW_PRIVATE: "true", WEBHOOK_ALLOW_INSECURE: "true" };
const secretOf = async ({ request }: TestServer) =>
  (await request("GET", "/sandbox/webhook-secret")).body.data.secret as string;

beforeEach(async () => {
  transports = [];
  service = await startServer({ seed: 5, env });
  rail = checkedRail(
    createContractRail({
      url: service.url,
      apiKey: service.key,
      webhookSecrets: [await secretOf(service)],
      now: service.clock.now,
      fetch: (input, init) => (transports.shift() ?? fetch)(input, init),
    }),
  );
});
afterEach(() => service.close());

test("a payout has our reference at the rail, whose webhook or response makes it final here", async () => {
  const gateway = await startServer({ env: { SANDBOX: "false" }, rails: railsOf(rail) });
  const recordOf = async (reference: string) =>
    (await gateway.request("GET", `/v1/disbursements/${reference}`)).body.data;
  async function pay(phoneNumber: string) {
    const { reference } = (await gateway.createPayout({ phoneNumber })).body.data;
    await gateway.pass(0);
    return reference;
  }
  const reference = await pay(PENDING!);
  expect(await recordOf(reference)).toMatchObject({ status: "pending" });
  const atRail = await service.request("GET", `/v1/disbursements?merchantsReference=${reference}`);
  expect(atRail.body.data.items).toMatchObject([{ amount: 10_000, merchantsReference: reference }]);
  await service.pass(2_000);
  expect(await recordOf(reference)).toMatchObject({ status: "success" });
  expect(await recordOf(await pay(FAILED!))).toMatchObject({ status: "failed", failure: { code: "rejected" } });
  await gateway.close();
});

const payment = (phoneNumber = PENDING!): RailPayment => ({
  kind: "disbursement",
  reference: "DSB-ours",
  amount: 10_000,
  country: "CI",
  currency: "XOF",
  phoneNumber,
  createdAt: 0,
});
const call: RailCall = {
  signal: new AbortController().signal,
  notifyUrl: "https://gateway.example/rails/test/webhooks",
  returnUrl: "https://gateway.example/",
  inDoubt: false,
};
/** Passes a request on, and changes the response. */
const rewritten =
  (from: string | RegExp, to: string): typeof fetch =>
  async (input, init) => {
    const response = await fetch(input, init);
    return new Response((await response.text()).replaceAll(from, to), response);
  };
const lost = (code: string) => new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) });

test("an unknown status of the rail counts as pending, and an unknown failure code as `other`", async () => {
  const held = rewritten('"status":"success"', '"status":"held"');
  transports.push(held, held);
  expect(await rail.pay(payment(SUCCESS), call)).toMatchObject({ status: "pending" });
  const asleep = rewritten('"code":"rejected"', '"code":"wallet_asleep"');
  transports.push(asleep, asleep);
  expect(await rail.pay({ ...payment(FAILED), reference: "DSB-other" }, call)).toMatchObject({
    status: "failed",
    failure: { code: "other" },
  });
});

test.each([400, 401, 404, 422, 429, 503, "lost"] as const)(
  "a payout that the rail took stays pending if the look-up after that ends with %s",
  async (status) => {
    transports.push(rewritten('"status":"success"', '"status":"failed"'), async () => {
      if (status === "lost") throw lost("ECONNRESET");
      return Response.json({ statusCode: status, error: "Error", message: "no", code: "invalid_value" }, { status });
    });
    const answer = await rail.pay(payment(SUCCESS), call);
    expect(answer).toMatchObject({ status: "pending", railReference: expect.stringMatching(/^DSB/) });
    expect(await rail.find({ ...payment(SUCCESS), ...answer }, call)).toMatchObject({ status: "success" });
  },
);

test("a list that hides digits of phone numbers leaves no payout in doubt", async () => {
  await rail.pay(payment(), call);
  transports.push(rewritten(/"phoneNumber":"\d+"/g, '"phoneNumber":"2257*****473"'));
  expect(await rail.find(payment(), { ...call, inDoubt: true })).toMatchObject({ status: "pending" });
});

test("a refused connection has sent nothing", async () => {
  transports.push(() => Promise.reject(lost("ECONNREFUSED")));
  await expect(rail.pay(payment(), call)).rejects.toBeInstanceOf(RailError);
});

test("without a webhook secret no report is accepted: anybody could forge it", () => {
  const { receive } = createContractRail({ url: service.url, apiKey: "key", webhookSecrets: [], now: Date.now });
  expect(receive).toBeUndefined();
});

let receiver: Receiver;
railSuite(
  "a service with this contract",
  {
    async open() {
      receiver = await startReceiver();
      const behind = await startServer({ seed: 9, env });
      const secret = await secretOf(behind);
      const between = await startFaultyGateway(behind.url, (method) => method === "POST");
      const railWith = (apiKey: string) =>
        createContractRail({ url: between.url, apiKey, webhookSecrets: [secret], now: behind.clock.now });
      const refused = { statusCode: 422, error: "Unprocessable Entity", code: "limit_exceeded", message: "Too much." };
      return {
        rail: railWith(behind.key),
        async recorded(reference) {
          const found = await behind.request("GET", `/v1/disbursements?merchantsReference=${reference}`);
          return found.body.data.items.length;
        },
        end: () => behind.pass(2_000),
        contradict: async ({ reference }) =>
          between.rewrite((body) =>
            body.includes(reference) ? body.replaceAll('"status":"success"', '"status":"failed"') : body,
          ),
        gateway: between,
        refusal: { status: 422, body: refused },
        withWrongCredentials: async () => railWith("wrong"),
        elsewhere: async () => railWith(behind.key),
        async notificationOf({ reference }) {
          const isOurs = ({ body }: Receiver["received"][number]) => body.data.merchantsReference === reference;
          const { headers, text } = await vi.waitUntil(() => receiver.received.find(isOurs), 250_000);
          return { headers, body: Buffer.from(text) };
        },
        async close() {
          await between.close();
          await behind.close();
          await receiver.close();
        },
      };
    },
    notifyUrl: () => receiver.url,
    numbers: { success: PENDING!, failed: "2250000000089" },
  },
  { describe, test, before: beforeAll, after: afterAll },
);
