import { execFileSync } from "node:child_process";
import { parseArgs } from "node:util";
import { expect, test } from "vitest";
import { flags } from "./flags.ts";
import { curlFlags, notCopied, repeatFlags } from "./repeat-flags.ts";

/** Returns a value that is not the default of an option. */
const valueOf = (flag: string) => (flag === "header" ? "X-Team: secret" : `/some/${flag}'s file`);

const boolean = (flag: string) => flags[flag as keyof typeof flags].type === "boolean";
const copied = Object.keys(flags).filter((flag) => !(notCopied as readonly string[]).includes(flag));

const valuesOf = (args: string[]) => parseArgs({ args, options: flags }).values;

/** Returns the words of a command as a shell passes them on. */
const inShell = (words: string[], env: Record<string, string> = {}) =>
  execFileSync("sh", ["-c", String.raw`printf '%s\n' ${words.join(" ")}`], { env })
    .toString()
    .trim()
    .split("\n");

test.each(copied)("a re-run is given --%s again", (flag) => {
  const args = boolean(flag) ? [`--${flag}`] : [`--${flag}`, valueOf(flag)];
  const words = repeatFlags(valuesOf(args));
  const env = { RECIPIENT: valueOf(flag), FAILING_RECIPIENT: valueOf(flag), X_TEAM: "secret" };
  expect(inShell(words, env)).toEqual(args);
  expect(words.join(" ")).not.toContain("secret");
});

test("a re-run is given no option that was not given", () => {
  expect(repeatFlags(valuesOf(["--base-url", "https://pay.example"]))).toEqual([]);
});

test("a published recipient is no secret, and a real one is", () => {
  const values = valuesOf(["--recipient", "2257038102473", "--failing-recipient", "2250501020304"]);
  expect(repeatFlags(values).join(" ")).toBe('--recipient 2257038102473 --failing-recipient "${FAILING_RECIPIENT:?}"');
});

test("curl uses the same certificates", () => {
  expect(curlFlags(valuesOf([]))).toEqual([]);
  const words = curlFlags(valuesOf(["--ca", "my ca.pem", "--cert", "C:/c.pem", "--key", "c.key"]));
  expect(words.join(" ")).toBe(String.raw`--cacert 'my ca.pem' --cert 'C\:/c.pem' --key c.key`);
});
