// Signs the certificates of real runs of `certify client` and `certify receiver`, as their users do,
// and verifies them.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readPrivateKey, writeKeyPair } from "../certificate/keys.ts";
import { signCertificate } from "../certificate/sign.ts";
import { verify as verifyFile } from "../cli/verify.ts";
import type { Report } from "../results.ts";
import { startCertify } from "../testing/command-line.ts";
import { requirement, sampleReport } from "../testing/sample-report.ts";
import { examples, isMissing, outage, withCommand } from "./examples.ts";
import { reservePort } from "../target/reserve-port.ts";

const timeout = 600_000;
const kinds = ["service", "client", "receiver"] as const;
type Kind = (typeof kinds)[number];

let folder: string;
const at = (name: string) => join(folder, name);

/**
 * The first of these examples whose language is installed. All examples are certified; compiled examples take less
 * time.
 */
const exampleOf = (...files: string[]) =>
  files.map((file) => examples.find((each) => each.file === file)!).find((example) => !isMissing(example))!;
const clientExample = exampleOf("clients/careful.go", "clients/our-client.ts");
const receiverExample = exampleOf("receivers/standard.go", "receivers/express.ts");

/** Runs `certify client` or `certify receiver` with these options. Returns its exit code and the end of its output. */
async function certified(kind: Kind, args: readonly string[]) {
  const env = { BOOKINGS: at("bookings"), HOME: process.env["HOME"] ?? folder };
  const { code, output } = await startCertify([kind, ...args, "--sign", at("key"), "--report", at(kind)], { env })
    .ended;
  return { code, last: output.trimEnd().split("\n").at(-1) };
}

const runClient = () =>
  withCommand(clientExample, (command) => certified("client", ["--command", command, "--jobs", "6"]));

const runReceiver = () =>
  withCommand(receiverExample, async (command) => {
    const origin = `http://127.0.0.1:${await reservePort()}`;
    const where = ["--url", `${origin}/webhooks`, "--effects-url", `${origin}/effects`];
    const outageCommand = `${process.execPath} ${outage}`;
    return certified("receiver", [...where, "--command", command, "--outage-command", outageCommand]);
  });

/** Signs a report as a run with `--sign` does. */
async function sign(kind: Kind, report: Report) {
  const json = JSON.stringify(report);
  const key = readPrivateKey(at("key"));
  const jws = await signCertificate(report, json, { key, now: new Date() });
  mkdirSync(at(kind));
  writeFileSync(reportOf(kind), json);
  writeFileSync(fileOf(kind), jws);
}

const reportOf = (kind: Kind) => join(at(kind), "report.json");
const fileOf = (kind: Kind) => join(at(kind), "certificate.jws");
const verify = (kind: Kind, ...args: string[]) =>
  verifyFile([fileOf(kind), "--key", at("key.pub"), ...args], new Date());

let runs: Awaited<ReturnType<typeof certified>>[];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "certificates-"));
  writeKeyPair(at("key"));
  runs = await Promise.all([runClient(), runReceiver()]);
  await sign("service", sampleReport([requirement("create.echo", "pass")]));
}, timeout);
afterAll(() => rmSync(folder, { recursive: true }));

test("a client and a receiver that pass all musts get a certificate", () => {
  const last = expect.stringMatching(/^Written: .*certificate\.jws$/);
  expect(runs).toEqual([
    { code: 0, last },
    { code: 0, last },
  ]);
});

describe.each(["client", "receiver"] as const)("the certificate of the kind %s", (kind) => {
  const report = () => reportOf(kind);

  test("is valid for its kind, its target and its report", async () => {
    const { baseUrl } = JSON.parse(readFileSync(report(), "utf8")) as { baseUrl: string };
    const expected = ["--profile", kind, "--target", baseUrl, "--report", report(), "--max-age", "1h"];
    const { exitCode, text } = await verify(kind, ...expected);
    expect(exitCode).toBe(0);
    expect(text).toMatch(new RegExp(`^VALID[^]*^Profile +${kind}$[^]*matches the given report`, "m"));
  });

  test.each(kinds.filter((other) => other !== kind))("is refused in place of one of the kind %s", async (other) => {
    const inPlace = await verify(kind, "--profile", other === "service" ? "core" : other);
    expect(inPlace).toMatchObject({ exitCode: 1, text: expect.stringContaining(`--profile: it states ${kind};`) });
    expect(await verify(other, "--profile", kind)).toMatchObject({ exitCode: 1 });
    expect(await verify(other, "--report", report())).toMatchObject({ exitCode: 1 });
  });
});
