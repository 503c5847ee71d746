import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { useFolder } from "../../../server/testing/resources.ts";
import { programOf } from "../../broken/clients/good.ts";
import { inProcess } from "../../broken/clients/host.ts";
import { judgeClient, readClientOptions } from "./command.ts";
import { startGroup, type Ended, type Launch } from "../process-group.ts";
import { entries } from "./entries.ts";
import { runScenario } from "./run.ts";
import { scenario as defineScenario } from "./scenario.ts";
import { scenarios } from "./scenarios.ts";

const at = useFolder();
const quiet = { write: () => undefined };
const never = new AbortController().signal;
const scenario = (id: string) => scenarios.find((each) => each.id === id)!;

/** Returns the command that runs a program, given as the text of a module. */
function programFile(name: string, text: string): string {
  const file = at(`${name}.mjs`);
  writeFileSync(file, text);
  return `"${process.execPath}" "${file}"`;
}

/** Returns a program that pays each entry once. `outcomeOf` is the JavaScript expression of the reported outcome. */
const pays = (outcomeOf: string) => `
  import { createInterface } from "node:readline";
  for await (const line of createInterface({ input: process.stdin })) {
    const headers = { "x-api-key": process.env.API_KEY, "content-type": "application/json" };
    const response = await fetch(process.env.BASE_URL + "/v1/disbursements", { method: "POST", headers, body: line });
    const { status } = (await response.json()).data;
    const { reference } = JSON.parse(line);
    const outcome = ${outcomeOf};
    console.log(JSON.stringify({ reference, outcome }));
  }`;

/** A client that waits while the machine is busy, and then reports an outcome of its only entry without a request. */
const gaveUp =
  (outcome: string): Launch =>
  () => ({
    ended: sleep(30).then((): Ended => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
      return { code: 0, stdout: JSON.stringify({ reference: "salary-1", outcome }), stderr: "" };
    }),
    kill: () => undefined,
  });

test.each([
  ["does not judge unknown outcomes and unpaid entries", "unknown", 2000, [], ["loses-nothing", "finds-out"]],
  ["does not excuse a report that is false", "refused", 2000, ["loses-nothing"], []],
  ["does not excuse a program that had time enough", "unknown", 60_000, ["loses-nothing", "finds-out"], []],
])("a machine that is too busy %s", async (_, outcome, timeoutMs, failed, unjudged) => {
  const plain = defineScenario("plain", "Nothing happens", { entries: entries("success") });
  const given = { launch: gaveUp(outcome), seed: 1, timeoutMs, limitMs: 60_000 };
  const { findings, notRun = {} } = await runScenario(plain, given);
  const idsOf = (ids: string[]) => ids.map((id) => `client.${id}`);
  expect(findings.flatMap(({ id, ok }) => (ok ? [] : id))).toEqual(idsOf(failed));
  expect(Object.keys(notRun)).toEqual(idsOf(unjudged));
  const reason = /^the machine was too busy: the suite waited \d+ ms for a processor/;
  expect(Object.values(notRun).filter((why) => !reason.test(why))).toEqual([]);
});

const options = (...args: string[]) => readClientOptions(["--command", "good", ...args], () => 4);

/** Returns how the requests of a correct client end in bad weather. */
async function weather(seed: number): Promise<string[]> {
  const settings = { ...options(), launch: inProcess(programOf({ concurrency: 1 })), seed };
  const { exchanges = [] } = await runScenario(scenario("weather-bad"), settings);
  return exchanges.map(({ method, status, failure }) => `${method} ${status ?? failure}`);
}

describe("a run", () => {
  test("shows the requests of a scenario without the key and the phone numbers", async () => {
    const { exchanges = [] } = await runScenario(scenario("exists"), { ...options(), launch: inProcess(programOf()) });
    const text = JSON.stringify(exchanges);
    expect(text).toContain("salary-1");
    expect(text).not.toMatch(/key-\w+-of-the-merchant|2257038102400/);
    expect(exchanges[0]).toMatchObject({ method: "POST", url: "/v1/disbursements" });
  });

  test("repeats random faults with the same seed", async () => {
    const first = await weather(1);
    expect(await weather(1)).toEqual(first);
    expect(await weather(2)).not.toEqual(first);
  });
});

const settings = { seed: 1, timeoutMs: 10_000, limitMs: 60_000 };

/** Runs a program in a scenario, and returns what failed, one line each. */
async function failuresOf(name: string, text: string, { id = "calm", limitMs = settings.limitMs } = {}) {
  const command = programFile(name, text);
  const launch: Launch = (environment, input) => startGroup(command, environment, input);
  const run = await runScenario(scenario(id), { ...settings, limitMs, launch });
  const { thrown, findings, notRun } = run;
  const failed = findings.filter(({ ok }) => !ok).map((finding) => `${finding.id}: ${finding.actual}`);
  return { ...run, notRun, text: [...failed, ...(thrown instanceof Error ? [thrown.message] : [])].join("\n") };
}

describe("a program", () => {
  test.each(["/nonexistent/client", import.meta.filename])("that cannot be started ends the run: %s", async (file) => {
    const { errors } = await judgeClient({ ...options(), command: file }, quiet, never);
    expect(errors).toEqual([
      expect.stringMatching(/^The program could not be started: .*(not found|denied).* Check --command/),
    ]);
  });

  test("that fails is told what it wrote last, and how it ended before the entries that it lost", async () => {
    const silent = await failuresOf("silent", 'console.error("starting"); console.error("no key"); process.exit(3)');
    expect(silent.text).toMatch(/sends requests and reports.*; instead: .*exit code 3; last line of stderr: "no key"/);
    const { text } = await failuresOf("crashes", pays("process.exit(3)"));
    expect(text).toContain('client.loses-nothing: the program ended with exit code 3; "salary-2" was never recorded');
  });

  test("is shown the requests for the entries that it got wrong", async () => {
    const wrong = pays('reference === "salary-2" ? "unknown" : status === "success" ? "paid" : status');
    const { findings, exchanges = [] } = await failuresOf("one-unknown", wrong);
    const found = findings.find(({ id }) => id === "client.finds-out")!;
    expect(found).toMatchObject({ ok: false, actual: 'unknown: "salary-2"' });
    expect(exchanges.length).toBeGreaterThan(1);
    const shown = found.exchanges?.map(({ requestBody }) => JSON.parse(requestBody!) as unknown);
    expect(shown).toMatchObject([{ reference: "salary-2" }]);
  });

  test("that is killed takes what it started with it, and finds its files again", async () => {
    const { text } = await failuresOf(
      "parent",
      `import { spawn } from "node:child_process";
       import { appendFileSync, readFileSync } from "node:fs";
       if (process.argv[2] === "child") {
         const file = process.env.STATE_DIR + "/starts";
         appendFileSync(file, "x");
         const starts = readFileSync(file, "utf8").length;
         const body = '{"reference":"salary-1","amount":150000,"phoneNumber":"2257038102400","country":"CI","currency":"XOF"}';
         const headers = { "x-api-key": process.env.API_KEY, "content-type": "application/json" };
         await fetch(process.env.BASE_URL + "/v1/disbursements", { method: "POST", headers, body });
         console.log(JSON.stringify({ reference: "salary-" + starts, outcome: "unknown" }));
       } else {
         spawn(process.execPath, [process.argv[1], "child"], { stdio: "inherit" });
       }`,
      { id: "killed-first-received" },
    );
    // The first start was killed before it reported anything, and the second start saw its file.
    expect(text).toContain('unknown: "salary-2"');
    expect(text).not.toContain('unknown: "salary-1"');
  });

  test("that the suite ended is too slow, and not judged by the entries that it had no time for", async () => {
    const endless = 'console.log("{}"); setInterval(() => {}, 1000)';
    const { text, notRun } = await failuresOf("endless", endless, { limitMs: 1500 });
    expect(text.split("\n").slice(0, 2)).toEqual([
      'client.reports-all: stdout has a line that is no report: "{}"',
      "client.bounded-time: too slow: still running after 2 s, so the suite ended it. --time-limit allows more",
    ]);
    expect(notRun).toEqual({
      "client.loses-nothing": "the suite ended the program after 2 s; see client.bounded-time",
    });
  });
});
