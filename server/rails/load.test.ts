// An operator's first attempts at a module: each mistake is named, with its place.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { loadRail } from "./load.ts";

const folder = mkdtempSync(join(tmpdir(), "modules-"));
afterAll(() => rmSync(folder, { recursive: true }));

let written = 0;
/** Loads a module with this text, and shows what becomes of it. */
async function load(text: string, settings?: unknown) {
  written += 1;
  const file = join(folder, `rail-${written}.ts`);
  writeFileSync(file, text);
  const warnings: string[] = [];
  const result = await loadRail(file, settings, (problem) => warnings.push(problem)).catch((error: Error) => error);
  return { result, warnings, message: result instanceof Error ? result.message.replace(file, "FILE") : "" };
}
const parts = "pay: async () => {}, find: async () => {}";

test("a module gets its settings, and an empty object without settings", async () => {
  const text = `export default ({ name = "no name" }) => ({ ${parts}, check: () => name });`;
  expect((await load(text, { name: "bank" })).result).toMatchObject({ check: expect.any(Function) });
  const { result } = await load(text);
  expect((result as unknown as { check(): string }).check()).toBe("no name");
});

test.each([
  ["no function", "export const rail = 1;", "The default export must be a function that returns a rail. (FILE)"],
  ["no rail", "export default () => undefined;", "pay and find of the rail must be functions (FILE)"],
  ["no find", "export default () => ({ pay() {} });", "find of the rail must be functions (FILE)"],
  ["a list of payments", `export default () => ({ ${parts}, list: [] });`, "list of the rail must be functions (FILE)"],
  [
    "a missing setting",
    `export default ({ keyFile }) => {\n  if (!keyFile) throw new Error("Set keyFile.");\n};`,
    /^Set keyFile\. \(FILE:2:\d+\)$/,
  ],
  [
    "a mistake",
    "export default () =>\n  null.rail;",
    /^Cannot read properties of null \(reading 'rail'\) \(FILE:2:\d+\)$/,
  ],
])("a module with %s ends the start, and its place is named", async (_, text, message) => {
  expect((await load(text)).message).toEqual(typeof message === "string" ? message : expect.stringMatching(message));
});

test("a function that is never called is named, because its name may be misspelt", async () => {
  const { warnings } = await load(`export default () => ({ ${parts}, recieve() {}, name: "bank" });`);
  expect(warnings).toEqual([
    "has a function recieve, which is never called; known are pay, find, collect, receive, list, check, close",
  ]);
});
