import { describe, expect, test } from "vitest";
import { requirementsOf } from "../../contract/requirements.ts";
import { createValidators } from "../../contract/validate.ts";
import { createRandom } from "../../generate/random.ts";
import { createEvents, eventNames } from "../../programs/receiver/events.ts";
import { scenarios } from "../../programs/receiver/scenarios.ts";
import { brokenReceivers } from "./broken.ts";
import { soundReceivers } from "./sound.ts";
import { tryVariant } from "./trial.ts";

const ids = requirementsOf("receiver").map(({ id }) => id);

describe("scenarios", () => {
  const judged = new Set(scenarios.flatMap((scenario) => scenario.ids));

  test.each(ids)("at least one judges %s", (id) => {
    expect(judged.has(id)).toBe(true);
  });

  test("judge only requirements in the catalogue, under unique ids and names", () => {
    expect([...judged].filter((id) => !ids.includes(id))).toEqual([]);
    expect(new Set(scenarios.map(({ id }) => id)).size).toBe(scenarios.length);
    expect(new Set(scenarios.map(({ name }) => name)).size).toBe(scenarios.length);
  });

  test.each(eventNames)("the event %s follows the contract", (name) => {
    const event = createEvents("test", createRandom(1, name), () => new Date(0))(name);
    const faults = createValidators("extended")("WebhookEvent")({ event: event.event, data: event.data });
    expect(faults).toEqual([]);
  });
});

describe("variants", () => {
  const broken = new Set(brokenReceivers.flatMap(({ violates }) => violates));

  test.each(ids)("at least one broken receiver violates %s", (id) => {
    expect(broken.has(id)).toBe(true);
  });
});

/** Receivers with faults that cost money, each in another way. `npm run test:all` tries one for each requirement. */
const sample = new Set([
  "receiver-books-twice",
  "receiver-ignores-cancelled",
  "receiver-rounded-amounts",
  "receiver-known-by-order",
  "receiver-verifies-nothing",
  "receiver-old-is-fine",
]);

describe.concurrent("broken receivers", () => {
  test.each(brokenReceivers.filter(({ id }) => sample.has(id)).map((each) => [each.id, each] as const))(
    "%s is caught",
    async (_, variant) => {
      const { wrong, errors } = await tryVariant(variant);
      expect({ wrong, errors }).toEqual({ wrong: [], errors: [] });
    },
  );
});

describe.concurrent("sound receivers", () => {
  test.each(["receiver-sound-reference", "receiver-sound-queue"])("%s is certified", async (id) => {
    const result = await tryVariant(soundReceivers.find((each) => each.id === id)!);
    expect(result).toEqual({ wrong: [], errors: [], verdict: "certified" });
  });
});
