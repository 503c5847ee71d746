import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { referencesOf, seedOf } from "./certificate/challenge.ts";
import { writeKeyPair } from "./certificate/keys.ts";
import type { Report } from "./results.ts";
import { reportIn, startCertify } from "./testing/command-line.ts";
import { startSoundTarget } from "./testing/sound-target.ts";

const key = "test-key-4b1d9c72e05f";
const secondKey = "second-key-77aa0c1b";
const realRecipient = "2250712345678";
const money = ["--effects", "money"];

type Target = Awaited<ReturnType<typeof startSoundTarget>>;
const started: Target[] = [];
let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "certify-"));
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((target) => target.stop()));
  await rm(folder, { recursive: true, force: true });
});

async function start(settings: Partial<Parameters<typeof startSoundTarget>[0]> = {}) {
  const target = await startSoundTarget({ key, ...settings });
  started.push(target);
  return target;
}

/** Runs the command line. `during` is called with the process and the output so far. */
async function certify(
  { url }: Target,
  args: readonly string[],
  env: Record<string, string> = {},
  during: (child: ReturnType<typeof startCertify>["child"], output: string) => void = () => undefined,
) {
  const all = ["--base-url", url, ...args, "--linger", "0", "--report", folder];
  const { child, ended } = startCertify(all, {
    env: { API_KEY: key, ...env },
    onOutput: (output) => during(child, output),
  });
  return { ...(await ended), report: await reportIn(folder) };
}

const idsOf = (report: Report | undefined, verdict: string) =>
  report?.requirements.filter((requirement) => requirement.verdict === verdict).map(({ id }) => id);
const posts = ({ seen }: Target) => seen.filter(({ method, path }) => method !== "GET" && path.startsWith("/v1/"));
const payoutsOf = ({ merchants }: Target) => merchants[0].state.disbursements.records;
const payouts = (report: Report | undefined) => report?.created.filter(({ kind }) => kind === "disbursement");

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
    const { code, output, report } = await certify(target, args, env);
    expect([code, report]).toEqual([2, undefined]);
    expect(output).toContain(says);
    for (const secret of [...Object.values(env), "b3RoZXI=", "b3du"]) expect(output).not.toContain(secret);
    expect(posts(target)).toEqual([]);
  });

  test("if the target is down", async () => {
    const target = await start();
    await target.stop();
    const { code, output, report } = await certify(target, []);
    expect([code, report]).toEqual([2, undefined]);
    expect(output).toContain("is unreachable");
  });

  test("with --sign, if a check does not fit into the budget", async () => {
    const target = await start();
    writeKeyPair(join(folder, "signing.key"));
    const args = [...money, "--max-total", "10000", "--sign", join(folder, "signing.key")];
    const { code, report, output } = await certify(target, args);
    expect([code, report]).toEqual([2, undefined]);
    expect(output).toMatch(/too small for \d+ checks[^]*too small to earn a certificate/);
    expect(posts(target)).toEqual([]);
  });
});

describe("what a run does to money", () => {
  test.each([
    [undefined, "none"],
    ["live", "none"],
    ["sandbox", "money"],
  ] as const)("a loopback target that reports the environment %s gets effects %s", async (environment, effects) => {
    const target = await start({ ...(environment && { environment }) });
    const { report } = await certify(target, ["--only", "verify.unknown-404"]);
    expect(report?.effects).toBe(effects);
    expect(posts(target)).toEqual([]);
  });

  // The seed decides which check is the first to send a request without a key.
  test.each(["1", "2"])("--effects reject stops at the first accepted request, seed %s", async (seed) => {
    const data = { reference: "r", merchantsReference: "m", amount: 100, fee: 0, status: "success" };
    const target = await start({
      alter: (reply, request) =>
        request.method === "POST" && request.key === undefined
          ? { status: 200, body: { statusCode: 200, data } }
          : reply,
    });
    const { code, report, output } = await certify(target, ["--effects", "reject", "--seed", seed]);
    expect(code).toBe(1);
    expect(idsOf(report, "fail")).not.toEqual([]);
    // Refused requests with a key may precede the accepted request.
    const sent = target.seen.filter(({ method }) => method === "POST");
    expect(sent.filter((request) => request.key === undefined)).toEqual([sent.at(-1)]);
    expect(report?.created).toMatchObject([{ unintended: true }]);
    expect(output).toContain("but must be refused");
  });

  test("--max-payouts 3 makes exactly three payouts", async () => {
    const target = await start();
    const some = "create.accepted,create.duplicate-race,numbers.exact,verify.found";
    const args = [...money, "--max-payouts", "3", "--only", some, "--seed", "1"];
    const { code, report, output } = await certify(target, args);
    expect(code).toBe(2);
    expect(output).toMatch(/--max-payouts 3 --max-total 50000000 is too small for \d+ checks/);
    expect([payouts(report)?.length, payoutsOf(target).length]).toEqual([3, 3]);
    expect(idsOf(report, "could-not-run")).toContain("create.duplicate-race");
  });

  test("a challenge determines seed and references, and serves for one run", async () => {
    const target = await start();
    const args = [...money, "--only", "create.reference-echoed", "--challenge", "a nonce"];
    const { report } = await certify(target, args);
    expect(report).toMatchObject({ challenge: "a nonce", seed: seedOf("a nonce") });
    expect(report?.created[0]?.merchantsReference).toBe(referencesOf("a nonce")[0]);
    expect(report?.repeatFlags).not.toContain("--challenge");
    const before = posts(target).length;
    const { code, output, report: second } = await certify(target, args);
    expect([code, second?.verdict]).toEqual([2, "error"]);
    expect(output).toContain("A challenge serves for one run with a merchant: ask for another one");
    expect(posts(target)).toHaveLength(before + 1);
  });

  test("the report lists every payout made", async () => {
    const target = await start();
    const { report } = await certify(target, [...money, "--only", "create.reference-echoed"]);
    const paid = payoutsOf(target).map(({ merchantsReference }) => merchantsReference);
    // Some of the requests are concurrent, so the responses may arrive in another order.
    expect(
      payouts(report)
        ?.map(({ merchantsReference }) => merchantsReference)
        .toSorted(),
    ).toEqual(paid.toSorted());
    expect(paid).not.toEqual([]);
  });
});

test("the report names a header without which the target serves nobody, but not its value", async () => {
  const header = "x-pilot-tenant";
  const target = await start({
    instead: ({ headers }) =>
      headers[header] === "gold" ? undefined : { status: 422, body: { statusCode: 422, error: "No" } },
  });
  const args = ["--only", "verify.unknown-404"];
  expect((await certify(target, args)).code).toBe(1);
  const { code, report, output } = await certify(target, [...args, "--header", "X-Pilot-Tenant: gold"]);
  expect([code, report?.conditions.headers]).toEqual([0, [header]]);
  expect(output).toContain(`added headers: ${header}`);
  expect(await readFile(join(folder, "report.html"), "utf8")).toContain(`added to every request: ${header}`);
  expect(JSON.stringify(report)).not.toContain("gold");
});

describe("verdicts", () => {
  test("a sound target behind a path prefix passes, and no file or output contains a secret or a phone number", async () => {
    const target = await start({
      prefix: "/api/payments",
      secondKey,
      alter: (reply, { key: given }) => ({ ...reply, headers: { "x-echo": given ?? "" } }),
    });
    const env = { API_KEY: key, API_KEY_2: secondKey, WEBHOOK_SECRET: "whsec_c2VjcmV0LXNlY3JldA==" };
    const header = ["--header", "Authorization: Basic dXNlcjpwYXNz"];
    const { code, report, output } = await certify(target, [...money, ...header, "--recipient", realRecipient], env);
    const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), "utf8")));
    expect(files.length).toBeGreaterThan(0);
    for (const secret of [...Object.values(env), "dXNlcjpwYXNz", realRecipient]) {
      for (const text of [...files, output]) expect(text).not.toContain(secret);
    }
    // The target is not a sandbox, so the caller must name a recipient to whom payouts fail.
    expect([code, report?.verdict, report?.errors, idsOf(report, "fail")]).toEqual([0, "passed-partially", [], []]);
    const what = "a recipient to whom payouts fail (--failing-recipient)";
    expect(report?.notProvided).toMatchObject([
      { what, requirements: expect.arrayContaining(["webhook.disbursement-failure"]) },
    ]);
    expect(output).toContain(`Not provided: ${what}.`);
  });

  test("one fault fails what it breaks, and says what was required, what came and how to repeat it", async () => {
    const target = await start({
      alter(reply, { method, path }) {
        if (method !== "GET" || !path.startsWith("/v1/disbursements/") || reply.status !== 200) return reply;
        const body = reply.body as { data: Record<string, unknown> };
        return { ...reply, body: { ...body, data: { ...body.data, createdAt: "2026-01-01 10:00" } } };
      },
    });
    const broken = ["verify.record-shape", "verify.timestamps"];
    const sound = ["create.accepted", "records.as-requested", "verify.found", "webhook.truth"];
    const { code, report, output } = await certify(target, [...money, "--only", [...broken, ...sound].join()]);
    expect([code, idsOf(report, "fail")]).toEqual([1, broken]);
    expect(output).toMatch(/verify\.timestamps {2}§2\.3[^]*expected[^]*2026-01-01 10:00[^]*curl -i -X/);
  });

  test("a declared limit that the target does not have fails the run, which names it", async () => {
    const file = join(folder, "certify.yaml");
    await writeFile(file, "largestAmount: 50000\n");
    const { code, report, output } = await certify(await start(), [...money, "--declare", file]);
    expect([report?.verdict, code, report?.errors]).toEqual(["failed", 1, []]);
    const text = "--declare: largestAmount: 50000 is not what the target limits: the target accepts more: amount 50001";
    expect(report?.falseDeclaration).toContain(text);
    expect(output).toContain(text);
    expect(idsOf(report, "pass")).not.toContain("create.accepted");
  });

  test("Ctrl-C writes a report of the results so far and exits with 2", async () => {
    const { code, report } = await certify(await start(), money, {}, (child, output) => {
      if (output.includes("auth.create-needs-key") && !child.killed) child.kill("SIGINT");
    });
    expect([code, report?.verdict]).toEqual([2, "error"]);
    expect(report?.errors).toContain("The run was interrupted.");
    expect(idsOf(report, "pass")).toContain("auth.verify-needs-key");
  });
});
