// Tests that the reference server is certified, that its run can be judged again from its recording, and that an edited
// recording or report does not agree.
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startBroken, type Running } from "../broken/server.ts";
import { sha256 } from "../certificate/hashes.ts";
import { writeKeyPair } from "../certificate/keys.ts";
import type { Verdict } from "../results.ts";
import { reportIn, startCertify } from "../testing/command-line.ts";
import { rejudge } from "./rejudge.ts";
import { verify } from "./verify.ts";

const headerValue = "the-value-of-a-header";
const recipient = "2250712345678";
/** Requirements with all kinds of requests, few enough that the run can be judged again for each edit. */
const some = "auth.create-needs-key,create.accepted,create.phone-422,records.as-requested,webhook.truth";
let server: Running;
let folder = "";

const certify = (args: readonly string[], node: readonly string[] = []) =>
  startCertify(args, { env: { API_KEY: server.key, API_KEY_2: server.secondKey }, node }).ended;

/**
 * Makes a process end as soon as it opens a socket or resolves a name. Dredd alone may reach a server of the process
 * itself.
 */
const offline = `
  const { Socket, Server } = require("node:net");
  const refuse = (what) => () => { console.log("it opens a socket:", what); process.exit(9); };
  const { connect } = Socket.prototype;
  const { listen } = Server.prototype;
  const own = new Set();
  Socket.prototype.connect = function (...given) {
    const [{ host, port }] = given.flat();
    return host === "127.0.0.1" && own.has(Number(port)) ? connect.apply(this, given) : refuse("connect")();
  };
  Server.prototype.listen = function (port, host) {
    if (port !== 0 || host !== "127.0.0.1") refuse("listen")();
    return listen.call(this, port, host).once("listening", () => own.add(this.address().port));
  };
  require("node:dgram").createSocket = refuse("dgram");
  const dns = require("node:dns");
  const { lookup } = dns;
  dns.lookup = (name, ...given) => (name === "127.0.0.1" ? lookup(name, ...given) : refuse("lookup")());
  require("node:dns/promises").lookup = refuse("lookup");
`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "certify-rejudge-"));
  await writeFile(join(folder, "offline.cjs"), offline);
  writeKeyPair(join(folder, "key"));
  server = await startBroken();
  const common = ["--linger", "0", "--base-url", server.url, "--header", `x-team: ${headerValue}`];
  const sign = ["--sign", join(folder, "key")];
  await certify([...common, "--recipient", recipient, ...sign, "--report", join(folder, "core")]);
  await certify([...common, "--only", some, "--seed", "1", "--report", join(folder, "some")]);
  await certify([...common, "--profile", "extended", ...sign, "--report", join(folder, "extended")]);
}, 300_000);
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

test.each(["core", "extended"])("certifies the reference server for %s, without an alarm", async (profile) => {
  const { verdict, errors, requirements } = (await reportIn(join(folder, profile)))!;
  const fine = new Set<Verdict>(["pass", "observed", "not-applicable"]);
  const alarms = requirements
    .filter((each) => !fine.has(each.verdict))
    .map(({ id, reason, checks }) => ({ id, reason, saw: checks.find((check) => !fine.has(check.verdict))?.actual }));
  expect({ verdict, errors, alarms }).toEqual({ verdict: "certified", errors: [], alarms: [] });
});

test("a run is judged again offline, and agrees with its report", { timeout: 180_000 }, async () => {
  const { code, output } = await certify(
    ["rejudge", join(folder, "extended")],
    ["--require", join(folder, "offline.cjs")],
  );
  expect(output).toMatch(/^AGREES .*\n {2}\d+ requirements judged again from \d+ events: certified\n$/);
  expect(code).toBe(0);
});

test.each(["core", "extended"])("the certificate of a run of profile %s names the added header", async (profile) => {
  const { exitCode, text } = await verify(
    [join(folder, profile, "certificate.jws"), "--key", join(folder, "key.pub")],
    new Date(),
  );
  expect([exitCode, text]).toEqual([0, expect.stringMatching(/^Weakened by headers were added .*: x-team$/m)]);
  expect(text).toMatch(/--require full +.*headers were added to every request: x-team/);
});

test("a recording shows no secret and no phone number of a person", async () => {
  for (const profile of ["core", "extended"]) {
    const text = gunzipSync(await readFile(join(folder, profile, "exchanges.jsonl.gz"))).toString();
    for (const secret of [server.key, server.secondKey, headerValue]) expect(text).not.toContain(secret);
    expect(text).not.toMatch(profile === "core" ? recipient : "no recipient");
  }
});

test.each(["core", "extended"])("a run of profile %s creates payouts with every pair of inputs", async (profile) => {
  const { observed } = (await reportIn(join(folder, profile)))!;
  const coverage = new Map(
    observed.flatMap(({ requirement, name, value }) => (requirement === "inputs.coverage" ? [[name, value]] : [])),
  );
  expect(coverage.get("tried")).toEqual(coverage.get("of"));
  expect(coverage.get("not tried")).toEqual({});
});

/** A run of `beforeAll`. Only the run of profile core has a certificate. */
type Run = "core" | "some";
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
/** Returns a line in the middle of the lines for which this is true, so that it is not the first of its kind. */
function find(lines: readonly Line[], is: (line: Line) => boolean): Line {
  const all = lines.filter(is);
  return all[Math.floor(all.length / 2)]!;
}
const webhookIn = (line: Line) => line["webhook"] as { headers: Record<string, string>; body: string };

/** Edits that change what the suite would have found. They are seen even if every digest is made again. */
const recorded: Record<string, Edit> = {
  "the status of creates": (lines) => {
    for (const line of lines.filter((each) => creates(each))) resultOf(line).status = 201;
  },
  "a status of a read": (lines) => void (resultOf(find(lines, reads)).status = 404),
  "a refusal that becomes a success": (lines) =>
    void (resultOf(find(lines, (line) => resultOf(line).status === 422)).status = 200),
  "a field of a body": (lines) => {
    const result = resultOf(find(lines, (line) => reads(line) && resultOf(line).body.includes('"amount":')));
    result.body = result.body.replace(/"amount":\d+/, '"amount":7');
  },
  "the content type of responses": (lines) => {
    for (const line of lines.filter((each) => creates(each))) resultOf(line).headers["content-type"] = "text/html";
  },
  "the body of a webhook": (lines) => {
    for (const line of lines.filter((each) => isWebhook(each)))
      webhookIn(line).body = webhookIn(line).body.replace('"success"', '"failed"');
  },
  "the body of a request": (lines) => {
    const request = requestOf(find(lines, creates));
    request.body += " ";
  },
  "the address of a request": (lines) => void (requestOf(find(lines, reads)).url += "x"),
  "a missing exchange": (lines) => lines.filter((line) => line !== find(lines, creates)),
  "a missing end": (lines) => lines.slice(0, -20),
  "an exchange that was sent twice": (lines) =>
    lines.flatMap((line) => (line === find(lines, creates) ? [line, line] : [line])),
  "two responses that were swapped": (lines) => {
    const [first, second] = lines.filter((line) => creates(line)).slice(4, 6) as [Line, Line];
    [first["result"], second["result"]] = [second["result"], first["result"]];
  },
  "two exchanges that were swapped": (lines) => {
    const [first, second] = lines.filter((line) => creates(line)).slice(4, 6) as [Line, Line];
    const copy = { ...first };
    Object.assign(first, second);
    Object.assign(second, copy);
  },
  "all times from one on": (lines) => {
    for (const line of lines.slice(lines.indexOf(find(lines, creates))))
      line["clock"] = (line["clock"] as number[]).map((time) => time + 3_600_000);
  },
  "the seed": (lines) => void ((lines[0]!["options"] as Line)["seed"] = 4711),
  "the profile": (lines) => void ((lines[0]!["options"] as Line)["profile"] = "extended"),
  "a limit of time": (lines) => void ((lines[0]!["options"] as Line)["rate"] = 5),
  "a lost webhook": (lines) => lines.filter((line) => !isWebhook(line)),
};

/** Edits of texts on which no verdict depends. The digest reveals these edits. */
const unused: Edit = (lines) => {
  resultOf(find(lines, reads)).headers["x-powered-by"] = "care";
  webhookIn(find(lines, isWebhook)).headers["user-agent"] = "another";
  const clock = find(lines, creates)["clock"] as number[];
  clock[0] = clock[0]! + 60_000;
};

async function linesIn(copy: string): Promise<Line[]> {
  const text = gunzipSync(await readFile(join(copy, "exchanges.jsonl.gz"))).toString();
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line);
}

async function copyOf(run: Run): Promise<string> {
  const copy = await mkdtemp(join(folder, "edited-"));
  await cp(join(folder, run), copy, { recursive: true });
  return copy;
}

/** Copies a report and edits its recording. */
async function edited(run: Run, edit: Edit, digest: "kept" | "made again"): Promise<string> {
  const copy = await copyOf(run);
  const lines = await linesIn(copy);
  const before = JSON.stringify(lines);
  const changed = edit(lines) ?? lines;
  expect(JSON.stringify(changed)).not.toBe(before);
  const content = gzipSync(changed.map((line) => `${JSON.stringify(line)}\n`).join(""), { level: 9 });
  await writeFile(join(copy, "exchanges.jsonl.gz"), content);
  if (digest === "kept") return copy;
  for (const name of ["report.json", "report.html"]) {
    const text = await readFile(join(copy, name), "utf8");
    await writeFile(join(copy, name), text.replaceAll(/("exchangesSha256": ?)"\w+"/g, `$1"${sha256(content)}"`));
  }
  return copy;
}

/** Copies a report and edits one of its files. */
async function withFile(run: Run, name: string, change: (text: string) => string): Promise<string> {
  const copy = await copyOf(run);
  const text = await readFile(join(copy, name), "utf8");
  expect(change(text)).not.toBe(text);
  await writeFile(join(copy, name), change(text));
  return copy;
}

describe("a report disagrees after an edit of", () => {
  test.each(Object.entries(recorded))(
    "%s",
    async (_, edit) => {
      const { exitCode, text } = await rejudge(await edited("some", edit, "made again"));
      expect(text).toContain("DISAGREES");
      expect(exitCode).toBe(1);
    },
    90_000,
  );

  test("what no check reads", { timeout: 90_000 }, async () => {
    const { exitCode, text } = await rejudge(await edited("core", unused, "kept"));
    expect(text).toContain("report.json was made from another exchanges.jsonl.gz");
    expect(text).toContain("certificate.jws was issued for another exchanges.jsonl.gz");
    expect(exitCode).toBe(1);
  });

  test.each([
    [
      "a verdict in report.json",
      "report.json",
      (text: string) => text.replace('"verdict": "pass"', '"verdict": "warn"'),
    ],
    ["a time in report.json", "report.json", (text: string) => text.replace(/("finishedAt": "20)\d\d/, "$101")],
    ["an exchange in report.json", "report.json", (text: string) => text.replace('"status": 401', '"status": 403')],
    [
      "the budget in report.json",
      "report.json",
      (text: string) => text.replace(/"maxPayouts": \d+/, '"maxPayouts": 9'),
    ],
    ["report.html", "report.html", (text: string) => text.replace("<body", "<body id=x")],
    ["junit.xml", "junit.xml", (text: string) => text.replace('failures="0"', 'failures="1"')],
  ])(
    "%s",
    async (_, name, change) => {
      const { exitCode, text } = await rejudge(await withFile("some", name, change));
      expect(text).toContain(name === "report.json" ? "but the exchanges give" : name);
      expect(exitCode).toBe(1);
    },
    90_000,
  );
});

test("a certificate that is not readable disagrees", async () => {
  const copy = await copyOf("some");
  await writeFile(join(copy, "certificate.jws"), "a.b.c");
  const { exitCode, text } = await rejudge(copy);
  expect(text).toContain("certificate.jws is not readable");
  expect(exitCode).toBe(1);
}, 90_000);

test("names the requirement whose verdict was edited", async () => {
  const copy = await withFile("some", "report.json", (text) =>
    text.replace(/("id": "auth.create-needs-key"[^]*?"verdict": )"pass"/, '$1"warn"'),
  );
  const { text } = await rejudge(copy);
  expect(text).toContain("auth.create-needs-key: the report says warn, but the exchanges give pass");
}, 90_000);
