import { expect, test } from "vitest";
import { createSession } from "../../run/session.ts";
import type { RunOptions } from "../../run-options.ts";
import { createBudget } from "../../target/budget.ts";
import type { HttpClient } from "../../target/http.ts";
import { createRedactor } from "../../target/redact.ts";
import { createTarget } from "../../target/target.ts";
import { checks } from "./checks.ts";

const now = () => new Date(0);
const sleep = async () => {};

test("the sandbox has its balance again if a request of the check throws", async () => {
  const balances: unknown[] = [];
  const http: HttpClient = {
    async send({ method, body }) {
      if (method === "POST") throw new Error("no such socket");
      if (method === "PUT") balances.push(JSON.parse(String(body)));
      const data = { items: [{ currency: "XUA", available: 70, enforced: true }] };
      return { status: 200, headers: {}, body: Buffer.from(JSON.stringify({ statusCode: 200, data })) };
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
    controls: [],
    assumed: [],
  } as unknown as RunOptions;
  const redact = createRedactor([], []);
  const target = createTarget(options, { http, budget: createBudget(9, 1e9), redact, now, sleep });
  const check = checks.find(({ ids }) => ids.includes("balances.insufficient-funds"))!;
  const report = await createSession(options, { target, now, sleep }).runCheck(check);
  expect(report.error).toContain("no such socket");
  expect(balances.at(-1)).toEqual({ currency: "XUA", available: 70, enforced: true });
});
