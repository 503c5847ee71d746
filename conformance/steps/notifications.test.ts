import { expect, test } from "vitest";
import { createBudget } from "../target/budget.ts";
import type { HttpClient } from "../target/http.ts";
import type { RunOptions } from "../run-options.ts";
import type { Receiver } from "../target/receiver.ts";
import { createRedactor } from "../target/redact.ts";
import { createSession } from "../run/session.ts";
import { createTarget } from "../target/target.ts";
import { eventName } from "./notifications.ts";
import { checks as signatureChecks } from "../topics/events/checks.ts";
import { checks as webhookChecks } from "../topics/webhook/checks.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";

const address = "http://127.0.0.1:4/box-1";
const refused = "127.0.0.1 is a loopback address; webhooks do not go there.";
const deliveries = [
  { url: "http://127.0.0.1:4/box-2", attempts: [{ error: "Another's." }] },
  { url: address, attempts: [{ error: "An earlier one." }, { error: refused }] },
];

/** Runs one check against a target that accepts payouts but sends no webhooks. */
async function judged(controls: RunOptions["controls"], listing: object, id: RequirementId) {
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
    settleTimeoutMs: 1000,
    runId: "r1",
    environment: controls.length > 0 ? "sandbox" : undefined,
    controls,
    assumed: [],
  } as unknown as RunOptions;
  const redact = createRedactor(["key-of-the-tests"], []);
  const target = createTarget(options, { http, budget: createBudget(9, 9000), redact, now, sleep });
  const receiver: Receiver = {
    openMailbox: () => ({ name: "box-1", url: address, received: [] }),
    mailboxOf: () => undefined,
    all: [],
    close: async () => {},
  };
  const check = [...webhookChecks, ...signatureChecks].find(({ ids }) => ids.includes(id));
  const report = await createSession(options, { target, receiver, now, sleep }).runCheck(check!);
  return { result: report.results[id], asked };
}

test.each(["webhook.disbursement-success", "webhook.truth", "signature.headers"] as const)(
  "%s: quotes the delivery error that the sandbox recorded when no notification is received",
  async (id) => {
    const { result } = await judged(["deliveries"], { statusCode: 200, data: { items: deliveries } }, id);
    expect(result).toMatchObject({ verdict: "fail", actual: expect.stringContaining(refused) });
    expect(result?.actual).not.toMatch(/Another's|An earlier one/);
  },
);

test.each([
  [
    "lists no delivery to the address",
    { data: { items: deliveries.slice(0, 1) } },
    "lists no delivery to this address",
  ],
  ["lists a delivery without attempts", { data: { items: [{ url: address, attempts: [] }] } }, "no reason"],
  ["returns no list", { error: "no such thing" }, "private addresses"],
])("says what to check if the sandbox %s", async (_, listing, text) => {
  const { result } = await judged(["deliveries"], listing, "webhook.disbursement-success");
  expect(result).toMatchObject({ verdict: "fail", actual: expect.stringContaining(text) });
});

test("says what to check, without asking for deliveries, if the target lists none", async () => {
  const { result, asked } = await judged([], {}, "webhook.disbursement-success");
  expect(result?.actual).toMatch(/0 received.*private addresses.*--webhook-url/);
  expect(asked.filter((path) => path.startsWith("/sandbox"))).toEqual([]);
});

test.each([
  ["a text", { event: "disbursement.completed", data: { merchant: { name: "Ada" }, type: "payout" } }],
  ["a field of an object", { event: { id: "e1", type: "disbursement.completed" }, name: 1 }],
  ["another field", { name: "Ada", type: "disbursement.completed" }],
])("the name of an event is %s, and no other text of the body", (_, body) => {
  expect(eventName(body)).toBe("disbursement.completed");
});

test("an event without a name has none", () => {
  expect([eventName({ data: { name: "Ada", event: "x" } }), eventName("text"), eventName(null)]).toEqual(
    Array.from({ length: 3 }),
  );
});
