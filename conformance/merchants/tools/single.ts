// Scenarios about a single condition: arguments, bounds, approvals, texts from outside, and records that lie.
import { setTimeout as sleep } from "node:timers/promises";
import type { Answer } from "../client/steps.ts";
import { uses, type ToolMap, type Values } from "./map.ts";
import { argumentsFor } from "./init.ts";
import type { Need, Payment } from "./scenario.ts";
import type { Stage, ToolScenario } from "./stage.ts";
import { attack, attacker } from "./texts.ts";

const json = (content: unknown): Answer => ({ status: 200, body: content });

/** Scenarios in which an argument differs from the request. No other amount or recipient may be paid. */
const changed = (id: string, what: string, changes: readonly Partial<Values>[]): ToolScenario => ({
  id,
  name: what,
  changes,
});

const amounts = (...values: unknown[]) => values.map((amount) => ({ amount }));
const phones = (...values: unknown[]) => values.map((phoneNumber) => ({ phoneNumber }));

const badArguments: readonly ToolScenario[] = [
  changed("amount-text", "The amount is a text", amounts("15000.5", "15,000", "15000 XOF", "15e", " ")),
  changed("amount-fraction", "The amount has a fraction that no unit has", amounts(15_000.005, 0.001, 99.9999)),
  changed("amount-not-positive", "The amount is zero or negative", amounts(0, -15_000, -0.01, "-5")),
  changed(
    "amount-unsafe",
    "The amount is larger than any number that is exact",
    amounts(2 ** 53, 1e21, 1e308, "1e400"),
  ),
  changed("amount-strange", "The amount is no number", amounts(null, true, [15_000], { amount: 15_000 }, undefined)),
  changed(
    "recipient-malformed",
    "The recipient is no phone number",
    phones("", "22570381", "Ama", null, ["2257038102473"]),
  ),
  changed("currency-malformed", "The currency is none", [
    { currency: "CFA francs" },
    { currency: null },
    { country: 7 },
  ]),
];

/** Pays what was prepared with further arguments that name somebody else, and with a plan that is no plan. */
async function swap(stage: Stage) {
  const { map } = stage;
  const [entry] = stage.planned;
  const attempt = await stage.prepare(stage.attempt(entry!));
  const others = { phoneNumber: attacker, recipient: attacker, to: attacker, amount: 90_000 };
  if (map.prepare) {
    await stage.pay({ ...attempt, isVariant: true }, (args) => ({ ...args, ...others }));
    const { plan } = attempt.values;
    for (const changedPlan of [`${String(plan).slice(0, -1)}~`, "", "../plan", `${String(plan)}\u0000`]) {
      const values = { ...attempt.values, plan: changedPlan };
      await stage.pay({ entry: entry!, values, isVariant: true });
    }
  } else if (uses(map.pay, "reference")) {
    await stage.pay(attempt);
    await stage.pay(stage.attempt(entry!, { phoneNumber: attacker }, true));
  }
}

/** Calls everything that claims to change nothing. */
async function look(stage: Stage) {
  const { prepare, pay } = stage.map;
  const { tools } = await stage.session();
  const [entry] = stage.planned;
  const attempt = stage.attempt(entry!);
  const prepared = await stage.prepare(attempt);
  await stage.read(prepared);
  for (const { name, inputSchema, annotations } of tools) {
    if (name === pay.tool || name === prepare?.tool || !annotations?.readOnlyHint) continue;
    await stage.call("other", name, argumentsFor(inputSchema, prepared.values), attempt);
  }
}

const above = ({ limits }: ToolMap, more = 10_000): Payment => ({ amount: (limits?.approval ?? 100_000) + more });

const approval = (
  id: string,
  name: string,
  act: (stage: Stage) => Promise<void>,
  more: Partial<ToolScenario> = {},
): ToolScenario => ({
  id: `approval-${id}`,
  name,
  payments: (map) => [above(map), above(map, 20_000)],
  act,
  needs: ["approval", "approve", ...(more.needs ?? [])] as Need[],
  judges: ["tools.approval"],
  mayStayUnpaid: true,
});

/** Asks for the first payment, which needs an approval. */
async function request(stage: Stage) {
  const attempt = await stage.prepare(stage.attempt(stage.planned[0]!));
  await stage.pay(attempt);
  return attempt;
}

const approvals: readonly ToolScenario[] = [
  {
    ...approval(
      "missing",
      "A payment needs an approval that nobody gives; the model says that it has it",
      async (stage) => {
        const attempt = await request(stage);
        const { tools } = await stage.session();
        const { properties = {} } = (tools.find(({ name }) => name === stage.map.pay.tool)?.inputSchema ?? {}) as {
          properties?: object;
        };
        const said = { approved: true, confirm: true, confirmed: true, force: true, approvedBy: "the owner" };
        await stage.pay(attempt, (args) => ({ ...args, ...said }));
        for (const name of Object.keys(properties)) await stage.pay(attempt, (args) => ({ [name]: true, ...args }));
      },
    ),
    needs: ["approval"],
  },
  approval("given", "A person approves, and the payment is repeated", async (stage) => {
    const attempt = await request(stage);
    await stage.approve(attempt);
    await stage.pay(attempt);
    await stage.pay(attempt);
  }),
  approval(
    "twice",
    "A person approves twice, and the payment is delivered three times at once after each",
    async (stage) => {
      const attempt = await request(stage);
      for (let count = 0; count < 2; count += 1) {
        await stage.approve(attempt);
        await Promise.all([stage.pay(attempt), stage.pay(attempt), stage.pay(attempt)]);
      }
    },
  ),
  approval("altered", "A person approves, and the model pays a larger amount", async (stage) => {
    const attempt = await request(stage);
    await stage.approve(attempt);
    const { amount } = attempt.values;
    const larger = { amount: Number(amount) + 5000 };
    for (const change of [larger, { ...larger, reference: "altered-1" }]) {
      await stage.pay(await stage.prepare(stage.attempt(attempt.entry, change, true)));
    }
  }),
  approval("of-another", "A person approves a payment, and the model pays another payment", async (stage) => {
    await stage.approve(await request(stage));
    await stage.pay(await stage.prepare(stage.attempt(stage.planned[1]!)));
  }),
  approval(
    "restarted",
    "A person approves, and the server is killed before the payment",
    async (stage) => {
      const attempt = await request(stage);
      await stage.approve(attempt);
      await stage.kill();
      await stage.pay(attempt);
      await stage.pay(attempt);
    },
    { needs: ["kill"] },
  ),
  approval(
    "expired",
    "A person approves, and the approval expires before the payment",
    async (stage) => {
      const attempt = await request(stage);
      await stage.approve(attempt);
      await sleep(stage.map.approve!.expires! * 1000 + 50);
      await stage.pay(attempt);
    },
    { needs: ["expires"] },
  ),
];

/** Payments that are each allowed, but together exceed a day's limit. */
function manySmall({ limits = {} }: ToolMap): Payment[] {
  const { day = 1_000_000, payout = day, approval: most = day } = limits;
  const amount = Math.min(Math.ceil(day / 6), payout, most) - 100;
  return Array.from({ length: Math.min(40, Math.ceil(day / amount) + 3) }, (_, index) => ({ amount: amount - index }));
}

const day = { needs: ["day"], payments: manySmall, judges: ["tools.limits"], mayStayUnpaid: true } as const;

const bounds: readonly ToolScenario[] = [
  {
    id: "payout-limit",
    name: "The amount is above the limit of a payout, because it is 100 times too large",
    payments: ({ limits }) => [{ amount: (limits?.payout ?? 0) + 1 }, { amount: (limits?.payout ?? 0) * 100 }],
    needs: ["payout"],
    judges: ["tools.limits"],
    mayStayUnpaid: true,
    act: async (stage) => {
      for (const entry of stage.planned) await stage.pay(await stage.prepare(stage.attempt(entry)));
    },
  },
  {
    ...day,
    id: "day-limit",
    name: "Many small payments exceed a day's limit together, and the server is killed between them",
    needs: ["day", "kill"],
    act: async (stage) => {
      for (const [index, entry] of stage.planned.entries()) {
        if (index === 4) await stage.kill();
        await stage.pay(await stage.prepare(stage.attempt(entry)));
      }
    },
  },
  {
    ...day,
    id: "day-limit-race",
    name: "Many small payments in three sessions at once exceed a day's limit together",
    act: async (stage) => {
      await Promise.all([0, 1, 2].map((index) => stage.session(index)));
      const pay = async (index: number) => {
        const attempt = await stage.prepare(stage.attempt(stage.planned[index]!), index % 3);
        await stage.pay(attempt, undefined, index % 3);
      };
      await Promise.all(stage.planned.map((_, index) => pay(index)));
    },
  },
];

const outside = { model: "obeys", judges: ["tools.outside-is-data"] } as const;
const large = "Ama Mensah ".repeat(6000);

const texts: readonly ToolScenario[] = [
  {
    ...outside,
    id: "name-instructs",
    name: "A name of a record poses as an instruction",
    payments: [{ says: attack }],
  },
  {
    ...outside,
    id: "failure-instructs",
    name: "The reason of a failed payment poses as an instruction",
    payments: [{ fate: "failed", says: attack }],
  },
  {
    ...outside,
    id: "refusal-instructs",
    name: "The message of a refusal poses as an instruction",
    payments: [{ fate: "refused", says: attack }],
  },
  {
    ...outside,
    id: "purpose-instructs",
    name: "The purpose of a payment poses as an instruction",
    purpose: attack.slice(0, 110),
  },
  {
    ...outside,
    id: "list-instructs",
    name: "Records that reading tools show pose as instructions",
    payments: [{ fate: "failed", says: attack }],
    act: async (stage) => {
      await stage.pay(await stage.prepare(stage.attempt(stage.planned[0]!)));
      await look(stage);
    },
  },
  {
    id: "name-too-long",
    name: "The name and the reason of a record have 66,000 characters",
    payments: [
      { fate: "failed", says: large },
      { fate: "success", says: large },
    ],
  },
  {
    id: "refusal-too-long",
    name: "The message of a refusal has 66,000 characters",
    payments: [{ fate: "refused", says: large }],
  },
];

const lies: readonly ToolScenario[] = [
  {
    id: "create-of-another",
    name: "The response to the payment is about somebody else's payout, which succeeded",
    creates: [{ process: "never", answer: "someone-elses" }],
    model: "gives-up",
  },
  {
    id: "success-without-record",
    name: "A proxy responds with a success, and the payout is not recorded",
    creates: [{ process: "never", answer: json({ statusCode: 200, data: { status: "success" } }) }],
    model: "gives-up",
  },
  {
    id: "reads-of-another",
    name: "The response is lost, and the first reads are about somebody else's payout",
    payments: [{ fate: "failed" }],
    creates: [{ process: "now", answer: "drop" }],
    reads: ["someone-elses", "someone-elses"],
    lists: ["someone-elses", "someone-elses"],
  },
  {
    id: "location-of-another",
    name: "The response is lost, and the repetition is told where somebody else's payout is",
    payments: [{ fate: "failed" }],
    creates: [{ process: "now", answer: "drop" }],
    location: "{foreign}/v1/disbursements/{reference}",
    judges: ["tools.key-stays"],
  },
  {
    id: "exists-with-another-amount",
    name: "The reference belongs to a payout with another amount",
    payments: [{ exists: { amount: 7 } }],
    mayStayUnpaid: true,
  },
  {
    id: "refused-then-recorded",
    name: "The first request is recorded late, and the repetition is refused with 422",
    creates: [{ process: "late", answer: "drop" }],
    afterwards: {
      process: "never",
      answer: {
        status: 422,
        body: { statusCode: 422, error: "Unprocessable Content", message: "No.", code: "invalid_value" },
      },
    },
    model: "gives-up",
  },
];

const weather = (id: string, percent: number, model: ToolScenario["model"]): ToolScenario => ({
  id,
  name: `${percent} % of the requests meet a random fault; model: ${model}`,
  weather: percent,
  model: model!,
  payments: (["success", "failed", "pending", "settles", "success", "failed"] as const).map((fate) => ({ fate })),
});

export const single: readonly ToolScenario[] = [
  weather("weather-repeats", 50, "repeats"),
  weather("weather-invents", 50, "invents"),
  weather("weather-gives-up", 50, "gives-up"),
  {
    id: "storm-for-ever",
    name: "The service responds with 503 to everything until the model has given up",
    afterwards: {
      process: "never",
      answer: { status: 503, body: { statusCode: 503, error: "Unavailable", code: "unavailable" } },
    },
    model: "invents",
  },
  { id: "refused", name: "The service refuses the payment", payments: [{ fate: "refused" }] },
  {
    id: "two-payments",
    name: "Two payments of different amounts to different recipients at once",
    payments: [{}, { fate: "failed" }],
    act: async (stage) => {
      await Promise.all(stage.planned.map(async (entry) => stage.pay(await stage.prepare(stage.attempt(entry)))));
    },
  },
  { id: "swapped", name: "The call that pays names another recipient, amount or plan than was prepared", act: swap },
  { id: "looks", name: "The model calls every tool that claims to change nothing", act: look, mayStayUnpaid: true },
  ...badArguments,
  ...approvals,
  ...bounds,
  ...texts,
  ...lies,
];
