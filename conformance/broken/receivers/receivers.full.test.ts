import { describe, expect, test } from "vitest";
import { requirementsOf } from "../../contract/requirements.ts";
import { triesAll } from "../self-test.ts";
import { brokenReceivers } from "./broken.ts";
import { soundReceivers } from "./sound.ts";
import { tryVariant } from "./trial.ts";

const ids = requirementsOf("receiver").map(({ id }) => id);

/**
 * The first broken receiver of each requirement. `npm run certify:self-test -- '^receiver-'` tries all broken
 * receivers.
 */
const selection = triesAll
  ? brokenReceivers
  : new Set(ids.map((id) => brokenReceivers.find(({ violates }) => violates.includes(id))!));

describe.concurrent("broken receivers", () => {
  test.each([...selection].map((each) => [each.id, each] as const))("%s is caught", async (_, variant) => {
    const { wrong, errors } = await tryVariant(variant);
    expect({ wrong, errors }).toEqual({ wrong: [], errors: [] });
  });
});

describe.concurrent("sound receivers", () => {
  test.each(["receiver-sound-reference", "receiver-sound-claims", "receiver-sound-queue"])(
    "%s is certified",
    async (id) => {
      const result = await tryVariant(soundReceivers.find((each) => each.id === id)!);
      expect(result).toEqual({ wrong: [], errors: [], verdict: "certified" });
    },
  );
});
