import { expect, test } from "vitest";
import { createBudget } from "../target/budget.ts";
import type { HttpClient } from "../target/http.ts";
import type { RunOptions } from "../run-options.ts";
import type { Receiver } from "../target/receiver.ts";
import { createRedactor } from "../target/redact.ts";
import { createSession } from "../run/session.ts";
import { createTarget } from "../target/target.ts";
import { signatureChecks } from "./signatures.ts";
import { webhookChecks } from "./webhooks.ts";

const address = "http://127.0.0.1:4/box-1";
const refused = "127.0.0.1 is a loopback address; webhooks do not go there.";
const deliveries = [
  { url: "http://127.0.0.1:4/box-2", attempts: [{ error: "Another's." }] },
  { url: address, attempts: [{ error: "An earlier one." }, { error: refused }] },
];

/** Carries one check out against a target that pays, and whose webhooks never arrive. */
async function judged(environment: RunOptions["environment"], listing: object, id: string) {
  let time = 0;
  const now = () => new Date(time);
  const sleep = async (ms: number) => void (time += ms);
  const asked: string[] = [];
  const http: HttpClient = {
    async send({ path }) {
      asked.push(path);
      const record = { reference: "S1", merchantsReference: "M1", status: "success", secret: "whsec_b3du" };
      const body = path.startsWith("/sandbox/deliveries") ? listing : { statusCode: 200, data: record };
      const headers = { "content-type": "application/json" };
      return { status: 200, headers, body: Buffer.from(JSON.stringify(body)) };
    },
    close() {},
  };
  const options = {
    baseUrl: "http://127.0.0.1:1",
    profile: "extended",
    effects: "money",
    key: "key-of-the-tests",
    recipient: "2257038102473",
    headers: {},
    timeoutMs: 1000,
    runId: "r1",
    environment,
  } as unknown as RunOptions;
  const redact = createRedactor(["key-of-the-tests"], []);
  const target = createTarget(options, { http, budget: createBudget(9, 9000), redact, now, sleep });
  const receiver: Receiver = { openMailbox: () => ({ url: address, received: [] }), all: [], close: async () => {} };
  const check = [...webhookChecks, ...signatureChecks].find(({ ids }) => ids.includes(id));
  const report = await createSession(options, { target, receiver, now, sleep }).runCheck(check!);
  return { result: report.results[id], asked };
}

test.each(["webhook.disbursement-success", "webhook.truth", "signature.headers"])(
  "%s: where no notification came, the reason that the sandbox noted of the delivery is quoted",
  async (id) => {
    const { result } = await judged("sandbox", { statusCode: 200, data: { deliveries } }, id);
    expect(result).toMatchObject({ verdict: "fail", actual: expect.stringContaining(refused) });
    expect(result?.actual).not.toMatch(/Another's|An earlier one/);
  },
);

test.each([
  ["lists none for it", { data: { deliveries: deliveries.slice(0, 1) } }, "lists no delivery to this address"],
  ["lists one without an attempt", { data: { deliveries: [{ url: address, attempts: [] }] } }, "no reason"],
  ["cannot be understood", { error: "no such thing" }, "private addresses"],
])("a sandbox that %s", async (_, listing, text) => {
  const { result } = await judged("sandbox", listing, "webhook.disbursement-success");
  expect(result).toMatchObject({ verdict: "fail", actual: expect.stringContaining(text) });
});

test("a target that is no sandbox is not asked; where to look is said", async () => {
  const { result, asked } = await judged(undefined, {}, "webhook.disbursement-success");
  expect(result?.actual).toMatch(/0 came.*private addresses.*--webhook-url/);
  expect(asked.filter((path) => path.startsWith("/sandbox"))).toEqual([]);
});
