import { describe, expect, test } from "vitest";
import { OptionsError } from "../../cli/flags.ts";
import { readReceiverOptions } from "./command.ts";

const secret = "whsec_cmVjZWl2ZXItdHJpYWwtc2VjcmV0LTAwMDAwMDE=";
const url = "http://127.0.0.1:8080/hooks/?shop=1";
const complete = ["--url", url, "--effects-url", "http://127.0.0.1:8080/effects"];
const env = { WEBHOOK_SECRET: secret };

const read = (args: readonly string[], variables: NodeJS.ProcessEnv = env) =>
  readReceiverOptions(args, variables, () => 7);

function faultsOf(args: readonly string[], variables?: NodeJS.ProcessEnv): readonly string[] {
  try {
    read(args, variables);
    return [];
  } catch (error) {
    if (error instanceof OptionsError) return error.faults;
    throw error;
  }
}

describe("options of certify receiver", () => {
  test("are read, with the URL exactly as given", () => {
    expect(read(complete)).toMatchObject({
      url,
      effects: { url: "http://127.0.0.1:8080/effects" },
      secret,
      seed: 7,
      limits: { timeoutMs: 15_000, settleMs: 5000 },
      repeatFlags: ["--url", `'${url}'`, "--effects-url", "http://127.0.0.1:8080/effects"],
    });
  });

  test("name types of events, or all of a product", () => {
    const { events, isSerial, repeatFlags } = read([
      ...complete,
      "--events",
      "checkout.failed,disbursement.*",
      "--serial",
    ]);
    expect(events).toEqual(["disbursement.completed", "disbursement.failed", "checkout.failed"]);
    expect(isSerial).toBe(true);
    expect(repeatFlags.slice(-3)).toEqual(["--events", "'checkout.failed,disbursement.*'", "--serial"]);
  });

  test("make a secret for a receiver that the run starts", () => {
    const { secret: made } = read([...complete, "--command", "node receiver.js"], {});
    expect(made).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  });

  test.each([
    ["no URL", ["--effects-url", "http://127.0.0.1/e"], env, "--url is missing"],
    [
      "a URL of another scheme",
      ["--url", "ftp://127.0.0.1", "--effects-command", "x"],
      env,
      "--url must be an http or https URL",
    ],
    ["an unknown type", [...complete, "--events", "payout.*"], env, 'no event of the contract is "payout.*"'],
    ["no probe", ["--url", url], env, "either --effects-url URL or --effects-command COMMAND"],
    [
      "two probes",
      [...complete, "--effects-command", "x"],
      env,
      "either --effects-url URL or --effects-command COMMAND",
    ],
    ["no secret", complete, {}, "no secret: set WEBHOOK_SECRET"],
    ["an invalid secret", complete, { WEBHOOK_SECRET: "secret" }, "WEBHOOK_SECRET must be whsec_"],
    ["an invalid old secret", complete, { ...env, WEBHOOK_SECRET_OLD: "old" }, "WEBHOOK_SECRET_OLD must be whsec_"],
    [
      "a receiver elsewhere",
      ["--url", "https://shop.example/hooks", "--effects-command", "x"],
      env,
      "add --yes to confirm",
    ],
    ["an unknown requirement", [...complete, "--only", "receiver.in-tyme"], env, "Did you mean receiver.in-time?"],
    ["an unknown scenario", [...complete, "--scenario", "restart"], env, "Did you mean restarted?"],
    ["an unknown option", [...complete, "--comand", "x"], env, "Did you mean --command?"],
  ])("are refused with %s", (_, args, variables, message) => {
    expect(faultsOf(args, variables).join("\n")).toContain(message);
  });

  test("never quote a secret", () => {
    expect(faultsOf(complete, { WEBHOOK_SECRET: "my-secret" }).join("\n")).not.toContain("my-secret");
  });

  test("allow a receiver elsewhere with --yes, and repeat it", () => {
    const options = read(["--url", "https://shop.example/hooks", "--effects-command", "./effects", "--yes"]);
    expect(options.repeatFlags).toContain("--yes");
  });
});
