import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { referencesOf, seedOf } from "./certificate/challenge.ts";
import { writeKeyPair } from "./certificate/keys.ts";
import type { Report } from "./results.ts";
import { reportIn, startCertify, type CertifyResult } from "./testing/command-line.ts";
import { startSoundTarget } from "./testing/sound-target.ts";

const key = "test-key-4b1d9c72e05f";
const realRecipient = "2250712345678";
/** The time limit for a test that executes a whole run, even on a busy machine. */
const wholeRunMs = 180_000;
const started: { stop(): Promise<unknown> }[] = [];
let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "certify-"));
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((one) => one.stop()));
  await rm(folder, { recursive: true, force: true });
});

async function target(settings: Partial<Parameters<typeof startSoundTarget>[0]> = {}) {
  const sound = await startSoundTarget({ key, ...settings });
  started.push(sound);
  return sound;
}

/** Runs the command line. `onOutput` is called during the run with the output so far. */
function certify(args: string[], env: Record<string, string> = { API_KEY: key }, onOutput?: (text: string) => void) {
  const { child, ended } = startCertify([...args, "--linger", "0", "--report", folder], { env, onOutput });
  return {
    child,
    ended: ended.then(async (end): Promise<CertifyResult> => ({ ...end, report: await reportIn(folder) })),
  };
}

const verdictsOf = (report: Report | undefined, verdict: string) =>
  report?.requirements.filter((requirement) => requirement.verdict === verdict).map(({ id }) => id);

const creating = ({ method, path, key: given }: { method: string; path: string; key: string | undefined }) =>
  method !== "GET" && given === key && path.startsWith("/v1/");

describe("a run that cannot start", () => {
  test("exits with 2 and writes no report if the target is down", async () => {
    const gone = await target();
    await gone.stop();
    const { code, output, report } = await certify(["--base-url", gone.url]).ended;
    expect([code, report]).toEqual([2, undefined]);
    expect(output).toContain("is unreachable");
  });

  test("exits with 2 for a wrong key, without printing it", async () => {
    const { url } = await target();
    const { code, output } = await certify(["--base-url", url], { API_KEY: "another-key" }).ended;
    expect(code).toBe(2);
    expect(output).toContain("rejects the key with 401");
    expect(output).not.toContain("another-key");
  });

  test("exits with 2 if the second key is rejected, without printing it", async () => {
    const { url, seen } = await target();
    const { code, output } = await certify(["--base-url", url], { API_KEY: key, API_KEY_2: "unknown-key" }).ended;
    expect(code).toBe(2);
    expect(output).toContain("API_KEY_2 is rejected with 401");
    expect(output).not.toContain("unknown-key");
    expect(seen.filter((request) => request.method !== "GET")).toEqual([]);
  });

  test.each([
    ["another secret", "whsec_b3RoZXI=", 2],
    ["its secret without the prefix", "b3du", 0],
  ])("with a sandbox and %s (%s) exits with %i", async (_, given, expected) => {
    const { url } = await target({ environment: "sandbox", secret: "whsec_b3du" });
    const env = { API_KEY: key, WEBHOOK_SECRET: given };
    const { code, output } = await certify(["--base-url", url, "--only", "verify.unknown-404"], env).ended;
    expect(code).toBe(expected);
    expect(output.includes("WEBHOOK_SECRET differs from the merchant's secret")).toBe(code === 2);
    for (const secret of ["b3RoZXI=", "b3du"]) expect(output).not.toContain(secret);
  });

  test("exits with 2 if --effects excludes every selected check", async () => {
    const { url } = await target();
    const { code, output } = await certify(["--base-url", url, "--effects", "none", "--only", "create.accepted"]).ended;
    expect(code).toBe(2);
    expect(output).toContain("No check to run");
  });
});

describe("what a run does to money", () => {
  test("a target that is not a sandbox receives no request that could create anything", async () => {
    const { url, seen } = await target();
    const { code, report } = await certify(["--base-url", url]).ended;
    expect([report?.effects, report?.verdict, code]).toEqual(["none", "passed-partially", 0]);
    expect(seen.filter((request) => request.method !== "GET")).toEqual([]);
  });

  test.each([
    ["sandbox", "money"],
    ["live", "none"],
  ] as const)("a loopback target that reports %s gets effects %s", async (environment, effects) => {
    const { url } = await target({ environment });
    const { report } = await certify(["--base-url", url, "--only", "verify.unknown-404"]).ended;
    expect(report?.effects).toBe(effects);
  });

  // The seed decides which check is the first to send a request without a key.
  test.each(["1", "2"])("--effects reject stops at the first accepted request, seed %s", async (seed) => {
    const data = { reference: "r", merchantsReference: "m", amount: 100, fee: 0, status: "success" };
    const { url, seen } = await target({
      alter: (reply, request) =>
        request.method === "POST" && request.key === undefined
          ? { status: 200, body: { statusCode: 200, data } }
          : reply,
    });
    const { code, report, output } = await certify(["--base-url", url, "--effects", "reject", "--seed", seed]).ended;
    expect(code).toBe(1);
    expect(verdictsOf(report, "fail")).not.toEqual([]);
    // Refused requests with a key may precede the accepted request.
    const posts = seen.filter((request) => request.method === "POST");
    expect(posts.filter((request) => request.key === undefined)).toEqual([posts.at(-1)]);
    expect(report?.created).toMatchObject([{ unintended: true }]);
    expect(output).toContain("but must be refused");
  });

  test("--max-payouts 3 makes exactly three payouts", { timeout: wholeRunMs }, async () => {
    const { url } = await target();
    const some = "create.accepted,create.duplicate-race,numbers.exact,verify.found";
    const args = ["--base-url", url, "--effects", "money", "--max-payouts", "3", "--only", some, "--seed", "1"];
    const { code, report, output } = await certify(args).ended;
    expect(code).toBe(2);
    expect(output).toMatch(/--max-payouts 3 --max-total 50000000 is too small for \d+ checks/);
    expect(report?.created.filter((record) => record.kind === "disbursement")).toHaveLength(3);
    expect(verdictsOf(report, "could-not-run")).toContain("create.duplicate-race");
  });

  test("--sign exits with 2 before anything is paid if a check does not fit into the budget", async () => {
    const { url, seen } = await target();
    const keyFile = join(folder, "signing.key");
    writeKeyPair(keyFile);
    const args = ["--base-url", url, "--effects", "money", "--max-total", "10000", "--sign", keyFile];
    const { code, report, output } = await certify(args).ended;
    expect([code, report]).toEqual([2, undefined]);
    expect(output).toContain("create.amount-echoed");
    expect(output).toContain("too small to earn a certificate");
    // The probe for sandbox controls sends empty objects.
    expect(seen.filter(({ method, path }) => method !== "GET" && path.startsWith("/v1/"))).toEqual([]);
  });

  test("a challenge determines seed and references, and serves for one run", { timeout: wholeRunMs }, async () => {
    const { url, seen } = await target();
    const args = [
      "--base-url",
      url,
      "--effects",
      "money",
      "--only",
      "create.reference-echoed",
      "--challenge",
      "a nonce",
    ];
    const { report } = await certify(args).ended;
    expect(report).toMatchObject({ challenge: "a nonce", seed: seedOf("a nonce") });
    expect(report?.created[0]?.merchantsReference).toBe(referencesOf("a nonce")[0]);
    expect(report?.repeatFlags).not.toContain("--challenge");
    const before = seen.filter(creating).length;
    const { code, output, report: second } = await certify(args).ended;
    expect([code, second?.verdict]).toEqual([2, "error"]);
    expect(output).toContain("A challenge serves for one run with a merchant: ask for another one");
    expect(seen.filter(creating)).toHaveLength(before + 1);
  });

  test("the report lists every payout made", async () => {
    const { url, seen } = await target();
    const { report } = await certify(["--base-url", url, "--effects", "money", "--only", "create.reference-echoed"])
      .ended;
    const sentTo = (path: string) =>
      seen
        .filter((request) => creating(request) && request.path === path)
        .map(({ body }) => JSON.parse(body) as { reference: string; amount: number });
    // The run also uses references again, and sends amounts and long references that are refused.
    const payouts = sentTo("/v1/disbursements").filter(
      ({ amount, reference }) => amount > 0 && [...reference].length <= 64,
    );
    const paid = [...new Set(payouts.map(({ reference }) => reference))];
    const { disbursement = [], checkout = [] } = Object.groupBy(report!.created, ({ kind }) => kind);
    // Some of these requests are concurrent, so the responses may arrive in another order.
    expect(disbursement.map((record) => record.merchantsReference).toSorted()).toEqual(paid.toSorted());
    expect(checkout).toHaveLength(sentTo("/v1/checkouts").length);
    expect(paid).not.toEqual([]);
  });
});

test("the report names a header without which the target serves nobody, but not its value", async () => {
  const header = "x-pilot-tenant";
  const refuses = (headers: Record<string, unknown>) => headers[header] !== "gold";
  const { url } = await target({
    instead: ({ headers }) => (refuses(headers) ? { status: 422, body: { statusCode: 422, error: "No" } } : undefined),
  });
  const args = ["--base-url", url, "--only", "verify.unknown-404"];
  expect((await certify(args).ended).code).toBe(1);
  const { code, report, output } = await certify([...args, "--header", "X-Pilot-Tenant: gold"]).ended;
  expect([code, report?.conditions.headers]).toEqual([0, [header]]);
  expect(output).toContain(`added headers: ${header}`);
  expect(await readFile(join(folder, "report.html"), "utf8")).toContain(`added to every request: ${header}`);
  expect(JSON.stringify(report)).not.toContain("gold");
});

describe("verdicts", () => {
  test(
    "a sound target behind a path prefix passes, and no file or output contains a key, a secret or a phone number",
    { timeout: wholeRunMs },
    async () => {
      const { url } = await target({
        prefix: "/api/payments",
        secondKey: "second-key-77aa0c1b",
        alter: (reply, { key: given }) => ({ ...reply, headers: { "x-echo": given ?? "" } }),
      });
      const secrets = { API_KEY: key, API_KEY_2: "second-key-77aa0c1b", WEBHOOK_SECRET: "whsec_c2VjcmV0LXNlY3JldA==" };
      const header = "Authorization: Basic dXNlcjpwYXNz";
      const { code, report, output } = await certify(
        ["--base-url", `${url}/`, "--effects", "money", "--header", header, "--recipient", realRecipient],
        secrets,
      ).ended;
      const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), "utf8")));
      expect(files.length).toBeGreaterThan(0);
      for (const secret of [...Object.values(secrets), "dXNlcjpwYXNz", realRecipient]) {
        for (const text of [...files, output]) expect(text).not.toContain(secret);
      }
      expect(verdictsOf(report, "fail")).toEqual([]);
      expect(report?.errors).toEqual([]);
      // The target is not a sandbox, so the caller must name a recipient to whom payouts fail.
      expect([report?.verdict, code]).toEqual(["passed-partially", 0]);
      const what = "a recipient to whom payouts fail (--failing-recipient)";
      expect(report?.notProvided).toMatchObject([
        { what, requirements: expect.arrayContaining(["webhook.disbursement-failure"]) },
      ]);
      expect(output).toContain(`Not provided: ${what}.`);
    },
  );

  test(
    "one fault fails what it breaks, and says what was required, what came and how to repeat it",
    { timeout: wholeRunMs },
    async () => {
      const { url } = await target({
        alter(reply, { method, path }) {
          if (method !== "GET" || !path.startsWith("/v1/disbursements/") || reply.status !== 200) return reply;
          const body = reply.body as { data: Record<string, unknown> };
          return { ...reply, body: { ...body, data: { ...body.data, createdAt: "2026-01-01 10:00" } } };
        },
      });
      const broken = ["verify.record-shape", "verify.timestamps"];
      const sound = ["create.accepted", "records.as-requested", "verify.found", "webhook.truth"];
      const only = [...broken, ...sound].join();
      const { code, report, output } = await certify(["--base-url", url, "--effects", "money", "--only", only]).ended;
      expect(code).toBe(1);
      expect(verdictsOf(report, "fail")).toEqual(broken);
      expect(output).toMatch(/verify\.timestamps {2}§2\.3[^]*expected[^]*2026-01-01 10:00[^]*curl -i -X/);
    },
  );

  test("a declared limit that the target does not have fails the run, which names it", async () => {
    const { url } = await target();
    const file = join(folder, "certify.yaml");
    await writeFile(file, "largestAmount: 50000\n");
    const { code, report, output } = await certify(["--base-url", url, "--effects", "money", "--declare", file]).ended;
    expect([report?.verdict, code, report?.errors]).toEqual(["failed", 1, []]);
    const text = "--declare: largestAmount: 50000 is not what the target limits: the target accepts more: amount 50001";
    expect(report?.falseDeclaration).toContain(text);
    expect(output).toContain(text);
    expect(verdictsOf(report, "pass")).not.toContain("create.accepted");
  });

  test("Ctrl-C writes a report of the results so far and exits with 2", { timeout: wholeRunMs }, async () => {
    const { url } = await target();
    const { child, ended } = certify(["--base-url", url, "--effects", "money"], undefined, (output) => {
      if (output.includes("Create without") && !child.killed) child.kill("SIGINT");
    });
    const { code, report } = await ended;
    expect(code).toBe(2);
    expect(report?.verdict).toBe("error");
    expect(report?.errors).toContain("The run was interrupted.");
    expect(verdictsOf(report, "pass")).toContain("auth.verify-needs-key");
  });
});
