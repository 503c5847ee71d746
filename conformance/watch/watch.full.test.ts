// Shows what a watch says about the traffic of real programs: nothing about sound services, the right requirement about
// broken ones, and nothing that should stay private. In the self-test it watches every server.
import { exec } from "node:child_process";
import { hash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import type { DisbursementRequest } from "../../client/index.ts";
import { afterAll, describe, expect, test } from "vitest";
import { run as pay } from "../../client/payroll/pay.ts";
import { records } from "../broken/changes.ts";
import { faults } from "../broken/faults.ts";
import { joined, type Fault } from "../broken/fault.ts";
import { paysAgain } from "../broken/memory.ts";
import { triesAll } from "../broken/self-test.ts";
import { startReference } from "../broken/server.ts";
import { soundServers } from "../broken/sound.ts";
import { changesRecord } from "../broken/webhooks.ts";
import { examples, isMissing, withCommand } from "../examples/examples.ts";
import { createRandom } from "../generate/random.ts";
import { reportIn, startCertify } from "../testing/command-line.ts";
import { payoutsFor, startStage } from "../testing/traffic.ts";
import {
  afterAnHour,
  alarmsOf,
  declared,
  isDemanded,
  judged,
  short,
  startQuick,
  watchBroken,
  watched,
} from "../testing/watched.ts";
import type { Seen } from "./traffic.ts";

const folder = mkdtempSync(join(tmpdir(), "watched-"));
afterAll(() => rmSync(folder, { recursive: true }));

const { SEEDS = triesAll ? "20" : "1" } = process.env;
const seeds = Array.from({ length: Number(SEEDS) }, (_, index) => index + 1);
const profiles = ["core", "extended"] as const;

describe.concurrent("raises no alarm about a sound service", () => {
  const variants = triesAll ? soundServers : soundServers.filter(({ declared: limits }) => limits);

  test.each(variants.flatMap((server) => seeds.map((seed) => ({ ...server, seed }))))(
    "$differs (seed $seed)",
    async ({ how, seed, differs, declared: limits }) => {
      const { seen } = await watched(() => startQuick(how), seed);
      const isLate = / come after /.test(differs);
      const visibleAfterMs = limits?.readAfterWriteMs === undefined ? declared.visibleAfterMs : 2000;
      const result = judged(isLate ? seen : afterAnHour(seen), { profile: "core", ...declared, visibleAfterMs });
      expect(alarmsOf(result).filter(({ level }) => level === "must")).toEqual([]);
    },
  );

  test.each(
    [
      { name: "the model", start: startQuick, size: short },
      { name: "the reference server", start: startReference, size: { ...short, finalMs: 3000 } },
    ].flatMap((server) => seeds.map((seed) => ({ ...server, seed }))),
  )("$name, also by this project's decisions (seed $seed)", async ({ start, seed, size }) => {
    const { seen, missed } = await watched(() => start(), seed, size);
    expect(missed).toEqual([]);
    for (const profile of profiles) expect(alarmsOf(judged(afterAnHour(seen), { profile, ...declared }))).toEqual([]);
  });
});

const count = triesAll ? 1000 : 60;
const careful = examples.filter(({ file }) => /careful|our-client/i.test(file));

/** Lets a program pay entries, and expects a line of output for each. */
async function payWith(command: string, entries: readonly object[], env: Record<string, string>) {
  const ended = promisify(exec)(command, { env: { ...process.env, ...env } });
  ended.child.stdin!.end(entries.map((each) => `${JSON.stringify(each)}\n`).join(""));
  expect((await ended).stdout.trim().split("\n")).toHaveLength(entries.length);
}

/** Lets the payroll command pay entries. Some of them fail, and the command says so. */
async function payAll(entries: readonly DisbursementRequest[], env: Record<string, string>) {
  const names = ["reference", "amount", "phoneNumber", "country", "currency", "webhookURL"] as const;
  const quoted = (value: unknown) => `"${String(value ?? "").replaceAll('"', '""')}"`;
  const rows = entries.map((entry) => names.map((name) => quoted(entry[name])).join(","));
  const file = join(mkdtempSync(join(folder, "payroll-")), "payroll.csv");
  writeFileSync(file, [names.join(","), ...rows].join("\n"));
  const terminal = { out: () => undefined, error: () => undefined, onStop: () => undefined };
  expect(await pay([file, "--journal", `${file}.journal`, "--yes"], env, terminal)).toBe(1);
}

test.each([
  ["the model", () => startQuick()],
  ["the reference server", () => startReference()],
] as const)("raises no alarm about %s when programs pay with lost requests and responses", async (_, start) => {
  const stage = await startStage(start, 1);
  const [toPay, ...others] = [payAll, ...careful].map((_program, index) =>
    payoutsFor(stage.hooks, createRandom(index, "payroll"), count),
  );
  const env = { BASE_URL: stage.url, API_KEY: stage.key, TIMEOUT_MS: "2000" };
  try {
    await payAll(toPay!, env);
    for (const [index, example] of careful.entries()) {
      if (isMissing(example)) console.warn(`not tried without ${example.toolchain.name}`);
      else
        await withCommand(example, async (command) =>
          payWith(command, others[index]!, { ...env, STATE_DIR: mkdtempSync(join(folder, "state-")) }),
        );
    }
  } finally {
    await stage.stop();
  }
  const creates = stage.seen.filter((each) => each.kind === "exchange" && each.method === "POST");
  expect(creates.length).toBeGreaterThan(2 * count);
  for (const profile of profiles) expect(alarmsOf(judged(stage.seen, { profile, webhookClockMs: 0 }))).toEqual([]);
});

/** What sample of broken servers is watched besides the self-test. */
const sample = /^(create.duplicate-refused|life.facts-kept|verify.customer|webhook.amount)/;

/** Watches a broken server, for long enough that the first retries of webhooks come. */
async function tried({ id, how, violates }: Fault) {
  const { met, ids } = await watchBroken(how, triesAll ? { ...short, retriedMs: 6000 } : short);
  const isNamed = violates.some((each) => ids.has(each));
  return { id, isNamed, met: violates.some(isDemanded) ? met : "what is only observed", ids: [...ids] };
}

test("names nine in ten broken servers whose fault the traffic meets", { timeout: 3_600_000 }, async () => {
  const chosen = faults.filter(({ id }) => triesAll || sample.test(id));
  const all: Awaited<ReturnType<typeof tried>>[] = await Readable.from(chosen)
    .map(tried, { concurrency: 20 })
    .toArray();
  const met = all.filter((each) => each.met === true);
  const unnamed = met.filter(({ isNamed }) => !isNamed);
  const choices = all.filter((each) => each.met !== true && each.met !== "");
  const named = all.filter(({ isNamed }) => isNamed);
  const listed = (each: typeof all) => each.map(({ id, ids }) => `${id} (${ids.join(", ")})`).join("\n");
  console.log(
    `${named.length} of all ${all.length} are named, ${met.length - unnamed.length} of ${met.length} met:\n${listed(met)}`,
    `\n\nNot named:\n${listed(unnamed)}`,
    `\n\nOther only in what a service chooses:\n${choices.map((each) => `${each.id} (${each.met})`).join("\n")}`,
  );
  expect({ unnamed, areFew: unnamed.length <= met.length / 10 }).toMatchObject({ areFew: true });
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
    const { sentAt, headers, body } = each;
    const { method, endedAt, response } =
      each.kind === "exchange"
        ? each
        : { method: "POST", endedAt: sentAt, response: each.status && { status: each.status, headers: {}, body: "" } };
    return {
      startedDateTime: new Date(sentAt).toISOString(),
      time: endedAt - sentAt,
      request: { method, url: urlOf(each), headers: listed(headers), postData: bodyText(body) },
      response: response
        ? { status: response.status, headers: listed(response.headers), content: bodyText(response.body) }
        : { status: 0, headers: [], content: {} },
    };
  });
  return JSON.stringify({ log: { version: "1.2", creator: { name: "test", version: "1" }, entries } });
}

test("traffic gives the same report as HAR and as JSON Lines, and no file has a key, phone number or name", async () => {
  const { seen, key, secondKey } = await watched(() => startQuick(talkative), 1);
  const inOrder = seen.toSorted((a, b) => a.sentAt - b.sentAt);
  const exchanges = inOrder.map((each) => JSON.stringify({ ...each, url: urlOf(each) })).join("\n");
  const reports: unknown[] = [];
  let written = "";
  for (const [way, content] of Object.entries({ har: harOf(inOrder), exchanges })) {
    const at = mkdtempSync(join(folder, "recorded-"));
    const [traffic, report] = [join(at, "traffic"), join(at, "report")];
    writeFileSync(traffic, content);
    const options = ["--target", "http://pay.example", "--profile", "extended", "--report", report];
    const { code, output } = await startCertify(["watch", `--${way}`, traffic, ...options], { env: { TMPDIR: at } })
      .ended;
    expect([code, readdirSync(at)]).toEqual([1, ["report", "traffic"]]);
    // The salt of hashes differs in each run.
    reports.push(JSON.parse(JSON.stringify(await reportIn(report)).replaceAll(/#[0-9a-f]{6}/g, "#")));
    written += [output, ...readdirSync(report).map((file) => readFileSync(join(report, file), "latin1"))].join("\n");
  }
  expect(reports[0]).toEqual(reports[1]);
  for (const id of ["create.duplicate-refused", "verify.customer", "webhook.amount"]) expect(written).toContain(id);

  const all = JSON.stringify(seen);
  const found = (pattern: RegExp) => [...new Set([...all.matchAll(pattern)].map(([, value]) => value!))];
  const phones = found(/"phoneNumber\\":\\?"?\\?"?\+?(\d{9,15})/g);
  const names = found(/\\"name\\":\\"([^"\\]+)/g);
  expect([phones.length > 20, names.length > 20]).toEqual([true, true]);
  const coded = (value: string) => [
    value,
    ...(["base64", "hex"] as const).map((coding) => Buffer.from(value).toString(coding).replace(/=+$/, "")),
    ...["sha256", "sha1", "md5"].map((algorithm) => hash(algorithm, value).slice(0, 12)),
  ];
  const secrets = [key, secondKey, ...phones, ...phones.map((phone) => phone.slice(-9)), ...names].flatMap(coded);
  expect(secrets.filter((secret) => written.includes(secret))).toEqual([]);
});
