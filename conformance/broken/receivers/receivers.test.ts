import { describe, expect, test } from "vitest";
import { requirementsOf } from "../../contract/requirements.ts";
import { createValidators } from "../../contract/validate.ts";
import { createRandom } from "../../generate/random.ts";
import { createEvents, eventNames } from "../../merchants/receiver/events.ts";
import { scenarios } from "../../merchants/receiver/scenarios.ts";
import { soundReceivers } from "./sound.ts";
import { tryVariant } from "./trial.ts";
import { brokenReceivers, receiverVariants } from "./variants.ts";

const timeout = 60_000;
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

  test("number in the dozens, each with a unique id and a sentence", () => {
    expect(brokenReceivers.length).toBeGreaterThanOrEqual(50);
    expect(soundReceivers.length).toBeGreaterThanOrEqual(10);
    expect(new Set(receiverVariants.map(({ id }) => id)).size).toBe(receiverVariants.length);
    expect(receiverVariants.filter(({ does }) => !/^\S.*\.$/.test(does)).map(({ id }) => id)).toEqual([]);
  });

  test.each(ids)("at least one broken receiver violates %s", (id) => {
    expect(broken.has(id)).toBe(true);
  });
});

/**
 * The first broken receiver of each requirement. `npm run certify:self-test -- '^receiver-'` tries all broken
 * receivers.
 */
const selection = new Set(ids.map((id) => brokenReceivers.find(({ violates }) => violates.includes(id))!));

describe.concurrent("broken receivers", { timeout }, () => {
  test.each([...selection].map((each) => [each.id, each] as const))("%s is caught", async (_, variant) => {
    const { wrong, errors } = await tryVariant(variant);
    expect({ wrong, errors }).toEqual({ wrong: [], errors: [] });
  });
});

describe.concurrent("sound receivers", { timeout }, () => {
  test.each(["receiver-sound-reference", "receiver-sound-claims", "receiver-sound-queue"])(
    "%s is certified",
    async (id) => {
      const result = await tryVariant(soundReceivers.find((each) => each.id === id)!);
      expect(result).toEqual({ wrong: [], errors: [], verdict: "certified" });
    },
  );
});
