import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { referencesOf, seedOf } from "../certificate/challenge.ts";
import { strictness, usualWaits } from "../certificate/expectations.ts";
import { suiteSha256 } from "../certificate/hashes.ts";
import { signCertificate } from "../certificate/sign.ts";
import { openapiFile, specSha256, suiteVersion } from "../contract/contract.ts";
import { clientFlags } from "../programs/client/command.ts";
import { receiverFlags } from "../programs/receiver/command.ts";
import type { Conditions, Report } from "../results.ts";
import { requirement, sampleReport } from "../testing/sample-report.ts";
import { flags } from "./flags.ts";
import { runSubcommand } from "./subcommands.ts";

const now = new Date("2026-11-20T12:00:00Z");
const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const other = generateKeyPairSync("ed25519");
const challenge = "9f1c-partner-nonce";
let folder: string;
const at = (name: string) => join(folder, name);
const pem = (key: KeyObject) => key.export({ type: "spki", format: "pem" });

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "certify-"));
  writeFileSync(at("key.pub"), pem(publicKey));
  writeFileSync(at("other.pub"), pem(other.publicKey));
});
afterAll(() => rmSync(folder, { recursive: true }));

const conditions: Conditions = sampleReport([]).conditions;
const created: Report["created"] = [
  { kind: "disbursement", at: "2026-11-20T10:00:01Z", merchantsReference: referencesOf(challenge)[0]! },
];
const sound: Partial<Report> = {
  profile: "extended",
  specSha256,
  suiteVersion: suiteVersion(),
  challenge,
  seed: seedOf(challenge),
  created,
};
const passed = [requirement("create.echo", "pass"), requirement("events.once", "pass", { profile: "extended" })];

/** Signs a certificate for a report that differs from a sound report in these fields. */
async function certificate(over: Partial<Report> = {}, results = passed, key = privateKey): Promise<string> {
  const report = sampleReport(results, { ...sound, ...over });
  const json = JSON.stringify(report);
  writeFileSync(at("report.json"), json);
  return signCertificate(report, json, { key, now: new Date("2026-11-20T10:01:00Z"), validDays: 90 });
}

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
const without = (name: string) => (claims: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(claims).filter(([claim]) => claim !== name));

/** Returns a certificate that was edited after it was signed. */
async function edited(change: (claims: Record<string, unknown>) => Record<string, unknown>, header?: object) {
  const [head, payload, signature] = (await certificate()).split(".");
  const claims = JSON.parse(Buffer.from(payload!, "base64url").toString()) as Record<string, unknown>;
  return [header ? encoded(header) : head, encoded(change(claims)), signature].join(".");
}

/** Signs a certificate with the right key, whose claims were edited before. */
async function forged(change: (claims: Record<string, unknown>) => Record<string, unknown>) {
  const [head, payload] = (await certificate()).split(".").map((part) => Buffer.from(part, "base64url").toString());
  const claims = change(JSON.parse(payload!) as Record<string, unknown>);
  return new SignJWT(claims).setProtectedHeader(JSON.parse(head!) as { alg: string }).sign(privateKey);
}

const under = (over: Partial<Conditions>) => certificate({ conditions: { ...conditions, ...over } });

/** Everything that a careful reader expects. */
const careful = () => {
  const what = ["--target", "https://sandbox.example/", "--kind", "service", "--profile", "extended"];
  const how = ["--contract", openapiFile, "--suite", suiteSha256(), "--max-age", "12h", "--challenge", challenge];
  return [...what, ...how, "--require", Object.keys(strictness).join(",")];
};

async function verify(jws: string, args: string[], key = "key.pub", time = now) {
  writeFileSync(at("certificate.jws"), `${jws}\n`);
  return runSubcommand("verify", [at("certificate.jws"), "--key", at(key), ...args], time);
}

describe("with every expectation", () => {
  test("a certificate that meets them is valid, and nothing is left unchecked", async () => {
    const jws = await certificate();
    writeFileSync(at("revocations.json"), `{"revoked": []}`);
    const files = ["--report", at("report.json"), "--revocations", at("revocations.json")];
    const { exitCode, text } = await verify(jws, [...careful(), ...files]);
    expect([exitCode, text]).toEqual([0, expect.stringMatching(/^VALID {2}certificate\.jws\n/)]);
    expect(text).not.toContain("Not checked");
    expect(text).toContain(`Judged      core 1 of 1 musts, extended 1 of 1 musts\n`);
  });

  const webhookMust = requirement("webhook.failed", "not-applicable");
  const client = { profile: "client", effects: "none", baseUrl: "node pay.js" } as const;
  test.each<[string, () => Promise<string>, RegExp]>([
    [
      "of staging in place of live",
      () => certificate({ baseUrl: "https://staging.example" }),
      /--target: it states https:\/\/staging.example; expected: https:\/\/sandbox.example/,
    ],
    ["of another path of the host", () => certificate({ baseUrl: "https://sandbox.example/old" }), /--target: /],
    ["of the core", () => certificate({ profile: "core" }), /--profile: it states core; expected: extended/],
    ["of a client", () => certificate(client), /--kind: it states client; expected: service/],
    [
      "of a receiver with the URL of the service",
      () => certificate({ profile: "receiver", effects: "none" }),
      /--kind: it states receiver; expected: service/,
    ],
    ["of another contract", () => certificate({ specSha256: "cd".repeat(32) }), /--contract: it states (cd)+; /],
    [
      "of an earlier run",
      () => certificate({ finishedAt: "2026-11-19T10:00:00Z" }),
      /--max-age: it states .* 26 h 0 min ago; expected: at most 12 h 0 min ago/,
    ],
    ["without a challenge", () => certificate({ challenge: undefined }), /--challenge: it states no challenge; /],
    ["with another challenge", () => certificate({ challenge: "other" }), /states the challenge other; expected: 9f1c/],
    ["with a chosen seed", () => certificate({ seed: 7 }), /the seed 7; expected: \d+, derived from the challenge/],
    [
      "of a target with a declared limit",
      () => certificate({ declared: { largestAmount: 10_000 } }),
      /no-limits|amount/,
    ],
    ["of a target with a found limit", () => certificate({ foundLimits: { currencies: ["XOF"] } }), /currencies: XOF/],
    ["with declared waits", () => certificate({ declared: { notificationSeconds: 600 } }), /at most 600 s/],
    [
      "with replicas",
      () => certificate({ declared: { replicas: true, readAfterWriteMs: 9000 } }),
      /the deployment declares replicas; expected: reads never go back/,
    ],
    ["with a long time limit", () => under({ waits: { responseMs: 60_000 } }), /1 min 0 s for a response/],
    ["of a slow run", () => under({ rate: 3 }), /--require: it states --rate 3; expected: /],
    ["with an added header", () => under({ headers: ["x-pilot-tenant"] }), /added to every request: x-pilot-tenant/],
    ["with a small budget", () => under({ untriedAmounts: 4 }), /4 amounts above 10000 were not tried/],
    ["of a part of the musts", () => certificate({}, [...passed, webhookMust]), /webhook.failed was not judged/],
    [
      "of a target without a sandbox",
      () => under({ sandbox: { environment: "live", missing: ["POST /sandbox/reset"] } }),
      /without POST \/sandbox\/reset/,
    ],
    ["edited: another target", () => edited((claims) => ({ ...claims, sub: "https://a.example" })), /changed after/],
    ["edited: a longer validity", () => edited((claims) => ({ ...claims, exp: 4e9 })), /changed after it was signed/],
    ["edited: no headers", () => edited(without("headers")), /changed after it was signed/],
    ["edited: no signature", () => edited((claims) => claims, { alg: "none" }), /algorithm none; only Ed25519/],
    ["signed with another key", () => certificate({}, passed, other.privateKey), /signed with a different key/],
    ["that leaves the headers out", () => forged(without("headers")), /"headers" is missing/],
    ["that leaves the limits out", () => forged(without("declared")), /"declared" is missing/],
    ["that leaves the expiry out", () => forged(without("exp")), /"exp" is missing/],
    ["of a failed run", () => forged((claims) => ({ ...claims, verdict: "failed" })), /states the verdict failed/],
  ])("a certificate %s is refused", async (_what, jws, reason) => {
    const { exitCode, text } = await verify(await jws(), careful());
    expect([exitCode, text]).toEqual([1, expect.stringMatching(/^INVALID {2}certificate\.jws\n/)]);
    expect(text).toMatch(reason);
  });

  test.each([
    ["that has expired", "2027-02-18T10:01:00Z", /It expired on 2027-02-18/],
    ["that is not valid yet", "2026-11-20T10:00:00Z", /It is not valid before 2026-11-20T10:00:18/],
  ])("a certificate %s is refused", async (_what, time, reason) => {
    const { exitCode, text } = await verify(await certificate(), careful(), "key.pub", new Date(time));
    expect([exitCode, text]).toEqual([1, expect.stringMatching(reason)]);
  });

  test("a report whose payouts do not have the challenge's references is refused", async () => {
    const jws = await certificate({ created: [{ ...created[0]!, merchantsReference: "R-1" }] });
    const { exitCode, text } = await verify(jws, ["--challenge", challenge, "--report", at("report.json")]);
    expect([exitCode, text]).toEqual([1, expect.stringContaining(`such as ${created[0]!.merchantsReference}`)]);
  });

  test("a revoked certificate is refused, with the reason", async () => {
    const jws = await certificate();
    const { jti } = JSON.parse(Buffer.from(jws.split(".")[1]!, "base64url").toString()) as { jti: string };
    const revoked = [{ id: jti, revokedAt: "2026-11-20T11:00:00Z", reason: "The signing key was lost." }];
    writeFileSync(at("revocations.json"), JSON.stringify({ revoked }));
    const { exitCode, text } = await verify(jws, ["--revocations", at("revocations.json")]);
    expect([exitCode, text]).toEqual([1, expect.stringContaining("11:00:00Z: The signing key was lost.")]);
  });
});

test("without expectations, every option that would check more is named with what the certificate states", async () => {
  const { exitCode, text } = await verify(await under({ headers: ["x-pilot-tenant"] }), []);
  expect(exitCode).toBe(0);
  const [, open = ""] = text.split("Not checked. Each option would check the statement after it:\n");
  const options = open.trim().split("\n");
  const required = Object.keys(strictness).map((name) => `--require ${name} `);
  for (const name of ["--target URL", "--max-age", "--challenge", "--report", "--revocations", ...required])
    expect(options.filter((line) => line.includes(name))).toHaveLength(1);
  expect(open).toMatch(/--require no-headers +added to every request: x-pilot-tenant\n/);
  expect(text).toMatch(/^Headers +added to every request: x-pilot-tenant$/m);
});

test.each([
  [["--kind", "server"], /--kind must be service or client or receiver, not "server"/],
  [["--profile", "all"], /--profile must be core or extended/],
  [["--max-age", "soon"], /--max-age must look like 30d, 12h or 90m/],
  [["--contract", "nothing.json"], /--contract must be a SHA-256 hash or a file: ENOENT/],
  [["--require", "no-limit"], /--require knows no-limits.* not "no-limit". Did you mean no-limits\?/],
  [["--revocations", "nothing.json"], /nothing.json cannot be read as JSON: ENOENT/],
])("%j is invalid", async (args, message) => {
  const { exitCode, text } = await verify(await certificate(), args);
  expect([exitCode, text]).toEqual([2, expect.stringMatching(message)]);
});

test("the usual waits are those of a run without options", () => {
  expect(usualWaits).toEqual({
    service: { responseMs: Number(flags.timeout.default), settleMs: 90_000 },
    client: { responseMs: Number(clientFlags.timeout.default), settleMs: 0 },
    receiver: {
      responseMs: Number(receiverFlags.timeout.default),
      settleMs: 1000 * Number(receiverFlags["settle-timeout"].default),
    },
  });
});
