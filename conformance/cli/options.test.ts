import { describe, expect, test } from "vitest";
import { OptionsError } from "./flags.ts";
import { readOptions } from "./options.ts";

const env = { API_KEY: "key-of-the-tests" };
const url = ["--base-url", "https://pay.example/api/"];
const read = (args: string[], variables: Record<string, string> = env) => readOptions(args, variables, () => 7);

function faultsOf(args: string[], variables?: Record<string, string>): readonly string[] {
  try {
    read(args, variables);
  } catch (error) {
    if (error instanceof OptionsError) return error.faults;
    throw error;
  }
  return [];
}

describe("options", () => {
  test("have the documented defaults", () => {
    expect(read(url)).toMatchObject({
      baseUrl: "https://pay.example/api",
      profile: "core",
      effects: undefined,
      recipient: "2257038102473",
      failingRecipient: undefined,
      maxPayouts: 500,
      maxTotal: undefined,
      webhookListen: undefined,
      seed: 7,
      yes: false,
      key: "key-of-the-tests",
    });
  });

  test("are read from the command line", () => {
    const args =
      "--profile extended --effects reject --only auth.create-needs-key,errors.shape --max-payouts 3 --rate 5 --seed 0 " +
      "--webhook-listen [::1]:8080 --webhook-url https://hooks.example/x/ --settle-timeout 7";
    expect(read([...url, ...args.split(" "), "--header", "X-A: b: c"])).toMatchObject({
      profile: "extended",
      effects: "reject",
      only: ["auth.create-needs-key", "errors.shape"],
      maxPayouts: 3,
      webhookListen: { host: "::1", port: 8080 },
      webhookUrl: "https://hooks.example/x",
      headers: { "X-A": "b: c" },
      rate: 5,
      settleTimeoutMs: 7000,
      seed: 0,
    });
  });

  test.each([
    ["no target", [], "--base-url is missing"],
    ["a target that is not a URL", ["--base-url", "pay"], "--base-url must be an http or https URL"],
    ["a target with another scheme", ["--base-url", "ftp://pay.example"], "--base-url must be"],
    ["a target with a password", ["--base-url", "https://a:b@pay.example"], "--base-url must be"],
    ["a target with a query", ["--base-url", "https://pay.example/?a=1"], "--base-url must be"],
    ["a target with /v1", ["--base-url", "https://pay.example/api/v1/"], "must not include /v1"],
    ["an operation as the target", ["--base-url", "https://pay.example/v1/checkouts"], "must not include /v1"],
    ["a mistyped requirement", [...url, "--only", "create.acepted"], "Did you mean create.accepted?"],
    ["an unknown profile", [...url, "--profile", "full"], '--profile must be core or extended, not "full"'],
    ["unknown effects", [...url, "--effects", "all"], "--effects must be none or reject or money"],
    ["an unknown requirement", [...url, "--only", "create.nothing"], 'there is no requirement "create.nothing"'],
    ["a requirement of another profile", [...url, "--only", "forced.001-success"], "add --profile extended"],
    ["an empty selection", [...url, "--only", ","], "--only is empty"],
    ["a recipient with a plus sign", [...url, "--recipient", "+2257038102473"], "--recipient must be 10 to 15 digits"],
    ["a short failing recipient", [...url, "--failing-recipient", "089"], "--failing-recipient must be"],
    [
      "a number of payouts that is not a number",
      [...url, "--max-payouts", "many"],
      "--max-payouts must be a whole number",
    ],
    ["a negative total", [...url, "--max-total=-1"], "--max-total must be a whole number"],
    ["a negative linger", [...url, "--linger=-1"], "--linger must be a whole number from 0 to 86400"],
    ["a linger of more than a day", [...url, "--linger", "86401"], "--linger must be a whole number from 0 to 86400"],
    ["a timeout of zero", [...url, "--timeout", "0"], "--timeout must be a whole number from 1"],
    ["a rate of zero", [...url, "--rate", "0"], "--rate must be a whole number from 1"],
    ["a fractional seed", [...url, "--seed", "1.5"], "--seed must be a whole number"],
    ["a header without a value", [...url, "--header", "Authorization"], "--header must look like"],
    ["a header with a line break", [...url, "--header", "A: b\r\nC: d"], "--header must look like"],
    ["the key as a header", [...url, "--header", "X-Api-Key: abc"], "set the key in API_KEY"],
    ["a listener without a port", [...url, "--webhook-listen", "localhost"], "--webhook-listen must look like"],
    ["a port that is too large", [...url, "--webhook-listen", "localhost:99999"], "--webhook-listen must look like"],
    ["a webhook URL without a listener", [...url, "--webhook-url", "https://h.example"], "needs --webhook-listen"],
    ["a missing baseline", [...url, "--baseline", "/nowhere/known.yaml"], "--baseline: ENOENT"],
    ["a missing signing key", [...url, "--sign", "/nowhere/key"], "--sign: Cannot read the private key: ENOENT"],
    ["an empty challenge", [...url, "--challenge", ""], "--challenge must be 1 to 200 printable ASCII characters"],
    [
      "a challenge and a seed",
      [...url, "--challenge", "a", "--seed", "1"],
      "--challenge and --seed exclude each other",
    ],
    ["a missing key file", [...url, "--api-key-file", "/nowhere/key"], "cannot read /nowhere/key"],
  ])("%s is refused, with a way out", (_, args, message) => {
    expect(faultsOf(args).join("\n")).toContain(message);
  });

  test.each(["https://v1.example", "https://pay.example/v1x", "https://pay.example/v1/eu"])(
    "%s can be a target",
    (baseUrl) => expect(read(["--base-url", baseUrl])).toMatchObject({ baseUrl }),
  );

  test("rejects a second key equal to the first, without printing it", () => {
    const [fault] = faultsOf(url, { API_KEY: "the-same", API_KEY_2: "the-same" });
    expect(fault).toContain("API_KEY_2 is the same key as API_KEY");
    expect(fault).not.toContain("the-same");
  });

  test("rejects a missing key", () => {
    expect(faultsOf(url, {})).toEqual(["no API key: set API_KEY, or name a file with --api-key-file"]);
  });

  test("rejects a key that is not valid in a header, without printing it", () => {
    const [fault] = faultsOf(url, { API_KEY: "sécret" });
    expect(fault).toContain("API_KEY must be printable ASCII");
    expect(fault).not.toContain("sécret");
  });

  test("reports all faults together", () => {
    const faults = faultsOf(["--profile", "x", "--effects", "y", "--rate", "z", "--recipient", "1"], {});
    expect(faults).toHaveLength(6);
  });
});
