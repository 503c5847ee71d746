import { generateKeyPairSync } from "node:crypto";
import { SignJWT, UnsecuredJWT } from "jose";
import { expect, test } from "vitest";
import { hostile, sampleReport, requirement } from "../testing/sample-report.ts";
import type { Report } from "../results.ts";
import { resultsSha256, sha256, suiteSha256 } from "./hashes.ts";
import { thumbprint } from "./keys.ts";
import { NotCertified, signCertificate } from "./sign.ts";
import { verifyCertificate } from "./verify.ts";

const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const other = generateKeyPairSync("ed25519");
const now = new Date("2026-11-20T12:00:00Z");
const full = sampleReport([
  requirement("create.echo", "pass"),
  requirement("phone.422", "warn", { level: "should" }),
  requirement("split", "observed"),
  requirement("webhook.failed", "not-applicable", { section: "§6" }),
]);
const json = JSON.stringify(full);
const bytes = Buffer.from(json);
const signed = (report = full, text = json) => signCertificate(report, text, { key: privateKey, now, validDays: 90 });

/** Signs a token with the certificate's key, but with another header or other claims. */
async function token(change: { header?: object; claims?: object }): Promise<string> {
  const claims = JSON.parse(Buffer.from((await signed()).split(".")[1]!, "base64url").toString());
  const header = { alg: "Ed25519", typ: "conformance-certificate+jwt", kid: await thumbprint(privateKey) };
  return new SignJWT({ ...claims, ...change.claims })
    .setProtectedHeader({ ...header, ...change.header })
    .sign(privateKey);
}

test("states target, profile, effects, times, what was not judged, and every hash", async () => {
  const verification = await verifyCertificate({ jws: await signed(), key: publicKey, now, reportJson: bytes });
  expect(verification).toEqual({
    valid: true,
    certificate: {
      ...full.conditions,
      jti: expect.stringMatching(/^[0-9a-f]{32}$/),
      kind: "service",
      seed: 42,
      challenge: null,
      budget: full.budget,
      judged: { core: { musts: 2, passed: 1, notApplicable: 1 } },
      declared: {},
      foundLimits: {},
      sub: "https://sandbox.example",
      iat: now.getTime() / 1000,
      nbf: Date.parse("2026-11-20T10:00:18Z") / 1000,
      exp: Date.parse("2027-02-18T12:00:00Z") / 1000,
      verdict: "certified",
      scope: "core · effects money · 1 of 2 musts · 1 not applicable: webhook.failed",
      profile: "core",
      effects: "money",
      startedAt: full.startedAt,
      finishedAt: full.finishedAt,
      suiteVersion: "1.0.0",
      counts: full.counts,
      notApplicable: [
        {
          id: "webhook.failed",
          source: "§6",
          level: "must",
          profile: "core",
          why: "The target has no payment page to finish.",
        },
      ],
      hashes: {
        spec: full.specSha256,
        suite: suiteSha256(),
        results: resultsSha256(full),
        report: sha256(json),
        exchanges: full.exchangesSha256,
      },
    },
  });
});

const leftOut = (code: "effects" | "only" | "stopped") =>
  sampleReport([requirement("a", "not-applicable", { reason: { code, text: "Not now." } })]);

test.each<[string, Report, RegExp]>([
  ["failed", sampleReport([requirement("create.echo", "fail")]), /verdict is failed.*create.echo: fail/],
  ["passed in part", sampleReport([], { verdict: "passed-partially" }), /verdict is passed-partially/],
  [
    "was not completed",
    sampleReport([], { verdict: "error", errors: ["unreachable"] }),
    /verdict is error.*the suite reported errors/,
  ],
  ["selected a part", sampleReport([], { only: ["create.echo"] }), /--only/],
  ["could not run something", sampleReport([requirement("a", "could-not-run")]), /a: could-not-run/],
  [
    "claims to be certified but contains a failure",
    sampleReport([requirement("a", "fail")], { verdict: "certified" }),
    /a: fail/,
  ],
  ["has a must with a warning", sampleReport([requirement("a", "warn")]), /a: warn/],
  ["did not judge what --effects forbids", leftOut("effects"), /a was not fully judged/],
  ["did not judge what was not selected", leftOut("only"), /a was not fully judged/],
  [
    "judged something partially",
    sampleReport([requirement("a", "pass", { reason: { code: "effects", text: "Not now." } })]),
    /a was not fully judged/,
  ],
  [
    "gives no reason for what it did not judge",
    sampleReport([requirement("a", "not-applicable", { reason: undefined })]),
    /without a reason/,
  ],
  ["ended early", leftOut("stopped"), /a was not fully judged/],
  [
    "tolerates a known failure",
    sampleReport([requirement("a", "warn", { knownFailure: { reason: "r", expires: "2026-12-31" } })]),
    /a is a tolerated failure/,
  ],
  ["has a stale list of known failures", sampleReport([], { baselineProblems: ["a"] }), /list of known failures/],
])("refuses a certificate to a run that %s", async (_what, report, reason) => {
  await expect(signed(report)).rejects.toThrow(NotCertified);
  await expect(signed(report)).rejects.toThrow(reason);
});

/** Returns a certificate whose content was changed after it was signed. */
async function tampered(): Promise<string> {
  const [header, payload, signature] = (await signed()).split(".");
  const claims = JSON.parse(Buffer.from(payload!, "base64url").toString());
  const changed = Buffer.from(JSON.stringify({ ...claims, sub: "https://other.example" })).toString("base64url");
  return [header, changed, signature].join(".");
}

const at = (time: string) => new Date(time);

test.each<[string, () => string | Promise<string>, Partial<Parameters<typeof verifyCertificate>[0]>, RegExp]>([
  ["changed afterwards", tampered, {}, /changed after it was signed/],
  [
    "with its signature cut off",
    async () => (await signed()).replace(/\.[^.]*$/, "."),
    {},
    /changed after it was signed/,
  ],
  [
    "verified with another key",
    () => signed(),
    { key: other.publicKey },
    /signed with a different key: .+ instead of /,
  ],
  ["that has expired", () => signed(), { now: at("2027-02-18T12:00:00Z") }, /expired on 2027-02-18T12:00:00.000Z/],
  [
    "that is not yet valid",
    () => signed(),
    { now: at("2026-11-20T10:00:17Z") },
    /not valid before 2026-11-20T10:00:18/,
  ],
  ["without a signature", () => new UnsecuredJWT({ sub: "x" }).encode(), {}, /algorithm none; only Ed25519/],
  [
    "signed with a shared secret",
    () => new SignJWT({}).setProtectedHeader({ alg: "HS256" }).sign(Buffer.alloc(32)),
    {},
    /algorithm HS256; only Ed25519/,
  ],
  ["that is another kind of token", () => token({ header: { typ: "JWT" } }), {}, /not a conformance certificate/],
  ["without an expiry", () => token({ claims: { exp: undefined } }), {}, /"exp" is missing/],
  ["that states another verdict", () => token({ claims: { verdict: "failed" } }), {}, /states the verdict failed/],
  ["that is not a token", () => hostile, {}, /not a readable signed token/],
  ["that is empty", () => "", {}, /not a readable signed token/],
])("rejects a certificate %s", async (_what, jws, change, reason) => {
  const verification = await verifyCertificate({ jws: await jws(), key: publicKey, now, ...change });
  expect(verification).toEqual({ valid: false, reason: expect.stringMatching(reason) });
});

test.each([
  ["a verdict", json.replace(`"verdict":"pass"`, `"verdict":"fail"`), /its verdicts differ/],
  ["something else", json.replace("sandbox.example", "other.example"), /verdicts are the same, but other content/],
  ["its layout", JSON.stringify(full, null, 2), /verdicts are the same/],
  ["everything", hostile.toWellFormed(), /not a readable report/],
])("rejects a report in which %s was changed", async (_what, changed, reason) => {
  const reportJson = Buffer.from(changed);
  const verification = await verifyCertificate({ jws: await signed(), key: publicKey, now, reportJson });
  expect(verification).toEqual({
    valid: false,
    reason: expect.stringMatching(/The report is not the certified report/),
  });
  expect(verification).toEqual({ valid: false, reason: expect.stringMatching(reason) });
});

const report = (...results: Parameters<typeof requirement>[]) =>
  sampleReport(results.map((each) => requirement(...each)));

test("the hash of the results depends on verdicts and checks, not on times, wording or order", () => {
  const hash = resultsSha256(report(["a", "pass"], ["b", "warn"]));
  expect(resultsSha256(report(["b", "warn"], ["a", "pass", { text: "Other words." }]))).toBe(hash);
  expect(resultsSha256(report(["a", "pass"], ["b", "pass"]))).not.toBe(hash);
  expect(resultsSha256(report(["a", "pass", { checks: [] }], ["b", "warn"]))).not.toBe(hash);
});
