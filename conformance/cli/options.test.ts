import { describe, expect, test } from "vitest";
import { OptionsError, readOptions } from "./options.ts";

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
      maxTotal: 50_000_000,
      webhookListen: undefined,
      seed: 7,
      yes: false,
      key: "key-of-the-tests",
    });
  });

  test("are read from the command line", () => {
    const args = "--profile extended --effects reject --only auth.create-needs-key,errors.shape --max-payouts 3".split(
      " ",
    );
    const more = [
      "--webhook-listen",
      "[::1]:8080",
      "--webhook-url",
      "https://hooks.example/x/",
      "--header",
      "X-A: b: c",
    ];
    expect(read([...url, ...args, ...more, "--rate", "5", "--seed", "0"])).toMatchObject({
      profile: "extended",
      effects: "reject",
      only: ["auth.create-needs-key", "errors.shape"],
      maxPayouts: 3,
      webhookListen: { host: "::1", port: 8080 },
      webhookUrl: "https://hooks.example/x",
      headers: { "X-A": "b: c" },
      rate: 5,
      seed: 0,
    });
  });

  test.each([
    ["no target", [], "--base-url is missing"],
    ["a target that is no URL", ["--base-url", "pay"], "--base-url has to be an http or https address"],
    ["a target that is no web address", ["--base-url", "ftp://pay.example"], "--base-url has to be"],
    ["a target with a password", ["--base-url", "https://a:b@pay.example"], "--base-url has to be"],
    ["a target with a query", ["--base-url", "https://pay.example/?a=1"], "--base-url has to be"],
    ["a target with /v1", ["--base-url", "https://pay.example/api/v1/"], "leave /v1 out"],
    ["an operation as the target", ["--base-url", "https://pay.example/v1/checkouts"], "leave /v1 out"],
    ["an unknown flag", [...url, "--fast"], "'--fast'"],
    ["a stray word", [...url, "please"], "please"],
    ["a flag without its value", ["--base-url"], "--base-url"],
    ["an unknown profile", [...url, "--profile", "full"], '--profile has to be core or extended, not "full"'],
    ["unknown effects", [...url, "--effects", "all"], "--effects has to be none or reject or money"],
    ["a requirement that is none", [...url, "--only", "create.nothing"], '--only names "create.nothing"'],
    ["a requirement of another profile", [...url, "--only", "forced.001-success"], "add --profile extended"],
    ["an empty selection", [...url, "--only", ","], "--only selects nothing"],
    [
      "a recipient with a plus sign",
      [...url, "--recipient", "+2257038102473"],
      "--recipient has to be 10 to 15 digits",
    ],
    ["a short failing recipient", [...url, "--failing-recipient", "089"], "--failing-recipient has to be"],
    ["payouts that are no number", [...url, "--max-payouts", "many"], "--max-payouts has to be a whole number"],
    ["a negative total", [...url, "--max-total=-1"], "--max-total has to be a whole number"],
    ["no time at all", [...url, "--timeout", "0"], "--timeout has to be a whole number from 1"],
    ["no rate at all", [...url, "--rate", "0"], "--rate has to be a whole number from 1"],
    ["a fractional seed", [...url, "--seed", "1.5"], "--seed has to be a whole number"],
    ["a header without a value", [...url, "--header", "Authorization"], "--header has to look like"],
    ["a header with a line break", [...url, "--header", "A: b\r\nC: d"], "--header has to look like"],
    ["the key as a header", [...url, "--header", "X-Api-Key: abc"], "give the key in API_KEY"],
    ["a port that is none", [...url, "--webhook-listen", "localhost"], "--webhook-listen has to look like"],
    ["a port that is too large", [...url, "--webhook-listen", "localhost:99999"], "--webhook-listen has to look like"],
    ["an address without a listener", [...url, "--webhook-url", "https://h.example"], "needs --webhook-listen"],
    ["a key file that is not there", [...url, "--api-key-file", "/nowhere/key"], "cannot be read"],
  ])("%s is refused, with a way out", (_, args, message) => {
    expect(faultsOf(args).join("\n")).toContain(message);
  });

  test.each(["https://v1.example", "https://pay.example/v1x", "https://pay.example/v1/eu"])(
    "%s can be a target",
    (baseUrl) => expect(read(["--base-url", baseUrl])).toMatchObject({ baseUrl }),
  );

  test("a second merchant's key that is the first one's is refused, and not repeated", () => {
    const [fault] = faultsOf(url, { API_KEY: "the-same", API_KEY_2: "the-same" });
    expect(fault).toContain("API_KEY_2 is the same key as API_KEY");
    expect(fault).not.toContain("the-same");
  });

  test("a missing key is refused", () => {
    expect(faultsOf(url, {})).toEqual(["there is no key: set API_KEY, or name a file with --api-key-file"]);
  });

  test("a key that cannot stand in a header is refused, and not repeated", () => {
    const [fault] = faultsOf(url, { API_KEY: "sécret" });
    expect(fault).toContain("API_KEY has to be printable ASCII");
    expect(fault).not.toContain("sécret");
  });

  test("all faults are told together", () => {
    const faults = faultsOf(["--profile", "x", "--effects", "y", "--rate", "z", "--recipient", "1"], {});
    expect(faults).toHaveLength(6);
  });
});
