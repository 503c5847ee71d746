// Shows what a watch says about the traffic of real programs: nothing about sound services, the right requirement about
// broken ones, and nothing that should stay private. In the self-test it watches every server.
import { spawn } from "node:child_process";
import { hash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { run as pay } from "../../client/payroll/pay.ts";
import { records } from "../broken/changes.ts";
import { faults } from "../broken/faults.ts";
import { joined } from "../broken/fault.ts";
import { paysAgain } from "../broken/memory.ts";
import { triesAll } from "../broken/self-test.ts";
import { startReference, type Running } from "../broken/server.ts";
import { soundServers } from "../broken/sound.ts";
import { changesRecord } from "../broken/webhooks.ts";
import { examplesFile } from "../contract/examples.ts";
import { examples, isMissing, withCommand } from "../examples/examples.ts";
import { createRandom } from "../generate/random.ts";
import { reportIn } from "../testing/command-line.ts";
import { payoutsFor, startStage, type Stage } from "../testing/traffic.ts";
import {
  afterAnHour,
  alarmsOf,
  declared,
  isDemanded,
  judged,
  seenOf,
  short,
  startLossy,
  watchBroken,
} from "../testing/watched.ts";
import { watch } from "./command.ts";
import type { Seen } from "./traffic.ts";

const folder = mkdtempSync(join(tmpdir(), "watched-"));
afterAll(() => rmSync(folder, { recursive: true }));

const { SEEDS = triesAll ? "20" : "1" } = process.env;
const seeds = Array.from({ length: Number(SEEDS) }, (_, index) => index + 1);
/** Traffic that is long enough for the first retries of webhooks. */
const long = { ...short, retriedMs: 6000 };

/** What sample of broken servers is watched besides the self-test. */
const sample = [
  "auth.create-needs-key",
  "create.duplicate-refused",
  "life.facts-kept",
  "verify.customer",
  "webhook.amount",
];

const variants = triesAll ? soundServers : soundServers.filter(({ declared: limits }) => limits);

describe.concurrent("raises no alarm about a sound service", () => {
  test.each(variants.flatMap((server) => seeds.map((seed) => ({ ...server, seed }))))(
    "$differs (seed $seed)",
    async ({ how, seed, differs, declared: limits }) => {
      const { seen } = await seenOf(() => startLossy(how, seed), seed);
      const isLate = / come after /.test(differs);
      const options = {
        ...declared,
        ...(limits?.readAfterWriteMs === undefined ? {} : { visibleAfterMs: 2000 }),
      };
      const all = isLate ? seen : afterAnHour(seen);
      expect(alarmsOf(judged(all, { profile: "core", ...options }), ["should"])).toEqual([]);
    },
  );

  test.each(seeds)("the model, also by this project's decisions (seed %i)", async (seed) => {
    const { seen, missed } = await seenOf(() => startLossy(() => ({}), seed), seed);
    expect(missed).toEqual([]);
    for (const profile of ["core", "extended"] as const)
      expect(alarmsOf(judged(afterAnHour(seen), { profile, ...declared }))).toEqual([]);
  });

  test.each(seeds)("the reference server, also by this project's decisions (seed %i)", async (seed) => {
    const { seen, missed } = await seenOf(startReference, seed, { ...short, finalMs: 3000 });
    expect(missed).toEqual([]);
    for (const profile of ["core", "extended"] as const)
      expect(alarmsOf(judged(afterAnHour(seen), { profile, ...declared }))).toEqual([]);
  });
});

/** Lets a program pay entries. Resolves with what it printed. */
async function runProgram(command: string, input: string, env: Record<string, string>): Promise<string> {
  const child = spawn(command, { shell: true, env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(input);
  const [printed] = await Promise.all([text(child.stdout), once(child, "close")]);
  return printed;
}

const count = triesAll ? 1000 : 60;
const careful = examples.filter(({ file }) => /careful|our-client/i.test(file));
const services: [name: string, start: () => Promise<Running>][] = [
  ["the model", () => startLossy(() => ({}), 1)],
  ["the reference server", startReference],
];

describe.each(services)("raises no alarm about %s", (_, start) => {
  async function paying(use: (stage: Stage, entries: ReturnType<typeof payoutsFor>) => Promise<void>) {
    const stage = await startStage(start, 1);
    try {
      await use(stage, payoutsFor(stage.hooks, createRandom(1, "payroll"), count));
    } finally {
      await stage.stop();
    }
    const creates = stage.seen.filter(
      ({ kind, ...each }) => kind === "exchange" && "method" in each && each.method === "POST",
    );
    expect(creates.length).toBeGreaterThan(count);
    for (const profile of ["core", "extended"] as const)
      expect(alarmsOf(judged(stage.seen, { profile, webhookClockMs: 0 }))).toEqual([]);
  }

  test.each(careful)("paid by $file", async (example) => {
    if (isMissing(example)) return console.warn(`not tried without ${example.toolchain.name}`);
    await paying((stage, entries) =>
      withCommand(example, async (command) => {
        const state = mkdtempSync(join(folder, "state-"));
        const env = { BASE_URL: stage.url, API_KEY: stage.key, TIMEOUT_MS: "2000", STATE_DIR: state };
        const printed = await runProgram(command, entries.map((each) => JSON.stringify(each)).join("\n") + "\n", env);
        expect(printed.trim().split("\n")).toHaveLength(count);
      }),
    );
    return undefined;
  });

  test("paid by the payroll command", async () => {
    await paying(async (stage, entries) => {
      const names = ["reference", "amount", "phoneNumber", "country", "currency", "webhookURL"] as const;
      const quoted = (value: unknown) => `"${String(value ?? "").replaceAll('"', '""')}"`;
      const rows = entries.map((entry) => names.map((name) => quoted(entry[name])).join(","));
      const name = mkdtempSync(join(folder, "payroll-"));
      writeFileSync(join(name, "payroll.csv"), [names.join(","), ...rows].join("\n"));
      const terminal = { out: () => undefined, error: () => undefined, onStop: () => undefined };
      const args = [join(name, "payroll.csv"), "--journal", join(name, "journal"), "--yes"];
      // Some payouts are to fail, and the command says so.
      expect(await pay(args, { BASE_URL: stage.url, API_KEY: stage.key }, terminal)).toBe(1);
    });
  });
});

describe("names the requirement that a broken server violates", () => {
  const tried = triesAll ? faults : faults.filter(({ id }) => sample.some((start) => id.startsWith(start)));

  test(
    `at least three in four of ${tried.length} servers whose fault the traffic meets`,
    { timeout: 3_600_000 },
    async () => {
      const left = [...tried];
      const met: string[] = [];
      const missed: string[] = [];
      const watchNext = async () => {
        for (let fault = left.shift(); fault; fault = left.shift()) {
          const { isMet, ids } = await watchBroken(fault, 1, triesAll ? long : short);
          if (!isMet || !fault.violates.some(isDemanded)) continue;
          met.push(fault.id);
          if (!fault.violates.some((id) => ids.includes(id))) missed.push(`${fault.id} (${ids.join(", ")})`);
        }
      };
      await Promise.all(Array.from({ length: 12 }, watchNext));
      console.log(`met:\n${met.toSorted().join("\n")}\n\nnot named:\n${missed.toSorted().join("\n")}`);
      expect({ missed, isFew: missed.length <= met.length / 4 }).toMatchObject({ isFew: true });
    },
  );
});

/** Faults about which a watch quotes requests, records and webhooks. */
const talkative = joined(
  paysAgain(() => true),
  records((record, { path }) => {
    const stranger = { ...(record["customer"] as object), name: "Yaa Asantewaa", phoneNumber: "2250707070707" };
    return path.charCodeAt(path.length - 1) % 2 === 0 ? { ...record, customer: stranger } : record;
  }),
  changesRecord((record) => ({ ...record, amount: Number(record["amount"]) + 1 })),
);

const listed = (headers: Seen["headers"]) => Object.entries(headers).map(([name, value]) => ({ name, value }));
const urlOf = ({ kind, path }: Seen) => `${kind === "exchange" ? "http://pay.example" : "http://shop.example"}${path}`;
const bodyText = (body: unknown) => (typeof body === "string" ? { text: body } : { size: 1 });

/** Writes traffic as browsers and recording proxies do. */
function harOf(seen: readonly Seen[]) {
  const entries = seen.map((each) => {
    const isExchange = each.kind === "exchange";
    const response = isExchange ? each.response : { status: each.status, headers: {}, body: "" };
    return {
      startedDateTime: new Date(each.sentAt).toISOString(),
      time: isExchange ? each.endedAt - each.sentAt : 0,
      request: {
        method: isExchange ? each.method : "POST",
        url: urlOf(each),
        headers: listed(each.headers),
        postData: bodyText(each.body),
      },
      response: response?.status
        ? { status: response.status, headers: listed(response.headers), content: bodyText(response.body) }
        : { status: 0, headers: [], content: {} },
    };
  });
  return JSON.stringify({ log: { version: "1.2", creator: { name: "test", version: "1" }, entries } });
}

const textsIn = (name: string) => readdirSync(name).map((file) => readFileSync(join(name, file), "latin1"));

describe("a recording of the traffic with a broken service", () => {
  let printed = "";
  beforeEach(() => {
    const keep = (line: unknown) => ((printed += `${String(line)}\n`), true);
    vi.spyOn(console, "log").mockImplementation(keep);
    vi.spyOn(console, "error").mockImplementation(keep);
    vi.spyOn(process.stdout, "write").mockImplementation(keep);
    onTestFinished(() => void vi.restoreAllMocks());
  });

  async function reportOn(way: "har" | "exchanges", content: string) {
    const at = join(folder, way);
    mkdirSync(at);
    writeFileSync(join(at, "traffic"), content);
    const args = ["--target", "http://pay.example", "--profile", "extended", "--report", join(at, "report")];
    expect(await watch([`--${way}`, join(at, "traffic"), ...args])).toBe(1);
    // The salt of hashes differs in each run.
    const report = JSON.stringify(await reportIn(join(at, "report")));
    return {
      report: JSON.parse(report.replaceAll(/#[0-9a-f]{6}/g, "#")) as unknown,
      texts: textsIn(join(at, "report")),
    };
  }

  test("gives the same report as HAR and as JSON Lines, without a key, phone number or name in any file", async () => {
    const inTemp = () => readdirSync(tmpdir()).filter((name) => name.startsWith("certify-watch-"));
    const before = new Set(inTemp());
    const { seen, key, secondKey } = await seenOf(() => startLossy(talkative, 1), 1);
    const inOrder = seen.toSorted((a, b) => a.sentAt - b.sentAt);
    const har = await reportOn("har", harOf(inOrder));
    const lines = await reportOn(
      "exchanges",
      inOrder.map((each) => JSON.stringify({ ...each, url: urlOf(each) })).join("\n"),
    );
    expect(har.report).toEqual(lines.report);
    const ids = JSON.stringify(har.report);
    for (const id of ["create.duplicate-refused", "verify.customer", "webhook.amount"]) expect(ids).toContain(id);

    const all = JSON.stringify(seen);
    const found = (pattern: RegExp) => [...all.matchAll(pattern)].map(([, value]) => value!);
    const phones = new Set(found(/"phoneNumber\\":\\?"?\\?"?\+?(\d{9,15})/g));
    // The report also shows recorded examples, whose names are made up.
    const examplesText = readFileSync(examplesFile, "utf8");
    const names = new Set(found(/\\"name\\":\\"([^"\\]+)/g).filter((name) => !examplesText.includes(name)));
    expect([phones.size > 20, names.size > 20]).toEqual([true, true]);
    const coded = (value: string) => [
      value,
      ...(["base64", "hex"] as const).map((coding) => Buffer.from(value).toString(coding).replace(/=+$/, "")),
      ...["sha256", "sha1", "md5"].map((algorithm) => hash(algorithm, value).slice(0, 12)),
    ];
    const secrets = [key, secondKey, ...phones, ...names].flatMap(coded);
    const nationalNumbers = [...phones].map((phone) => phone.slice(-9));
    const written = [printed, ...har.texts, ...lines.texts].join("\n");
    const shown = (secret: string) => written.slice(Math.max(0, written.indexOf(secret) - 150)).slice(0, 250);
    const leaks = [...secrets, ...nationalNumbers].filter((secret) => written.includes(secret));
    expect(leaks.map((secret) => [secret, shown(secret)])).toEqual([]);
    expect(inTemp().filter((name) => !before.has(name))).toEqual([]);
  });
});
