// D18: the sandbox's own operations.
import { describeResponse, type Check } from "../check.ts";
import { dataOf, paid, usualAmount, verified } from "./requests.ts";
import { advance, forcing } from "./sandbox-controls.ts";

const operations: [method: string, path: string][] = [
  ["GET", "/sandbox/clock"],
  ["POST", "/sandbox/clock/advance"],
  ["POST", "/sandbox/reset"],
  ["GET", "/sandbox/events"],
  ["GET", "/sandbox/deliveries"],
  ["POST", "/sandbox/deliveries/certify/replay"],
  ["POST", "/sandbox/checkouts/certify/finish"],
  ["GET", "/sandbox/webhook-secret"],
  ["POST", "/sandbox/webhook-secret/rotate"],
];

const badSteps: [string, unknown, number][] = [
  ["-1", -1, 422],
  ["more than a year", 31_536_001, 422],
  ["1.5", 1.5, 400],
  ["the text 60", "60", 400],
  ["nothing", undefined, 400],
];

/** How far the real clock may have moved on between two looks. */
const slackMs = 10_000;

export const sandboxChecks: Check[] = [
  {
    name: "the sandbox is closed without a valid key",
    ids: ["sandbox.needs-key"],
    effect: "must-be-rejected",
    needs: ["sandbox"],
    async run(context) {
      for (const [method, path] of operations) {
        for (const key of ["none", { value: `certify-wrong-${context.options.runId}` }] as const) {
          const json = method === "POST" ? { seconds: 0, outcome: "success" } : undefined;
          const response = await context.target.send({ method, path, key, json, effect: "must-be-rejected" });
          const what = key === "none" ? "without a key" : "with a wrong key";
          context.judge(
            "sandbox.needs-key",
            response.status === 401,
            `401 to ${method} ${path} ${what}`,
            describeResponse(response),
            [response],
          );
        }
      }
    },
  },
  {
    name: "steps that the clock does not take",
    ids: ["sandbox.clock-bounds"],
    effect: "must-be-rejected",
    needs: ["sandbox"],
    async run(context) {
      for (const [what, seconds, expected] of badSteps) {
        const request = { method: "POST", path: "/sandbox/clock/advance", effect: "must-be-rejected" } as const;
        const response = await context.target.send({ ...request, json: { seconds } });
        context.judge(
          "sandbox.clock-bounds",
          response.status === expected,
          `${expected} to ${what} seconds`,
          describeResponse(response),
          [response],
        );
      }
    },
  },
  {
    name: "the sandbox time moves, and what falls due happens",
    ids: ["sandbox.clock"],
    effect: "moves-money",
    payouts: 1,
    amount: usualAmount,
    needs: ["sandbox"],
    async run(context) {
      const { reference } = await paid(context, { phoneNumber: forcing("089") });
      const before = await context.target.send({ method: "GET", path: "/sandbox/clock" });
      const start = Date.parse(String(dataOf(before)["now"]));
      const moved = await advance(context, 3600);
      const end = Date.parse(String(dataOf(moved)["now"]));
      const ok = end - start >= 3_600_000 && end - start < 3_600_000 + slackMs;
      context.judge(
        "sandbox.clock",
        ok,
        "a clock that is an hour further",
        `${describeResponse(before)}, then ${describeResponse(moved)}`,
      );
      const { data } = await verified(context, reference);
      context.judge(
        "sandbox.clock",
        data.status === "failed",
        "the payout that fell due has failed at once",
        data.status,
      );
      const age = Date.parse(data.updatedAt) - Date.parse(data.createdAt);
      context.judge(
        "sandbox.clock",
        age > 0 && age < 600_000,
        "settled at its own time, not at the end of the step",
        `${age} ms after it was created`,
      );
    },
  },
  {
    name: "each merchant has a time of its own",
    ids: ["sandbox.clock-own"],
    effect: "moves-money",
    needs: ["sandbox", "second-key"],
    async run(context) {
      const read = async () => {
        const response = await context.target.send({ method: "GET", path: "/sandbox/clock", key: "second" });
        return Date.parse(String(dataOf(response)["now"]));
      };
      const before = await read();
      await advance(context, 7200);
      const after = await read();
      context.judge(
        "sandbox.clock-own",
        after - before < slackMs,
        "the other merchant's time as it was",
        `${after - before} ms further`,
      );
    },
  },
];
