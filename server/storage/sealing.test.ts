import { expect, test } from "vitest";
import { createSealing } from "./sealing.ts";
import { StorageError } from "./storage-error.ts";

const { seal, unseal } = createSealing([Buffer.alloc(32, 1)]);

test("stored secrets hold for their merchant only, and any change of them is noticed", () => {
  const secrets = { current: "whsec_secret", previous: [{ secret: "whsec_first", expiresAt: 1 }] };
  const stored = seal("ada", secrets);
  expect(stored).not.toContain("whsec");
  expect(unseal("ada", stored)).toEqual(secrets);
  expect(seal("ada", secrets)).not.toBe(stored);
  expect(() => unseal("eve", stored)).toThrow(
    /webhook secrets of merchant eve were changed, or are another merchant's/,
  );
  for (let index = stored.lastIndexOf(".") + 1; index < stored.length; index += 5) {
    const other = stored[index] === "A" ? "g" : "A";
    const changed = stored.slice(0, index) + other + stored.slice(index + 1);
    expect(() => unseal("ada", changed)).toThrow(StorageError);
  }
  expect(() => unseal("ada", stored.slice(0, 25))).toThrow(StorageError);
});
