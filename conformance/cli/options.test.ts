// Tests how a command line becomes the options of a run, and how the options become a command that repeats the run.
import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { readFlags, repeatWords, type Options } from "./flags.ts";
import { readOptions, serviceOptions, type CertifyOptions } from "./options.ts";
import { runOptions } from "./probe.ts";
import { allControls, defaultMaxTotal } from "../run-options.ts";
import { plannedChecks } from "../run/run.ts";
import { worstCase } from "../run/plan.ts";

const url = ["--base-url", "https://pay.example/api/"];
const read = (args: string[], env: Record<string, string> = { API_KEY: "key-of-the-tests" }) =>
  readOptions(args, env, () => 7);

test("the default options spend no more than the guide says", () => {
  const money = { effects: undefined, recipient: "2257038102473", maxPayouts: 500, maxTotal: undefined, yes: false };
  expect(read(url)).toMatchObject({ baseUrl: "https://pay.example/api", ...money, seed: 7, key: "key-of-the-tests" });
});

/** Describes a target that supports everything, so that every check counts towards the worst case. */
const withEverything = (given: CertifyOptions) =>
  runOptions(
    { ...given, effects: "money", webhookListen: { host: "::1", port: 0 } },
    { environment: "sandbox", controls: allControls },
  );

test("the default budget covers the worst case with every seed", () => {
  const given = read(url);
  for (let seed = 1; seed <= 50; seed += 1) {
    const options = { ...withEverything(given), seed };
    const { payouts, amount } = worstCase(plannedChecks(options), options);
    expect(payouts).toBeLessThanOrEqual(given.maxPayouts);
    expect(amount).toBeLessThanOrEqual(defaultMaxTotal);
  }
});

test("options are read from the command line", () => {
  const args =
    "--profile extended --effects reject --only auth.create-needs-key --only errors.shape,verify.found --max-payouts 3 " +
    "--rate 5 --seed 0 --webhook-listen [::1]:8080 --webhook-url https://hooks.example/x/ --settle-timeout 7";
  expect(read([...url, ...args.split(" "), "--header", "X-A: b: c"])).toMatchObject({
    profile: "extended",
    effects: "reject",
    only: ["auth.create-needs-key", "errors.shape", "verify.found"],
    maxPayouts: 3,
    webhookListen: { host: "::1", port: 8080 },
    webhookUrl: "https://hooks.example/x",
    headers: { "X-A": "b: c" },
    rate: 5,
    settleTimeoutMs: 7000,
    seed: 0,
  });
  for (const target of ["https://v1.example", "https://pay.example/v1x", "https://pay.example/v1/eu"])
    expect(read(["--base-url", target]).baseUrl).toBe(target);
});

test.each<[string[], string]>([
  [["--fats", ...url], "Unknown option '--fats'."],
  [["--basurl", "x"], "Did you mean --base-url?"],
  [["--rate"], "argument missing"],
  [["word"], "Unexpected argument 'word'"],
  [[], "--base-url is missing"],
  [["--base-url", "pay"], "--base-url: must be an http or https URL"],
  [["--base-url", "https://a:b@pay.example"], "--base-url: must be"],
  [["--base-url", "https://pay.example/api/v1/"], "must not include /v1"],
  [[...url, "--only", "create.acepted"], 'there is no requirement "create.acepted". Did you mean create.accepted?'],
  [[...url, "--only", "forced.001-success"], "add --profile extended"],
  [[...url, "--only", ","], "--only is empty"],
  [[...url, "--profile", "full"], '--profile: must be core or extended, not "full"'],
  [[...url, "--recipient", "+2257038102473"], "--recipient: must be 10 to 15 digits"],
  [[...url, "--max-payouts", "many"], "--max-payouts: must be a whole number"],
  [[...url, "--linger", "86401"], "--linger: must be a whole number from 0 to 86400"],
  [[...url, "--header", "Authorization"], "--header: must look like"],
  [[...url, "--header", "A: b\r\nC: d"], "--header: must look like"],
  [[...url, "--header", "X-Api-Key: abc"], "set the key in API_KEY"],
  [[...url, "--webhook-listen", "localhost"], "--webhook-listen: must look like"],
  [[...url, "--webhook-listen", "localhost:99999"], "--webhook-listen: must look like"],
  [[...url, "--webhook-url", "https://h.example"], "needs --webhook-listen"],
  [[...url, "--sign", "/nowhere/key"], "--sign: ENOENT"],
  [[...url, "--ca", "/nowhere/ca.pem"], "cannot read /nowhere/ca.pem"],
  [[...url, "--challenge", ""], "--challenge: must be 1 to 200 printable ASCII characters"],
  [[...url, "--challenge", "a", "--seed", "1"], "--challenge and --seed exclude each other"],
  [[...url, "--api-key-file", "/nowhere/key"], "--api-key-file: ENOENT"],
])("%j is refused: %s", (args, message) => {
  expect(() => read(args)).toThrow(message);
});

test.each<[Record<string, string>, string]>([
  [{}, "no API key: set API_KEY, or name a file with --api-key-file"],
  [{ API_KEY: "sécret" }, "the API key must be printable ASCII"],
  [{ API_KEY: "sécret", API_KEY_2: "sécret" }, "API_KEY_2 is the same key as API_KEY"],
])("the keys %j are refused without printing them", (env, message) => {
  expect(() => read(url, env)).toThrow(new RegExp(`^(?![^]*sécret)[^]*${message}`));
});

test("all faults are reported together", () => {
  const args = ["--profile", "x", "--effects", "y", "--rate", "z", "--recipient", "1"];
  expect(() => read(args, {})).toThrow(/^(.+\n){5}.+$/);
});

describe("a command that repeats a run", () => {
  const given = (args: string[]) => repeatWords(serviceOptions, readFlags(args, serviceOptions).given);
  const repeated = Object.entries<Options[string]>(serviceOptions).filter(([, { repeat }]) => repeat !== false);

  test.each(repeated)("gives --%s again, and reads what is secret from the environment", (flag, { value }) => {
    const text = flag === "header" ? "X-Team: secret" : `/some/${flag}'s file`;
    const args = value === undefined ? [`--${flag}`] : [`--${flag}`, text];
    const words = given(args).join(" ");
    const env = { RECIPIENT: text, FAILING_RECIPIENT: text, X_TEAM: "secret" };
    const inShell = execFileSync("sh", ["-c", String.raw`printf '%s\n' ${words}`], { env }).toString();
    expect(inShell.trim().split("\n")).toEqual(args);
    expect(words).not.toContain("secret");
  });

  test("gives nothing that the report has, shows a published recipient and hides a real one", () => {
    expect(given([...url, "--seed", "7", "--report", "x"])).toEqual([]);
    const words = given(["--recipient", "2257038102473", "--failing-recipient", "2250501020304"]).join(" ");
    expect(words).toBe('--recipient 2257038102473 --failing-recipient "${FAILING_RECIPIENT:?}"');
  });
});
