import { expect, test } from "vitest";
import { createSealing } from "./sealing.ts";
import { StorageError } from "./storage-error.ts";

const { seal, unseal } = createSealing([Buffer.alloc(32, 1)]);

test("a stored secret holds for its merchant only, and any change of it is noticed", () => {
  const stored = seal("ada", "whsec_secret");
  expect(unseal("ada", stored)).toBe("whsec_secret");
  expect(seal("ada", "whsec_secret")).not.toBe(stored);
  expect(() => unseal("eve", stored)).toThrow(/webhook secret of merchant eve was changed, or is another merchant's/);
  for (let index = stored.lastIndexOf(".") + 1; index < stored.length; index += 5) {
    const other = stored[index] === "A" ? "g" : "A";
    const changed = stored.slice(0, index) + other + stored.slice(index + 1);
    expect(() => unseal("ada", changed)).toThrow(StorageError);
  }
  expect(() => unseal("ada", stored.slice(0, 25))).toThrow(StorageError);
});
