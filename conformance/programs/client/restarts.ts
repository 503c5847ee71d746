// Scenarios in which the program is killed and started again, or works in several copies.
import { lost, never, serviceError } from "./answers.ts";
import { entries } from "./entries.ts";
import { scenario, type Kill, type Rest, type Scenario, type Start } from "./scenario.ts";

const two = entries("success", "failed");

/** A scenario in which the program is started more than once, or in several copies. */
const started = (id: string, name: string, starts: readonly Start[], more: Rest = {}): Scenario =>
  scenario(id, name, {
    entries: entries("success", "failed", "pending", "success", "failed", "success"),
    starts,
    ...more,
  });

const killedAt = (id: string, what: string, kills: readonly Kill[], more: Rest = {}): Scenario =>
  started(
    `killed-${id}`,
    `The program is killed ${what}, and started again with the same input`,
    [...kills.map((kill): Start => ({ kill })), {}],
    more,
  );

const random: Kill = { on: "received", create: 1, later: true };

/** The service itself refuses every create. */
const refusing = (status: number): Start => ({ creates: never(serviceError(status, "refused")) });
/** Every response of a start is lost, and what it sent is recorded. */
const blackout: Start = { creates: lost, reads: "drop" };

/** Scenarios in which a response to a later start proves nothing about what an earlier start sent. */
const refusedLater: readonly Scenario[] = [
  started(
    "killed-then-429",
    "The program is killed when its second payout is recorded, and then every create gets 429",
    [{ kill: { on: "recorded", create: 2 } }, refusing(429)],
    // Few entries, because a client that pays one after the other waits after each 429.
    { entries: two, lists: "none", mayBeUnknown: 100, mayGiveUp: true },
  ),
  started(
    "again-without-state",
    "The program finds out nothing and cannot store anything, and then every create is refused with 422",
    [
      { ...blackout, withoutState: true },
      { ...refusing(422), withoutState: true },
    ],
    { entries: two, lists: "none", mayBeUnknown: 100 },
  ),
  started(
    "again-without-state-listed",
    "The program cannot store anything, and when it is started again every create is refused with 422",
    [{ withoutState: true }, { ...refusing(422), withoutState: true }],
    // The list shows the payouts, but no client has to look there.
    { entries: two, mayBeUnknown: 100 },
  ),
  started(
    "again-after-blackout",
    "The program finds out nothing, and is started again with the same input when everything works",
    [blackout, {}],
    { entries: two, mayBeUnknown: 100 },
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
  started("killed-no-state", "The program is killed, and started again on another machine, without its stored state", [
    { kill: { on: "recorded", create: 3 } },
    { freshState: true },
  ]),
  started("started-again", "The program is started again with the same input when everything is done", [{}, {}]),
  started(
    "started-elsewhere",
    "The program is started again on another machine when everything is done, with the entries in reverse order",
    [{}, { freshState: true, reversed: true }],
  ),
  started("workers", "Two copies of the program work on the same list at the same time", [{ workers: 2 }]),
  started(
    "workers-weather",
    "Three copies of the program work on the same list while requests fail at random",
    [{ workers: 3 }],
    { weather: 30 },
  ),
];
