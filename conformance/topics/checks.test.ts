// Runs single checks against targets that pay late, send nothing, need a person or fail, on a simulated clock.
import { describe, expect, test } from "vitest";
import { createSession } from "../run/session.ts";
import type { RunOptions } from "../run-options.ts";
import type { Person, Task } from "../target/person.ts";
import type { Notification } from "../target/receiver.ts";
import { scriptedTarget } from "../testing/scripted-target.ts";
import { checks } from "./index.ts";

type Sent = { method: string; path: string; body: Record<string, unknown> };
type Setting = {
  /** The body of a response, or its status. */
  respond: (request: Sent, seconds: number) => object | number;
  options?: Partial<RunOptions>;
  person?: Person;
  /** True if a task that a person has done causes a notification. */
  notifies?: boolean;
};

const address = "http://127.0.0.1:4/box-1";

/** Runs the first check of a requirement against a target that responds like this. */
async function judged(id: string, { respond, options, person, notifies = true }: Setting) {
  const sent: Sent[] = [];
  const tasks: Task[] = [];
  let received: Notification[] = [];
  const { target, now, sleep } = scriptedTarget(async ({ method, path, body }) => {
    const request = { method, path, body: JSON.parse(body?.toString() || "{}") as Sent["body"] };
    sent.push(request);
    const reply = respond(request, now().getTime() / 1000);
    const [status, json] = typeof reply === "number" ? [reply, {}] : [200, reply];
    return { status, headers: { "content-type": "application/json" }, body: Buffer.from(JSON.stringify(json)) };
  });
  const run = { profile: "extended", settleTimeoutMs: 90_000, controls: [], assumed: [], recipient: "2257038102473" };
  const all = { ...target.options, ...run, ...options } as unknown as RunOptions;
  const receiver = {
    openMailbox: () => ({ name: "box-1", url: address, received: (received = []) }),
    mailboxOf: () => undefined,
    all: [],
    close: async () => {},
  };
  const watched: Person = async (task) => {
    tasks.push(task);
    const reply = await person!(task);
    if (reply === "yes" && notifies) received.push({ headers: {}, body: "{}" } as Notification);
    return reply;
  };
  const session = createSession(all, { target, receiver, now, sleep, ...(person ? { person: watched } : {}) });
  const check = checks.find(({ ids, phase }) => ids.includes(id) && phase === undefined)!;
  const again = async () => {
    const start = now().getTime();
    const report = await session.runCheck(check);
    return { report, result: report.results[id], seconds: (now().getTime() - start) / 1000 };
  };
  return { ...(await again()), again, sent, tasks };
}

describe("a payout that settles late", () => {
  const settling = (settlesAt: number, controls: RunOptions["controls"] = []) =>
    judged("verify.transitions", {
      options: { controls },
      respond({ path }, seconds) {
        const isMoved = controls.length > 0 && path === "/v1/disbursements/R" && seconds > 0;
        const status = seconds >= settlesAt || isMoved ? "success" : "pending";
        return { data: { reference: "R", status } };
      },
    });

  test("is waited for", async () => {
    const { result, seconds, sent } = await settling(80);
    expect(result?.actual).toBe('statuses: ["pending","success"]');
    expect(Math.floor(seconds / 3)).toBe(26);
    expect(sent.length).toBeLessThan(75);
  });

  test("is not judged after --settle-timeout, which a run waits for only once", async () => {
    const { result, seconds, again } = await settling(Infinity);
    const actual = "a payout was still pending after 90 s: if the target needs longer, raise --settle-timeout SECONDS";
    expect(result).toMatchObject({ verdict: "could-not-run", actual });
    expect(Math.round(seconds)).toBe(90);
    expect((await again()).seconds).toBeLessThan(2);
  });
});

const refused = "127.0.0.1 is a loopback address; webhooks do not go there.";
const other = { url: "http://127.0.0.1:4/box-2", attempts: [{ error: "Another's." }] };
const own = { url: address, attempts: [{ error: "An earlier one." }, { error: refused }] };

test.each<[string, RunOptions["controls"], object[], string]>([
  ["what a sandbox says about it", ["deliveries"], [other, own], `reports: ${refused}`],
  ["that a sandbox knows nothing about it", ["deliveries"], [other], "lists no delivery to this address"],
  ["what may hinder it", [], [], "private addresses"],
])("a notification that does not arrive fails, with %s", async (_, controls, items, text) => {
  const { result } = await judged("webhook.disbursement-success", {
    options: { controls },
    respond({ path }) {
      if (path.startsWith("/sandbox/deliveries")) return controls.length > 0 ? { data: { items } } : 500;
      return { data: { reference: "S1", merchantsReference: "M1", status: "success" } };
    },
  });
  expect(result).toMatchObject({ verdict: "fail", actual: expect.stringContaining(text) });
});

describe("a person who finishes checkouts", () => {
  const page = "https://pay.example/1";
  const withPerson = (id: string, reply?: Awaited<ReturnType<Person>>, more: Partial<Setting> = {}) =>
    judged(id, {
      respond({ method, path, body }) {
        const known = method === "POST" ? path === "/v1/checkouts" : path.endsWith("/C1");
        // The response repeats the request's addresses before it names the page.
        return known ? { data: { ...body, reference: "C1", status: "pending", link: page } } : 404;
      },
      ...more,
      options: { profile: "core", ...(reply ? { interactive: true } : {}), ...more.options },
      ...(reply ? { person: async () => reply } : {}),
    });
  const id = "webhook.checkout-outcome";

  test("pays, fails and cancels one", async () => {
    const { result, tasks, report } = await withPerson(id, "yes");
    expect(result?.verdict).toBe("pass");
    expect(tasks.map(({ link, what }) => [link, /pay it|fail|cancel/.exec(what)?.[0]])).toEqual(
      ["pay it", "fail", "cancel"].map((what) => [page, what]),
    );
    expect(report.observed).toContainEqual(expect.objectContaining({ requirement: "checkout.states" }));
  });

  test.each([
    ["an outcome without a notification fails", "yes", { notifies: false }, "fail", undefined],
    ["a skipped task is not judged", "skipped", {}, undefined, "caller"],
    ["without a person nothing is judged", undefined, {}, undefined, "target"],
    ["is not asked for what a control can do", "yes", { options: { controls: ["finish"] } }, undefined, "caller"],
  ] as const)("%s", async (_, reply, more, verdict, code) => {
    const { result, report, tasks } = await withPerson(id, reply, more as Partial<Setting>);
    expect([result?.verdict, report.notApplicable[id]?.code]).toEqual([verdict, code]);
    if ("options" in more) expect(tasks).toEqual([]);
  });

  test.each([
    ["yes", "pass"],
    ["no", "fail"],
    ["skipped", undefined],
  ] as const)("is asked whether the page leads back: %s, %s", async (reply, verdict) => {
    const { result, tasks } = await withPerson("checkout.redirect", reply);
    expect([result?.verdict, tasks[0]?.link]).toEqual([verdict, page]);
    expect(tasks[0]?.question).toMatch(/lead you to https:\/\/127.0.0.1:4\/orders\/.*\?step=done/);
  });
});

test("a sandbox has its balance again if a request of the check throws", async () => {
  const { report, sent } = await judged("balances.insufficient-funds", {
    respond({ method }) {
      if (method === "POST") throw new Error("no such socket");
      return { data: { items: [{ currency: "XUA", available: 70, enforced: true }] } };
    },
  });
  expect(report.error).toContain("no such socket");
  const { body } = sent.findLast(({ method }) => method === "PUT")!;
  expect(body).toEqual({ currency: "XUA", available: 70, enforced: true });
});
