// Runs `certify` in a process of its own, against sound targets, broken targets and targets that are not the service.
import { writeFile } from "node:fs/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { useFolder } from "../server/testing/resources.ts";
import { creates, hasNoKey, keyOf } from "./broken/calls.ts";
import { handles, refuses, responses, texts } from "./broken/changes.ts";
import { joined, type How } from "./broken/fault.ts";
import { success, withHeader } from "./broken/replies.ts";
import { referencesOf, seedOf } from "./certificate/challenge.ts";
import { writeKeyPair } from "./certificate/keys.ts";
import type { Report } from "./results.ts";
import { runCertify } from "./testing/command-line.ts";
import { startSoundTarget } from "./testing/sound-target.ts";

const key = "test-key-4b1d9c72e05f";
const secondKey = "second-key-77aa0c1b";
const realRecipient = "2250712345678";
const money = ["--effects", "money"];

type Target = Awaited<ReturnType<typeof startSoundTarget>>;
const at = useFolder();

async function start(settings: Partial<Parameters<typeof startSoundTarget>[0]> = {}) {
  const target = await startSoundTarget({ key, ...settings });
  onTestFinished(target.stop);
  return target;
}

const idsOf = (report: Report | undefined, verdict: string) =>
  report?.requirements.filter((requirement) => requirement.verdict === verdict).map(({ id }) => id);
const posts = ({ seen }: Target) => seen.filter(({ method, path }) => method !== "GET" && path.startsWith("/v1/"));
const payoutsOf = ({ merchants }: Target) => merchants.flatMap(({ state }) => state.disbursements.records);
describe("a run that cannot start exits with 2, shows no secret and creates nothing", () => {
  const unknown = ["--only", "verify.unknown-404"];
  test.each<[what: string, args: string[], env: Record<string, string>, says: string]>([
    ["a wrong key", unknown, { API_KEY: "another-key" }, "rejects the key with 401"],
    ["a wrong second key", unknown, { API_KEY_2: "unknown-key" }, "API_KEY_2 is rejected with 401"],
    [
      "a webhook secret that is not the merchant's",
      unknown,
      { WEBHOOK_SECRET: "whsec_b3RoZXI=" },
      "WEBHOOK_SECRET differs from the merchant's secret",
    ],
    ["effects that exclude every check", ["--effects", "none", "--only", "create.accepted"], {}, "No check to run"],
  ])("with %s", async (_, args, env, says) => {
    const target = await start({ environment: "sandbox", secret: "whsec_b3du" });
    const { code, output, report } = await runCertify(target, args, env);
    expect([code, report]).toEqual([2, undefined]);
    expect(output).toContain(says);
    for (const secret of [...Object.values(env), "b3RoZXI=", "b3du"]) expect(output).not.toContain(secret);
    expect(posts(target)).toEqual([]);
  });

  test("with --sign, if a check does not fit into the budget", async () => {
    const target = await start();
    writeKeyPair(at("signing.key"));
    const args = [...money, "--max-total", "10000", "--sign", at("signing.key")];
    const { code, report, output } = await runCertify(target, args);
    expect([code, report]).toEqual([2, undefined]);
    expect(output).toMatch(/too small for \d+ checks[^]*too small to earn a certificate/);
    expect(posts(target)).toEqual([]);
  });
});

/** A sandbox with all its controls. */
const sandbox: How = () => ({ settings: { sandbox: true, settleMs: 2000 } });
/** Accepts checkouts with any country and currency, although a requirement of level `should` has them refused. */
const lenient = joined(
  texts("createCheckout", "country", (country) => (country.length === 2 ? "CI" : country)),
  texts("createCheckout", "currency", () => "XOF"),
);

describe("what a run does to money", () => {
  // The seed decides which check is the first to send a request without a key.
  test.each(["1", "2"])("--effects reject stops at the first accepted request, seed %s", async (seed) => {
    const data = { reference: "r", merchantsReference: "m", amount: 100, fee: 0, status: "success" };
    const target = await start({
      how: handles(async (call, ask) => (call.method === "POST" && hasNoKey(call) ? success(data) : ask(call))),
    });
    const { code, report, output } = await runCertify(target, ["--effects", "reject", "--seed", seed]);
    expect(code).toBe(1);
    expect(idsOf(report, "fail")).not.toEqual([]);
    // Refused requests with a key may precede the accepted request.
    const sent = target.seen.filter(({ method }) => method === "POST");
    expect(sent.filter(hasNoKey)).toEqual([sent.at(-1)]);
    expect(report?.created).toMatchObject([{ unintended: true }]);
    expect(output).toContain("but must be refused");
  });

  test.each<[flag: string, most: number, measure: (amount: number) => number]>([
    ["--max-payouts", 3, () => 1],
    ["--max-total", 20_000, (amount) => amount],
  ])(
    "%s %i is not exceeded, and the report lists the payouts and what could not run",
    async (...[flag, most, measure]) => {
      const target = await start();
      const some = "create.accepted,create.duplicate-race,numbers.exact,verify.found";
      const { code, report, output } = await runCertify(target, [...money, flag, String(most), "--only", some]);
      expect([code, report?.verdict]).toEqual([2, "error"]);
      expect(output).toMatch(/too small for \d+ checks?/);
      expect(idsOf(report, "could-not-run")).toContain("create.duplicate-race");
      const paid = payoutsOf(target);
      expect(paid).not.toEqual([]);
      expect(paid.reduce((sum, { amount }) => sum + measure(amount), 0)).toBeLessThanOrEqual(most);
      // Some of the requests are concurrent, so the responses may arrive in another order.
      const references = (list: typeof paid | Report["created"]) =>
        list.map((each) => each.merchantsReference).toSorted();
      const listed = report!.created.filter(({ kind }) => kind === "disbursement");
      expect(references(listed)).toEqual(references(paid));
    },
  );

  test("a challenge determines seed and references, and serves for one run", async () => {
    const target = await start();
    const args = [...money, "--only", "create.reference-echoed", "--challenge", "a nonce"];
    const { report } = await runCertify(target, args);
    expect(report).toMatchObject({ challenge: "a nonce", seed: seedOf("a nonce") });
    expect(report?.created[0]?.merchantsReference).toBe(referencesOf("a nonce")[0]);
    expect(report?.repeatFlags).not.toContain("--challenge");
    const before = posts(target).length;
    const { code, output, report: second } = await runCertify(target, args);
    expect([code, second?.verdict]).toEqual([2, "error"]);
    expect(output).toContain("A challenge serves for one run with a merchant: ask for another one");
    expect(posts(target)).toHaveLength(before + 1);
  });

  test.each([
    ["none", "a sound sandbox", "extended", sandbox],
    ["reject", "a sound sandbox", "extended", sandbox],
    ["reject", "a sandbox that violates only a should", "core", joined(sandbox, lenient)],
  ])("--effects %s creates nothing on %s", async (effects, _, profile, how) => {
    const target = await start({ environment: "sandbox", how });
    const { code, report } = await runCertify(target, ["--profile", profile, "--effects", effects]);
    expect([code, report?.verdict, report?.created]).toEqual([0, "passed-partially", []]);
    const checkouts = target.merchants.flatMap(({ state }) => state.checkouts.records);
    expect([...payoutsOf(target), ...checkouts]).toEqual([]);
    const others = target.seen.filter(({ method, body }) => method !== "GET" || body.length > 0);
    expect(others.length > 0).toBe(effects === "reject");
  });
});

test("the report names a header without which the target serves nobody, but not its value", async () => {
  const header = "x-pilot-tenant";
  const target = await start({ how: refuses((_, { headers }) => headers[header] !== "gold", 422, "every") });
  const args = ["--only", "verify.unknown-404"];
  expect((await runCertify(target, args)).code).toBe(1);
  const { code, report, output, files } = await runCertify(target, [...args, "--header", "X-Pilot-Tenant: gold"]);
  expect([code, report?.conditions.headers]).toEqual([0, [header]]);
  expect(output).toContain(`added headers: ${header}`);
  expect(files["report.html"]).toContain(`added to every request: ${header}`);
  expect(JSON.stringify(report)).not.toContain("gold");
});

describe("verdicts", () => {
  test("a sound target behind a path prefix passes, and no file or output contains a secret or a phone number", async () => {
    const target = await start({
      prefix: "/api/payments",
      secondKey,
      how: responses("every", (reply, call) => withHeader(reply, "x-echo", keyOf(call))),
    });
    const env = { API_KEY: key, API_KEY_2: secondKey, WEBHOOK_SECRET: "whsec_c2VjcmV0LXNlY3JldA==" };
    const header = ["--header", "Authorization: Basic dXNlcjpwYXNz"];
    const args = [...money, ...header, "--recipient", realRecipient];
    const { code, report, output, files } = await runCertify(target, args, env);
    expect(Object.keys(files)).toEqual(expect.arrayContaining(["report.json", "report.html", "junit.xml"]));
    for (const secret of [...Object.values(env), "dXNlcjpwYXNz", realRecipient]) {
      for (const text of [...Object.values(files), output]) expect(text).not.toContain(secret);
    }
    // The target is not a sandbox, so the caller must name a recipient to whom payouts fail.
    expect([code, report?.verdict, report?.errors, idsOf(report, "fail")]).toEqual([0, "passed-partially", [], []]);
    const what = "a recipient to whom payouts fail (--failing-recipient)";
    expect(report?.notProvided).toMatchObject([
      { what, requirements: expect.arrayContaining(["webhook.disbursement-failure"]) },
    ]);
    expect(output).toContain(`Not provided: ${what}.`);
  });

  test("a declared limit that the target does not have fails the run, which names it", async () => {
    await writeFile(at("certify.yaml"), "largestAmount: 50000\n");
    const { code, report, output } = await runCertify(await start(), [...money, "--declare", at("certify.yaml")]);
    expect([report?.verdict, code, report?.errors]).toEqual(["failed", 1, []]);
    const text = "--declare: largestAmount: 50000 is not what the target limits: the target accepts more: amount 50001";
    expect(report?.falseDeclaration).toContain(text);
    expect(output).toContain(text);
    expect(idsOf(report, "pass")).not.toContain("create.accepted");
  });

  test("Ctrl-C writes a report of the results so far and exits with 2", async () => {
    const { code, report } = await runCertify(await start(), money, {}, (child, output) => {
      if (output.includes("auth.create-needs-key") && !child.killed) child.kill("SIGINT");
    });
    expect([code, report?.verdict]).toEqual([2, "error"]);
    expect(report?.errors).toContain("The run was interrupted.");
    expect(idsOf(report, "pass")).toContain("auth.verify-needs-key");
  });
});

const limited = [...money, "--timeout", "2000", "--seed", "7"];

// conformance/cli/probe.test.ts has targets that respond like another service, or not at all.
test("a target that returns 200 for everything fails", async () => {
  const { code, output } = await runCertify(await start({ how: handles(async () => success({})) }), limited);
  expect(code).toBe(1);
  expect(output).toMatch(/^FAILED[^]*auth\.(create|verify)-needs-key[^]*expected[^]*401[^]*200 \{"statusCode":200/m);
});

test.each<[what: string, reply: Promise<never> | undefined, why: string]>([
  ["closes every connection", undefined, "the connection was closed without a response"],
  ["hangs", new Promise<never>(() => {}), "no complete response within 2000 ms"],
])("a target that %s from request 100 on stops the run with one cause and no failures", async (_, reply, why) => {
  let failedAt = Infinity;
  const target = await start({
    how: () => {
      let count = 0;
      return handles(async (call, ask) => {
        if ((count += 1) < 100) return ask(call);
        failedAt = Math.min(failedAt, performance.now());
        return reply;
      });
    },
  });
  const { code, report, output } = await runCertify(target, limited);
  expect([code, report?.verdict, report?.counts.fail]).toEqual([2, "error", 0]);
  expect(report?.summary).toMatch(/^the target stopped responding at request \d+: (GET|POST|HEAD|OPTIONS) \//);
  expect(report?.summary.endsWith(why)).toBe(true);
  expect(output.match(/^STOPPED/gm)).toHaveLength(1);
  expect(output).not.toMatch(/^(FAIL|not run|✗)/m);
  expect(performance.now() - failedAt).toBeLessThan(15_000);
});

test("a target that responds 503 to one kind of invalid input is judged", async () => {
  const target = await start({ how: refuses(({ amount }) => amount === 0, 503, creates) });
  const { code, report } = await runCertify(target, limited);
  expect([code, report?.verdict, report?.counts["could-not-run"]]).toEqual([1, "failed", 0]);
});
