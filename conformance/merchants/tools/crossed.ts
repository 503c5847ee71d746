// Scenarios that combine how a payment's response is lost, how the host delivers the call, which model makes the call,
// and how the payment ends. Tools pay twice when two of these conditions meet, so every pair of values occurs.
import { covering } from "../../generate/covering.ts";
import type { Fate } from "../client/entries.ts";
import type { Answer, Step } from "../client/steps.ts";
import { gateway } from "../client/weather.ts";
import { deliveries, type Model } from "./scenario.ts";
import type { ToolScenario } from "./stage.ts";

const step = (process: Step["process"], answer: Answer): Step => ({ process, answer });
const body = (statusCode: number, error: string, code: string) => ({ statusCode, error, message: "Try later.", code });
const unavailable: Answer = {
  status: 503,
  headers: { "retry-after": "0" },
  body: body(503, "Unavailable", "unavailable"),
};
const limited: Answer = { status: 429, headers: { "retry-after": "0" }, body: body(429, "Too Many", "rate_limited") };
const failure: Answer = { status: 500, body: body(500, "Internal Server Error", "internal_error") };
const many = (answer: Answer) => Array.from({ length: 60 }, () => answer);

type Loss = Pick<ToolScenario, "creates" | "afterwards" | "reads" | "lists" | "kill"> & { about: string };

export const losses: Readonly<Record<string, Loss>> = {
  calm: { about: "every response arrives" },
  lost: { about: "the request is lost", creates: [step("never", "drop")] },
  dropped: { about: "the payout is recorded and its response lost", creates: [step("now", "drop")] },
  silence: { about: "the payout is recorded and nothing is sent", creates: [step("now", "silence")] },
  gateway: { about: "the payout is recorded and a gateway responds with 504", creates: [step("now", gateway(504))] },
  failure: { about: "the payout is recorded and the response is 500", creates: [step("now", failure)] },
  late: { about: "the response is 503, and the payout is recorded later", creates: [step("late", unavailable)] },
  twice: { about: "the network delivers the request twice", creates: [step("twice", "honest")] },
  storm: {
    about: "429 and 503 alternate, and the payout is recorded in between",
    creates: [step("never", limited), step("now", unavailable), step("never", limited), step("never", unavailable)],
  },
  blackout: {
    about: "the payout is recorded, and from then on every response is lost",
    creates: [step("now", "drop")],
    afterwards: step("now", "drop"),
    reads: many("drop"),
    lists: many("drop"),
  },
  "killed-received": { about: "the server is killed before the payout is recorded", kill: "received" },
  "killed-recorded": { about: "the server is killed when the payout is recorded", kill: "recorded" },
  "killed-answered": { about: "the server is killed when it has the response", kill: "answered" },
};

const crossedModels: readonly Model[] = ["patient", "repeats", "gives-up", "invents"];
const fates: readonly Fate[] = ["success", "failed", "pending", "settles"];
const names = Object.keys(losses);

const phrases = {
  once: "the host delivers each call once",
  parallel: "the host delivers each payment three times at once",
  sessions: "two sessions pay at once",
  reordered: "the host repeats each payment with its arguments in another order",
  reworded: "the model asks for each payment again in other words",
  restarted: "the server is killed after each payment, which is then repeated",
};

export const crossed: readonly ToolScenario[] = covering(
  [names.length, deliveries.length, crossedModels.length, fates.length],
  [],
).map(([loss = 0, way = 0, model = 0, fate = 0]) => {
  const { about, kill, ...service } = losses[names[loss]!]!;
  const delivery = deliveries[way]!;
  return {
    id: `${names[loss]}-${delivery}-${crossedModels[model]}${fates[fate] === "success" ? "" : `-${fates[fate]}`}`,
    name: `${about[0]!.toUpperCase()}${about.slice(1)}; ${phrases[delivery]}; model: ${crossedModels[model]}`,
    payments: [{ fate: fates[fate]! }],
    model: crossedModels[model]!,
    delivery,
    ...service,
    ...(kill === undefined ? {} : { kill }),
    ...(kill !== undefined || delivery === "restarted" ? { needs: ["kill"] as const } : {}),
  };
});
