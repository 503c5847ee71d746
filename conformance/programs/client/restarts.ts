// Scenarios in which the program is killed and started again, or works in several copies.
import { lost, never, serviceError } from "./answers.ts";
import { entries } from "./entries.ts";
import { scenario, type Kill, type Scenario, type Start } from "./scenario.ts";

const six = entries("success", "failed", "pending", "success", "failed", "success");
const two = entries("success", "failed");

const killedAt = (id: string, what: string, kills: readonly Kill[], more: Partial<Scenario> = {}): Scenario =>
  scenario(`killed-${id}`, `The program is killed ${what}, and started again with the same input`, {
    entries: six,
    starts: [...kills.map((kill): Start => ({ kill })), {}],
    ...more,
  });

const random: Kill = { on: "received", create: 1, later: true };

/** The service itself refuses every create. */
const refusing = (status: number): Start => ({ creates: never(serviceError(status, "refused")) });
/** Every response of a start is lost, and what it sent is recorded. */
const blackout: Start = { creates: lost, reads: "drop" };

/**
 * Scenarios in which a refusal comes in another call than the loss: it proves nothing about what was sent before. Nothing
 * shows the payouts, so what was recorded in doubt stays unknown.
 */
const refusedLater: readonly Scenario[] = [
  scenario(
    "killed-then-429",
    "The program is killed when its second payout is recorded, and then every create gets 429",
    {
      // Few, because a client that pays one after the other waits for each after a 429.
      entries: two,
      lists: "none",
      starts: [{ kill: { on: "recorded", create: 2 } }, refusing(429)],
      mayBeUnknown: 100,
      mayGiveUp: true,
    },
  ),
  scenario(
    "again-without-state",
    "The program finds out nothing and cannot store anything, and then every create is refused with 422",
    {
      entries: two,
      lists: "none",
      starts: [
        { ...blackout, withoutState: true },
        { ...refusing(422), withoutState: true },
      ],
      mayBeUnknown: 100,
    },
  ),
  scenario(
    "again-without-state-listed",
    "The program cannot store anything, and when it is started again every create is refused with 422",
    {
      entries: two,
      starts: [{ withoutState: true }, { ...refusing(422), withoutState: true }],
      // The list shows the payouts, but no client has to look there.
      mayBeUnknown: 100,
    },
  ),
  scenario(
    "again-after-blackout",
    "The program finds out nothing, and is started again with the same input when everything works",
    {
      entries: two,
      starts: [blackout, {}],
      mayBeUnknown: 100,
    },
  ),
];

export const restarts: readonly Scenario[] = [
  ...refusedLater,
  killedAt("first-received", "when its first request arrives", [{ on: "received", create: 1 }]),
  killedAt("first-answered", "when its first response was sent", [{ on: "answered", create: 1 }]),
  killedAt("third-recorded", "when its third payout is recorded", [{ on: "recorded", create: 3 }]),
  killedAt("random", "at three random moments while requests fail at random", [random, random, random], {
    weather: 40,
  }),
  scenario("killed-no-state", "The program is killed, and started again on another machine, without its stored state", {
    entries: six,
    starts: [{ kill: { on: "recorded", create: 3 } }, { freshState: true }],
  }),
  scenario("started-again", "The program is started again with the same input when everything is done", {
    entries: six,
    starts: [{}, {}],
  }),
  scenario(
    "started-elsewhere",
    "The program is started again on another machine when everything is done, with the entries in reverse order",
    {
      entries: six,
      starts: [{}, { freshState: true, reversed: true }],
    },
  ),
  scenario("workers", "Two copies of the program work on the same list at the same time", {
    entries: six,
    starts: [{ workers: 2 }],
  }),
  scenario(
    "workers-lost",
    "Two copies of the program work on the same list, and the first response to each entry is lost",
    {
      entries: six,
      creates: [lost],
      starts: [{ workers: 2 }],
    },
  ),
  scenario("workers-weather", "Three copies of the program work on the same list while requests fail at random", {
    entries: six,
    weather: 30,
    starts: [{ workers: 3 }],
  }),
];
