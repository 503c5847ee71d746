import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connectionLimit } from "./connection-limit.ts";

const folder = mkdtempSync(join(tmpdir(), "limits-"));
const file = join(folder, "limits");

test.each([
  ["Max open files            64                   1048576              files", 32],
  ["Max open files            256                  1048576              files", 192],
  ["Max open files            1024                 1048576              files", 921],
  ["Max open files            1048576              1048576              files", 10_000],
  ["Max open files            10                   10                   files", 5],
  ["Max open files            unlimited            unlimited            files", 9_000],
])("%s: %i connections", (line, expected) => {
  writeFileSync(file, `Limit                     Soft Limit           Hard Limit           Units\n${line}\n`);
  const limit = connectionLimit(file);
  if (expected === 9_000) expect(limit).toBeGreaterThanOrEqual(expected);
  else expect(limit).toBe(expected);
});

test("another operating system gets a fixed limit", () => {
  rmSync(folder, { recursive: true });
  expect(connectionLimit(file)).toBeGreaterThanOrEqual(9_000);
});
