// Tests the certificates that `publish` writes, and what `certify verify` says about them.
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decodeJwt, SignJWT, UnsecuredJWT } from "jose";
import { afterAll, expect, test, vi } from "vitest";
import { makeFolder, publish } from "../cli/reporting.ts";
import { verify } from "../cli/verify.ts";
import { openapiFile, specSha256 } from "../contract/contract.ts";
import { hostile, requirement, sampleReport, traffic } from "../testing/sample-report.ts";
import { weakenedBy } from "../report/scope.ts";
import type { Conditions, Report } from "../results.ts";
import { referencesOf, seedOf } from "./challenge.ts";
import { sha256, suiteSha256 } from "./hashes.ts";
import { readPrivateKey, writeKeyPair } from "./keys.ts";
import { signCertificate } from "./sign.ts";

const folder = mkdtempSync(join(tmpdir(), "certify-"));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);
writeKeyPair(at("key"));
const privateKey = readPrivateKey(at("key"));
const now = new Date("2026-11-20T12:00:00Z");
const challenge = "9f1c-partner-nonce";
const passed = [requirement("create.echo", "pass"), requirement("phone.422", "warn", { level: "should" })];
const created: Report["created"] = [
  { kind: "disbursement", at: "2026-11-20T10:00:01Z", merchantsReference: referencesOf(challenge)[0]! },
];
const unsigned = [{ requirement: "webhook.headers", name: "names", value: ["content-type"] }];
const sound = (over: Partial<Report> = {}, results = passed) =>
  sampleReport(results, { challenge, seed: seedOf(challenge), created, observed: unsigned, ...over });

const signed = (report = sound(), key = privateKey, text = JSON.stringify(report)) =>
  signCertificate(report, text, { key, now });

makeFolder({ report: at("report") });

/** Writes the files of a run that asked for a certificate. Returns the exit code and what was printed to stderr. */
async function published(report: Report) {
  vi.spyOn(process.stdout, "write").mockReturnValue(true);
  vi.spyOn(console, "log").mockImplementation(() => undefined);
  const error = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const exitCode = await publish(report, { report: at("report"), sign: privateKey }, now);
  const complaint = error.mock.calls.join("\n");
  vi.restoreAllMocks();
  return { exitCode, complaint, files: readdirSync(at("report")).toSorted() };
}
const files = ["junit.xml", "report.html", "report.json", "summary.md"];

test("a certificate states what was judged, when and with what, and what weakened the run", async () => {
  const report = sound({}, [...passed, requirement("webhook.failed", "not-applicable", { section: "§6" })]);
  expect(await published(report)).toEqual({ exitCode: 0, complaint: "", files: ["certificate.jws", ...files] });
  expect(decodeJwt(readFileSync(at("report/certificate.jws"), "utf8").trim())).toEqual({
    sub: "https://sandbox.example",
    iat: now.getTime() / 1000,
    nbf: Date.parse("2026-11-20T10:00:18Z") / 1000,
    exp: Date.parse("2027-02-18T12:00:00Z") / 1000,
    verdict: "certified",
    scope: "core · effects money · 1 of 2 musts · 1 not applicable: webhook.failed",
    weakenedBy: ["webhook.failed (§6) was not judged: The target has no payment page to finish."],
    profile: "core",
    effects: "money",
    startedAt: report.startedAt,
    finishedAt: report.finishedAt,
    suiteVersion: "1.0.0",
    seed: seedOf(challenge),
    challenge,
    watched: null,
    webhooks: "not signed",
    counts: report.counts,
    hashes: {
      spec: report.specSha256,
      suite: suiteSha256(),
      report: sha256(readFileSync(at("report/report.json"))),
      exchanges: report.exchangesSha256,
    },
  });
});

const leftOut = (code: "effects" | "only" | "stopped" | "caller", verdict: "pass" | "not-applicable") =>
  sampleReport([requirement("a", verdict, { reason: { code, text: "Not now." } })]);

test.each<[string, Report, 1 | 2, RegExp]>([
  ["failed", sampleReport([requirement("create.echo", "fail")]), 1, /verdict is failed.*create.echo: fail/],
  ["passed in part", sampleReport([], { verdict: "passed-partially" }), 1, /verdict is passed-partially/],
  ["was not completed", sampleReport([], { verdict: "error", errors: ["unreachable"] }), 2, /suite reported errors/],
  ["selected a part", sampleReport([], { only: ["create.echo"] }), 1, /--only/],
  ["could not run something", sampleReport([requirement("a", "could-not-run")]), 2, /a: could-not-run/],
  ["hides a failure", sampleReport([requirement("a", "fail")], { verdict: "certified" }), 1, /a: fail/],
  ["has a must with a warning", sampleReport([requirement("a", "warn")]), 1, /a: warn/],
  ...(["effects", "only", "stopped", "caller"] as const).map((code): [string, Report, 1, RegExp] => {
    return [`left something out (${code})`, leftOut(code, "not-applicable"), 1, /a was not fully judged/];
  }),
  ["judged something partially", leftOut("effects", "pass"), 1, /a was not fully judged/],
  ["gives no reason", sampleReport([requirement("a", "not-applicable", { reason: undefined })]), 1, /without a reason/],
  ["was not recorded", sampleReport([], { exchangesSha256: undefined }), 1, /exchanges were not recorded/],
])("a run that %s leaves no certificate, not even an earlier one", async (_what, report, exitCode, reason) => {
  writeFileSync(at("report/certificate.jws"), "of an earlier run");
  expect(await published(report)).toEqual({ exitCode, complaint: expect.stringMatching(reason), files });
});

test("refuses a folder for the report that cannot be created", () => {
  expect(() => makeFolder({ report: at("key/report") })).toThrow("--report: ENOTDIR");
});

const { conditions } = sampleReport([]);
const under = (over: Partial<Conditions>): Partial<Report> => ({ conditions: { ...conditions, ...over } });
const client = { profile: "client", effects: "none", baseUrl: "node pay.js" } as const;

/** What weakens a run, and how a certificate states it. */
const weaker: [string, Partial<Report>, RegExp][] = [
  ["a declared limit", { declared: { largestAmount: 10_000 } }, /a limit: amounts up to 10000/],
  ["a limit that was found", { foundLimits: { currencies: ["XOF"] } }, /currencies: XOF/],
  ["a long time limit", under({ waits: { responseMs: 60_000 } }), /up to 1 min 0 s for a response/],
  ["a long wait for a status", under({ waits: { responseMs: 1, settleMs: 90_001 } }), /1 min 30 s for a final status/],
  ["a slow run", under({ rate: 3 }), /slowed down to 3 requests per second/],
  ["an added header", under({ headers: ["x-pilot-tenant"] }), /added to every request: x-pilot-tenant/],
  ["a small budget", under({ untriedAmounts: 4 }), /4 amounts above 10000 were not tried/],
  ["a selection of events", under({ events: ["checkout.failed"] }), /some types of events were sent: checkout.failed/],
  [
    "a target without a sandbox",
    under({ sandbox: { environment: "live", missing: ["POST /sandbox/reset"] } }),
    /the target has no POST \/sandbox\/reset/,
  ],
];

test("nothing weakens a usual run, and a client has no sandbox and a shorter time limit", () => {
  expect(weakenedBy(sound())).toEqual([]);
  expect(weakenedBy(sound({ declared: { httpsWebhooks: false } }))).toEqual([]);
  const missing = ["POST /sandbox/reset"];
  const given = under({ waits: { responseMs: 2000 }, sandbox: { environment: null, missing } });
  expect(weakenedBy(sound({ ...client, ...given }))).toEqual([]);
  expect(weakenedBy(sound({ ...client, ...under({ waits: { responseMs: 2001 } }) }))).toHaveLength(1);
});

/** The options of a reader who checks everything. */
const careful =
  `--target https://sandbox.example/ --profile core --contract ${"ab".repeat(32)} ` +
  `--max-age 12h --challenge ${challenge} --require full`;

/** Returns what `certify verify` says about a certificate, and the report if one is given. */
async function verified(jws: string, { report, time = now }: { report?: string; time?: Date } = {}, args = careful) {
  writeFileSync(at("c.jws"), jws);
  writeFileSync(at("report.json"), report ?? "");
  const compared = report === undefined ? [] : ["--report", at("report.json")];
  const words = args.split(" ").filter(Boolean);
  const { exitCode, text } = await verify([at("c.jws"), "--key", at("key.pub"), ...words, ...compared], time);
  expect(exitCode).toBe(text.startsWith("VALID ") ? 0 : 1);
  return text;
}

test.each<[says: string, headers: string[], results: Report["requirements"]]>([
  ["not signed", ["content-type"], []],
  ["with a signature in x-hub-signature, which profile core does not verify", ["x-hub-signature"], []],
  ["signed, and the signatures verify", ["webhook-signature"], [requirement("signature.verifies", "pass")]],
])("a certificate states that webhooks were %s", async (says, value, results) => {
  const observed = [{ requirement: "webhook.headers", name: "names", value }];
  const text = await verified(await signed(sound({ observed }, [...passed, ...results])), {}, "");
  expect(text).toMatch(new RegExp(`^Webhooks {4}${says}`, "m"));
});

test("a certificate that meets every expectation of its reader is valid", async () => {
  const report = JSON.stringify(sound());
  expect(await verified(await signed(), { report })).toMatch(/^VALID [^]*\(matches the given report\)\n$/);
  const contract = ["--contract", openapiFile, "--max-age", "90m"].join(" ");
  expect(await verified(await signed(sound({ specSha256 })), {}, contract)).toMatch("--max-age: it states a run that");
});

test("says what a certificate states, what weakened the run, and what was not checked", async () => {
  const results = [...passed, requirement("webhook.failed", "not-applicable")];
  const report = sound({ ...under({ headers: ["x-pilot"] }), alsoWatched: traffic }, results);
  const text = await verified(await signed(report), {}, "--target https://sandbox.example");
  expect(text).toMatch(/^VALID {2}c.jws\nTarget +https:\/\/sandbox.example\nScope +core · effects money/);
  expect(text).toMatch(
    /^Watched {5}12,431 exchanges and 310 webhooks of 2 merchants in 3 h 2 min from 2026-11-29 10:00 UTC$/m,
  );
  expect(text).toMatch(/^Weakened by headers were added to every request: x-pilot$/m);
  expect(text).toMatch(/^Weakened by webhook.failed \(§4.1\) was not judged: The target has no payment page/m);
  const [, unchecked = ""] = text.split("Not checked. Each option would check the statement after it:\n");
  const options = ["--report", "--profile", "--contract", "--max-age", "--challenge", "--require"];
  expect(unchecked.match(/(?<=^ {2})--\S+/gm)).toEqual(options);
});

test.each<[string, Partial<Report>, RegExp]>([
  [
    "of staging",
    { baseUrl: "https://staging.example" },
    /--target: it states https:\/\/staging.example; expected: http/,
  ],
  ["of another profile", { profile: "extended" }, /--profile: it states extended; expected: core/],
  ["of a client", client, /--profile: it states client; expected: core/],
  ["of another contract", { specSha256: "cd".repeat(32) }, /--contract: it states (cd)+; /],
  ["of an earlier run", { finishedAt: "2026-11-19T10:00:00Z" }, /--max-age: .* 26 h 0 min ago; expected: at most 12 h/],
  ["without a challenge", { challenge: undefined }, /--challenge: it states no challenge; /],
  ["with another challenge", { challenge: "other", seed: seedOf("other") }, /it states other; expected: 9f1c/],
  ["with a chosen seed", { seed: 7 }, /but a seed that was not derived from it; expected: 9f1c/],
  ...weaker.map(([what, over, text]): [string, Partial<Report>, RegExp] => {
    return [`weakened by ${what}`, over, new RegExp(`--require: it states .*${text.source}.*; expected: that nothing`)];
  }),
])("a certificate %s is refused", async (_what, over, reason) => {
  expect(await verified(await signed(sound(over)))).toMatch(reason);
});

const decoded = (part = "") => JSON.parse(Buffer.from(part, "base64url").toString()) as Record<string, unknown>;

/** Returns a certificate whose claims are those of another, so that its signature does not match. */
async function edited(): Promise<string> {
  const [head, , signature] = (await signed()).split(".");
  const [, payload] = (await signed(sound({ baseUrl: "https://a.example" }))).split(".");
  return [head, payload, signature].join(".");
}

/** Signs a token with the certificate's key, but with another header or other claims. */
async function forged(claims: object, header: object = {}): Promise<string> {
  const [head, payload] = (await signed())
    .split(".")
    .slice(0, 2)
    .map((part) => decoded(part));
  return new SignJWT({ ...payload, ...claims })
    .setProtectedHeader({ ...head, ...header } as { alg: string })
    .sign(privateKey);
}

test.each<[string, () => Promise<string> | string, RegExp, Date?]>([
  ["that was edited", edited, /changed after it was signed/],
  ["with its signature cut off", async () => (await signed()).replace(/\.[^.]*$/, "."), /changed after it was signed/],
  [
    "of another signer",
    () => signed(sound(), generateKeyPairSync("ed25519").privateKey),
    /signed with a different key: .+ instead of /,
  ],
  ["without a signature", () => new UnsecuredJWT({ sub: "x" }).encode(), /algorithm none; only Ed25519/],
  [
    "signed with a shared secret",
    () => new SignJWT({}).setProtectedHeader({ alg: "HS256" }).sign(Buffer.alloc(32)),
    /algorithm HS256; only Ed25519/,
  ],
  ["that is another kind of token", () => forged({}, { typ: "JWT" }), /not a conformance certificate/],
  ["that leaves the weaknesses out", () => forged({ weakenedBy: undefined }), /"weakenedBy" is missing or invalid/],
  ["that leaves the expiry out", () => forged({ exp: undefined }), /"exp" is missing/],
  ["of a failed run", () => forged({ verdict: "failed" }), /states the verdict failed/],
  ["that is not a token", () => hostile, /not a readable signed token/],
  ["that has expired", () => signed(), /expired on 2027-02-18T12:00:00.000Z/, new Date("2027-02-18T12:00:00Z")],
  ["that is not yet valid", () => signed(), /not valid before 2026-11-20T10:00:18/, new Date("2026-11-20T10:00:17Z")],
])("a certificate %s is refused", async (_what, jws, reason, time = now) => {
  const text = await verified(await jws(), { time });
  expect(text).toMatch(reason);
  expect(text.replaceAll("\n", "")).not.toMatch(/\p{Control}/u);
});

test.each<[string, Report, number | undefined, RegExp]>([
  ["with another layout", sound(), 2, /The report is not the certified report: its SHA-256 is \w{64} instead of /],
  [
    "without a payout of the challenge",
    sound({ created: [{ ...created[0]!, merchantsReference: "R-1" }] }),
    undefined,
    new RegExp(`--challenge: the report has no payout .*, such as ${created[0]!.merchantsReference}`),
  ],
])("a report %s is refused", async (_, report, indent, reason) => {
  const text = await verified(await signed(report), { report: JSON.stringify(report, null, indent) });
  expect(text).toMatch(/^INVALID/);
  expect(text).toMatch(reason);
});
