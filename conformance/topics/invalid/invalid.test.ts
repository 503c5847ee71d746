import { expect, test } from "vitest";
import { startBroken } from "../../broken/server.ts";
import { runTrial } from "../../broken/trial.ts";

// With these seeds, random values are objects with the key toString, which JavaScript cannot convert to a text.
test.each([
  ["a reference and an amount", "19862"],
  ["a reference and a phone number", "17544"],
])("%s that are objects with the key toString are sent", async (_, seed) => {
  const id = "create.generated-invalid-refused";
  const only = [id, "create.phone-pattern"];
  const { errors, requirements } = await runTrial(startBroken(), ["--seed", seed, "--effects", "money"], { only });
  expect(errors).toEqual([]);
  expect(requirements.find((requirement) => requirement.id === id)?.verdict).toBe("pass");
});
