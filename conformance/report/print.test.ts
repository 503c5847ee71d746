import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { complain, print } from "./print.ts";

afterEach(() => vi.restoreAllMocks());

const root = join(import.meta.dirname, "..");
/** Folders of tools that print nothing of a target to its user. */
const others = /^(broken|examples|testing|vectors|node_modules|dist)\/|\.test\.ts$|^(pack|build)\.ts$/;
/** Files whose output is not a line, or has escape sequences of their own, and the texts that they print. */
const own = {
  "cli/certify-service.ts": ["console.log(`\\n${renderTerminal("],
  "programs/command.ts": ["console.log(`\\n${renderTerminal("],
  "report/print.ts": ["console.log(visible(", "console.error(visible("],
  "run/progress.ts": [],
};

test("nothing else of the suite prints, so that no escape sequence of a target reaches a terminal", () => {
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter(
    (name) => name.endsWith(".ts") && !others.test(name),
  );
  expect(files).toContain("cli/init.ts");
  const found = files.flatMap((file) => {
    const source = readFileSync(join(root, file), "utf8");
    const calls = [...source.matchAll(/^(?!.*\/\/.*console).*((?:console\.\w+|std(?:out|err)\.write)\(.*)$/gm)];
    const allowed = (own as Record<string, string[]>)[file] ?? [];
    return calls.filter(([, call]) => !allowed.some((each) => call!.startsWith(each))).map(([, call]) => [file, call]);
  });
  expect(found).toEqual([]);
});

test.each([
  ["log", () => print("a\u001b[2Jb\u009bc\nd")],
  ["error", () => complain("a\u001b[2Jb\u009bc\nd")],
] as const)("console.%s gets escape sequences as text", (method, run) => {
  const printed = vi.spyOn(console, method).mockImplementation(() => undefined);
  run();
  expect(printed.mock.calls).toEqual([["a\\u{1b}[2Jb\\u{9b}c\nd"]]);
});

test("an error keeps its stack and loses its escape sequences", () => {
  const printed = vi.spyOn(console, "error").mockImplementation(() => undefined);
  complain(new Error("bad \u001b]0;title\u0007"));
  expect(printed.mock.calls[0]![0]).toMatch(/^Error: bad \\u\{1b\}\]0;title\\u\{7\}\n +at /);
});
