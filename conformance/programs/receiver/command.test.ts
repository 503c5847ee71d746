import { expect, test } from "vitest";
import { OptionsError } from "../../cli/flags.ts";
import { readReceiverOptions } from "./command.ts";

const secret = "whsec_cmVjZWl2ZXItdHJpYWwtc2VjcmV0LTAwMDAwMDE=";
const url = "http://127.0.0.1:8080/hooks/?shop=1";
const complete = ["--url", url, "--effects-url", "http://127.0.0.1:8080/effects"];
const env = { WEBHOOK_SECRET: secret };

const read = (args: readonly string[], variables: NodeJS.ProcessEnv = env) =>
  readReceiverOptions(args, variables, () => 7);

test("the options are read, with the URL exactly as given and the types of events of a product", () => {
  expect(read([...complete, "--events", "checkout.failed,disbursement.*", "--serial"])).toMatchObject({
    url,
    secrets: [secret],
    seed: 7,
    limits: { timeoutMs: 15_000, settleMs: 5000 },
    events: ["disbursement.completed", "disbursement.failed", "checkout.failed"],
    isSerial: true,
    repeatFlags:
      `--url '${url}' ${complete.slice(2).join(" ")} --events 'checkout.failed,disbursement.*' --serial`.split(" "),
  });
  const elsewhere = ["--url", "https://shop.example/hooks", "--effects-command", "./effects"];
  expect(read([...elsewhere, "--yes"]).repeatFlags).toContain("--yes");
  const [made] = read([...complete, "--command", "node receiver.js"], {}).secrets;
  expect(made).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
});

const probes = "either --effects-url URL or --effects-command COMMAND";

test.each([
  ["no URL", ["--effects-url", "http://127.0.0.1/e"], env, "--url is missing"],
  ["another scheme", ["--url", "ftp://127.0.0.1", "--effects-command", "x"], env, "--url: must be an http or https"],
  ["an unknown type", [...complete, "--events", "payout.*"], env, 'no event of the contract is "payout.*"'],
  ["no probe", ["--url", url], env, probes],
  ["two probes", [...complete, "--effects-command", "x"], env, probes],
  ["no secret", complete, {}, "no secret: set WEBHOOK_SECRET"],
  ["an invalid secret", complete, { WEBHOOK_SECRET: "my-secret" }, "WEBHOOK_SECRET must be whsec_"],
  ["an invalid old secret", complete, { ...env, WEBHOOK_SECRET_OLD: "old" }, "WEBHOOK_SECRET_OLD must be whsec_"],
  ["a receiver elsewhere", ["--url", "https://shop.example/hooks", "--effects-command", "x"], env, "add --yes"],
  ["an unknown requirement", [...complete, "--only", "receiver.in-tyme"], env, "Did you mean receiver.in-time?"],
  ["an unknown scenario", [...complete, "--scenario", "restart"], env, "Did you mean restarted?"],
])("%s is refused, and no secret is quoted", (_, args, variables, message) => {
  expect(() => read(args, variables)).toThrow(OptionsError);
  expect(() => read(args, variables)).toThrow(message);
  expect(() => read(args, variables)).not.toThrow("my-secret");
});
