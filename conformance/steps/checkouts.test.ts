import { describe, expect, test } from "vitest";
import { createSession } from "../run/session.ts";
import type { Control, RunOptions } from "../run-options.ts";
import { createBudget } from "../target/budget.ts";
import type { HttpClient } from "../target/http.ts";
import type { Person, Task } from "../target/person.ts";
import type { Notification, Receiver } from "../target/receiver.ts";
import { createRedactor } from "../target/redact.ts";
import { createTarget } from "../target/target.ts";
import { checks as redirectChecks } from "../topics/checkout/checks.ts";
import { checks as webhookChecks } from "../topics/webhook/checks.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";

const page = "https://pay.example/1";

/**
 * Runs the core check of a requirement on a target without a finish control.
 * @param person what the person does
 * @param notifies true if a task that was done causes a notification
 */
async function judged(id: RequirementId, person: Person | undefined, notifies = true, controls: Control[] = []) {
  let time = 0;
  const now = () => new Date(time);
  const sleep = async (ms: number) => void (time += ms);
  const http: HttpClient = {
    async send({ method, path, body }) {
      const headers = { "content-type": "application/json" };
      const known = method === "POST" ? path === "/v1/checkouts" : path.endsWith("/C1");
      // The response repeats the request's addresses before it names the page.
      const sent = JSON.parse(body?.toString() ?? "{}") as object;
      const json = { data: { ...sent, reference: "C1", status: "pending", link: page } };
      return { status: known ? 200 : 404, headers, body: Buffer.from(JSON.stringify(known ? json : {})) };
    },
    close() {},
  };
  const options = {
    baseUrl: "http://127.0.0.1:1",
    profile: "core",
    effects: "money",
    key: "key-of-the-tests",
    recipient: "2257038102473",
    headers: {},
    timeoutMs: 1000,
    settleTimeoutMs: 1000,
    runId: "r1",
    controls,
    assumed: [],
    ...(person ? { interactive: true } : {}),
  } as unknown as RunOptions;
  const redact = createRedactor(["key-of-the-tests"], []);
  const target = createTarget(options, { http, budget: createBudget(9, 9000), redact, now, sleep });
  const all: Notification[] = [];
  const tasks: Task[] = [];
  let received: Notification[] = [];
  const receiver: Receiver = {
    openMailbox: () => ({ name: "box-1", url: "http://127.0.0.1:4/box-1", received: (received = []) }),
    mailboxOf: () => undefined,
    all,
    close: async () => {},
  };
  const watched: Person = async (task) => {
    tasks.push(task);
    const reply = await person!(task);
    if (reply === "yes" && notifies) received.push({ headers: {}, body: "{}" } as Notification);
    return reply;
  };
  const check = [...webhookChecks, ...redirectChecks].find(({ ids }) => ids.includes(id))!;
  const deps = { target, receiver, now, sleep, ...(person ? { person: watched } : {}) };
  const report = await createSession(options, deps).runCheck(check);
  return { verdict: report.results[id]?.verdict, tasks, report };
}

const says =
  (reply: Awaited<ReturnType<Person>>): Person =>
  async () =>
    reply;

describe("webhook.checkout-outcome", () => {
  const id = "webhook.checkout-outcome";

  test("is judged on the checkouts that a person finishes", async () => {
    const { verdict, tasks, report } = await judged(id, says("yes"));
    expect(verdict).toBe("pass");
    expect(tasks.map(({ link }) => link)).toEqual([page, page, page]);
    expect(tasks.map(({ what }) => /pay it|fail|cancel/.exec(what)?.[0])).toEqual(["pay it", "fail", "cancel"]);
    expect(report.observed).toContainEqual(expect.objectContaining({ requirement: "checkout.states" }));
  });

  test("fails if no notification follows", async () => {
    expect((await judged(id, says("yes"), false)).verdict).toBe("fail");
  });

  test("is not judged on what the person skips, and the caller is the reason", async () => {
    const { verdict, report } = await judged(id, says("skipped"));
    expect([verdict, report.notApplicable[id]?.code]).toEqual([undefined, "caller"]);
  });

  test("is not applicable without a person, because the target has no control", async () => {
    const { verdict, report } = await judged(id, undefined);
    expect([verdict, report.notApplicable[id]?.code]).toEqual([undefined, "target"]);
  });

  test("does not ask a person for what the target's control can do", async () => {
    expect((await judged(id, says("yes"), true, ["finish"])).tasks).toEqual([]);
  });
});

test.each([
  ["yes", "pass"],
  ["no", "fail"],
  ["skipped", undefined],
] as const)("checkout.redirect after a person says %s: %s", async (reply, expected) => {
  const { verdict, tasks } = await judged("checkout.redirect", says(reply));
  expect([verdict, tasks[0]?.link]).toEqual([expected, page]);
  expect(tasks[0]?.question).toMatch(/lead you to https:\/\/127.0.0.1:4\/orders\/.*\?step=done/);
});
