// Tests that a certified run can be judged again from its recording, and that an edited recording or report does not agree.
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startBroken, type Running } from "../broken/server.ts";
import { sha256 } from "../certificate/hashes.ts";
import { writeKeyPair } from "../certificate/keys.ts";
import { startCertify } from "../testing/command-line.ts";
import { startSoundTarget } from "../testing/sound-target.ts";
import { rejudge } from "./rejudge.ts";
import { exchangesFile } from "./reporting.ts";

const headerValue = "the-value-of-a-header";
const recipient = "2250712345678";
/** Requirements with all kinds of requests, few enough that the run can be judged again for each edit. */
const some = "auth.create-needs-key,create.accepted,create.phone-422,records.as-requested,webhook.truth";
let server: Running;
let folder = "";

/** Records a run with a target in a folder. */
function record({ url, key, secondKey }: Omit<Running, "stop">, name: string, ...args: string[]) {
  const all = ["--base-url", url, "--linger", "0", "--report", join(folder, name), ...args];
  return startCertify(all, { env: { API_KEY: key, API_KEY_2: secondKey } }).ended;
}

/** Ends the process if it connects to the target or to another machine. It may connect to its own server for Dredd. */
const offline = `
  const { Socket } = require("node:net");
  const { connect } = Socket.prototype;
  Socket.prototype.connect = function (...given) {
    const [{ host, port }] = given.flat();
    if (host !== "127.0.0.1" || Number(port) === TARGET) process.exit(9);
    return connect.apply(this, given);
  };
`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "certify-rejudge-"));
  writeKeyPair(join(folder, "key"));
  server = await startBroken();
  await writeFile(join(folder, "offline.cjs"), offline.replace("TARGET", new URL(server.url).port));
  const header = ["--header", `x-team: ${headerValue}`];
  const sign = ["--sign", join(folder, "key")];
  await record(server, "core", ...header, ...sign, "--recipient", recipient);
  await record(server, "some", ...header, "--only", some, "--seed", "1");
  await record(server, "extended", ...header, ...sign, "--profile", "extended");
}, 300_000);
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

test("a run is judged again offline, and agrees with its report", { timeout: 180_000 }, async () => {
  const node = ["--require", join(folder, "offline.cjs")];
  const { code, output } = await startCertify(["rejudge", join(folder, "extended")], { env: {}, node }).ended;
  expect(output).toMatch(/^AGREES .*\n {2}\d+ requirements judged again from [\d,]+ events: certified\n$/);
  expect(code).toBe(0);
});

test("a run that is reported together with a watch is judged again with it", async () => {
  await writeFile(join(folder, "traffic.har"), '{"log": {"entries": []}}');
  const watch = ["watch", "--har", join(folder, "traffic.har"), "--report", join(folder, "watch")];
  expect(await startCertify(watch, { env: {} }).ended).toMatchObject({ code: 2 });
  await record(server, "both", "--effects", "none", "--watched", join(folder, "watch/report.json"));
  expect((await rejudge(join(folder, "both"))).text).toMatch(/^AGREES/);
});

test("a recording shows no secret and no phone number of a person", async () => {
  for (const profile of ["core", "extended"]) {
    const text = gunzipSync(await readFile(join(folder, profile, "exchanges.jsonl.gz"))).toString();
    for (const secret of [server.key, server.secondKey, headerValue]) expect(text).not.toContain(secret);
    expect(text).not.toMatch(profile === "core" ? recipient : "no recipient");
  }
});

type Line = Record<string, unknown>;
type Edit = (lines: Line[]) => Line[] | void;

const resultOf = (line: Line | undefined) =>
  (line?.["result"] ?? {}) as { status: number; headers: Record<string, string>; body: string };
const requestOf = (line: Line | undefined) => (line?.["http"] ?? {}) as { method: string; url: string; body: string };
// Core leaves the responses to checkouts open, so an edit of one may change no verdict.
const creates = (line: Line) => {
  const { method, url = "" } = requestOf(line);
  return method === "POST" && url.endsWith("/v1/disbursements") && resultOf(line).status === 200;
};
const reads = (line: Line) => requestOf(line).method === "GET" && resultOf(line).status === 200;
const isWebhook = (line: Line) => "webhook" in line;
const webhookIn = (line: Line) => line["webhook"] as { headers: Record<string, string>; body: string };
/** Returns a line in the middle of the lines for which this is true, so that it is not the first of its kind. */
function find(lines: readonly Line[], is: (line: Line) => boolean): Line {
  const all = lines.filter(is);
  return all[Math.floor(all.length / 2)]!;
}

/** Edits that change what the suite would have found. They are detected even if every digest is recomputed. */
const edits: Record<string, Edit> = {
  "a refusal that becomes a success": (lines) =>
    void (resultOf(find(lines, (line) => resultOf(line).status === 422)).status = 200),
  // Of a payout that is read until it settles, only the last record is judged.
  "a field of the records": (lines) => {
    for (const line of lines.filter(reads))
      resultOf(line).body = resultOf(line).body.replace(/"amount":\d+/, '"amount":7');
  },
  "the body of a webhook": (lines) => {
    for (const line of lines.filter(isWebhook))
      webhookIn(line).body = webhookIn(line).body.replace('"success"', '"failed"');
  },
  "the body of a request": (lines) => void (requestOf(find(lines, creates)).body += " "),
  "a missing exchange": (lines) => lines.filter((line) => line !== find(lines, creates)),
  "two responses that were swapped": (lines) => {
    const [first, second] = lines.filter(creates).slice(4, 6) as [Line, Line];
    [first["result"], second["result"]] = [second["result"], first["result"]];
  },
  "all times from one on": (lines) => {
    for (const line of lines.slice(lines.indexOf(find(lines, creates))))
      line["clock"] = (line["clock"] as number[]).map((time) => time + 3_600_000);
  },
  "the seed": ([first]) => void ((first!["options"] as Line)["seed"] = 4711),
};

/** Edits texts on which no verdict depends, so that only the digest reveals it. */
const unused: Edit = (lines) => {
  resultOf(find(lines, reads)).headers["x-powered-by"] = "care";
  webhookIn(find(lines, isWebhook)).headers["user-agent"] = "another";
};

/** Copies the files of a run, and edits one of them. */
async function withFile(run: "core" | "some", name: string, change: (content: Buffer) => Buffer | string) {
  const copy = await mkdtemp(join(folder, "edited-"));
  await cp(join(folder, run), copy, { recursive: true });
  const before = await readFile(join(copy, name));
  const after = Buffer.from(change(before));
  expect(after.equals(before)).toBe(false);
  await writeFile(join(copy, name), after);
  return copy;
}

const changed = (edit: Edit) => (content: Buffer) => {
  const texts = gunzipSync(content).toString().trimEnd().split("\n");
  const lines = texts.map((line) => JSON.parse(line) as Line);
  return gzipSync((edit(lines) ?? lines).map((line) => `${JSON.stringify(line)}\n`).join(""), { level: 9 });
};

/** Copies a run with an edited recording, and recomputes every digest of the recording. */
async function edited(edit: Edit): Promise<string> {
  const copy = await withFile("some", exchangesFile, changed(edit));
  const digest = sha256(await readFile(join(copy, exchangesFile)));
  const report = await readFile(join(copy, "report.json"), "utf8");
  await writeFile(join(copy, "report.json"), report.replace(/("exchangesSha256": )"\w+"/, `$1"${digest}"`));
  return copy;
}

const replaced =
  (pattern: RegExp | string, text: string) =>
  (content: Buffer): string =>
    content.toString().replace(pattern, text);

describe("a report disagrees after an edit of", { timeout: 90_000 }, () => {
  test.each(Object.entries(edits))("%s", async (_, edit) => {
    expect(await rejudge(await edited(edit))).toEqual({ exitCode: 1, text: expect.stringContaining("DISAGREES") });
  });

  const otherExchanges =
    /report.json was made from another exchanges.jsonl.gz\n.*certificate.jws was issued for another exchanges.jsonl.gz/;
  test.each<["core" | "some", string, (content: Buffer) => Buffer | string, RegExp]>([
    ["core", exchangesFile, changed(unused), otherExchanges],
    ["core", "certificate.jws", () => "a.b.c", /certificate.jws is not readable/],
    [
      "some",
      "report.json",
      replaced(/("id": "auth.create-needs-key"[^]*?"verdict": )"pass"/, '$1"warn"'),
      /requirements auth.create-needs-key verdict is "warn", but the exchanges give "pass"/,
    ],
    ["some", "report.json", replaced(/("finishedAt": "20)\d\d/, "$101"), /finishedAt is .* but the exchanges give/],
    ["some", "report.json", replaced('"status": 401', '"status": 403'), /status is 403, but the exchanges give 401/],
    ["some", "report.json", replaced(/\n$/, " \n"), /report.json differs from what the exchanges give/],
    ["some", "junit.xml", replaced('failures="0"', 'failures="1"'), /junit.xml differs from/],
  ])("the run %s: %s", async (run, name, change, message) => {
    expect(await rejudge(await withFile(run, name, change))).toEqual({
      exitCode: 1,
      text: expect.stringMatching(message),
    });
  });
});

test.each([
  ["digits", "1234567890123456"],
  ["words of the contract", "phoneNumber-disbursement"],
  ["hexadecimal", "00000000deadbeef00000000"],
])("a run with a key made of %s passes and is judged again", { timeout: 180_000 }, async (_, key) => {
  const only = "auth.whole-key-compared,create.accepted,numbers.largest-amount,verify.found";
  const target = await startSoundTarget({ key });
  const { code } = await record(target, "keys", "--effects", "money", "--only", only, "--seed", "1");
  await target.stop();
  expect([code, await rejudge(join(folder, "keys"))]).toMatchObject([0, { exitCode: 0 }]);
});
