import { readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeFirstKey } from "./own-files.ts";
import { testFolder } from "./testing/resources.ts";

const modeOf = (file: string) => statSync(file).mode & 0o777;

test("only the owner can read the file, also in the place of one that others could read", () => {
  const data = join(testFolder(), "data");
  const file = writeFirstKey(data, "sk_first");
  expect([readFileSync(file, "utf8"), modeOf(file)]).toEqual(["sk_first\n", 0o600]);
  writeFileSync(file, "", { mode: 0o644 });
  writeFirstKey(data, "sk_second");
  expect([readFileSync(file, "utf8"), modeOf(file), readdirSync(data)]).toEqual([
    "sk_second\n",
    0o600,
    ["first-api-key"],
  ]);
});

test.each(["existing", "missing"])("a planted symbolic link to an %s file is replaced, not followed", (kind) => {
  const folder = testFolder();
  const target = join(folder, "elsewhere");
  if (kind === "existing") writeFileSync(target, "before", { mode: 0o644 });
  symlinkSync(target, join(folder, "first-api-key"));
  const file = writeFirstKey(folder, "sk_first");
  expect([readFileSync(file, "utf8"), modeOf(file)]).toEqual(["sk_first\n", 0o600]);
  expect(readdirSync(folder).toSorted()).toEqual(
    kind === "existing" ? ["elsewhere", "first-api-key"] : ["first-api-key"],
  );
  if (kind === "existing") expect([readFileSync(target, "utf8"), modeOf(target)]).toEqual(["before", 0o644]);
});
