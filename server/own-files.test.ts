import { existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeFirstKey } from "./own-files.ts";
import { testFolder } from "./testing/resources.ts";

test.each<[where: string, plant: (file: string, elsewhere: string) => void]>([
  ["a new file", () => undefined],
  ["the place of a file that others can read", (file) => writeFileSync(file, "before", { mode: 0o644 })],
  [
    "the place of a link to a file",
    (file, elsewhere) => (writeFileSync(elsewhere, "before"), symlinkSync(elsewhere, file)),
  ],
  ["the place of a link to no file", (file, elsewhere) => symlinkSync(elsewhere, file)],
])("writes the key to %s, which only its owner can read, and follows no link", (_, plant) => {
  const folder = testFolder();
  const elsewhere = join(testFolder(), "elsewhere");
  plant(join(folder, "first-api-key"), elsewhere);
  const file = writeFirstKey(folder, "sk_first");
  expect([readFileSync(file, "utf8"), statSync(file).mode & 0o777]).toEqual(["sk_first\n", 0o600]);
  expect(readdirSync(folder)).toEqual(["first-api-key"]);
  if (existsSync(elsewhere)) expect(readFileSync(elsewhere, "utf8")).toBe("before");
});
