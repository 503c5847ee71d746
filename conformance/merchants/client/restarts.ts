// Scenarios in which the program is killed and started again, or works in several copies.
import { entries } from "./entries.ts";
import type { Kill, Scenario, Start } from "./scenario.ts";

const six = entries("success", "failed", "pending", "success", "failed", "success");
const lost = [{ process: "now", answer: "drop" }] as const;

const killedAt = (id: string, what: string, kills: readonly Kill[], more: Partial<Scenario> = {}): Scenario => ({
  id: `killed-${id}`,
  name: `The program is killed ${what}, and started again with the same input`,
  entries: six,
  starts: [...kills.map((kill): Start => ({ kill })), {}],
  ...more,
});

const random: Kill = { on: "random" };

export const restarts: readonly Scenario[] = [
  killedAt("first-received", "when its first request arrives", [{ on: "received", create: 1 }]),
  killedAt("first-recorded", "when its first payout is recorded", [{ on: "recorded", create: 1 }]),
  killedAt("first-answered", "when its first response was sent", [{ on: "answered", create: 1 }]),
  killedAt("third-received", "when its third request arrives", [{ on: "received", create: 3 }]),
  killedAt("third-recorded", "when its third payout is recorded", [{ on: "recorded", create: 3 }]),
  killedAt("third-answered", "when its third response was sent", [{ on: "answered", create: 3 }]),
  killedAt("last-recorded", "when its last payout is recorded", [{ on: "recorded", create: 6 }]),
  killedAt("in-a-retry", "when a retry arrives", [{ on: "received", create: 8 }], { creates: lost }),
  killedAt("twice", "twice", [
    { on: "recorded", create: 2 },
    { on: "recorded", create: 2 },
  ]),
  killedAt("random-1", "at a random moment", [random]),
  killedAt("random-2", "at a random moment in bad weather", [random], { weather: 40 }),
  killedAt("random-3", "at three random moments in bad weather", [random, random, random], { weather: 40 }),
  {
    id: "killed-no-state",
    name: "The program is killed, and started again on another machine, without its stored state",
    entries: six,
    starts: [{ kill: { on: "recorded", create: 3 } }, { freshState: true }],
  },
  {
    id: "started-again",
    name: "The program is started again with the same input when everything is done",
    entries: six,
    starts: [{}, {}],
  },
  {
    id: "started-elsewhere",
    name: "The program is started again on another machine when everything is done",
    entries: six,
    starts: [{}, { freshState: true }],
  },
  {
    id: "workers",
    name: "Two copies of the program work on the same list at the same time",
    entries: six,
    starts: [{ workers: 2 }],
  },
  {
    id: "workers-lost",
    name: "Two copies of the program work on the same list, and the first response to each entry is lost",
    entries: six,
    creates: lost,
    starts: [{ workers: 2 }],
  },
  {
    id: "workers-weather",
    name: "Three copies of the program work on the same list in bad weather",
    entries: six,
    weather: 30,
    starts: [{ workers: 3 }],
  },
];
