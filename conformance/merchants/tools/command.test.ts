import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import { goodParts, mapOf, toolsOf } from "../../broken/tools/good.ts";
import { inProcess } from "../../broken/tools/trial.ts";
import { OptionsError } from "../../cli/flags.ts";
import { reservePort } from "../../target/reserve-port.ts";
import { certifyTools, judgeTools, readToolsOptions } from "./command.ts";
import { opener } from "./host.ts";
import { propose, renderMap } from "./init.ts";
import { fill, readMap } from "./map.ts";
import { listTools, runScenario } from "./run.ts";
import { scenarios } from "./scenarios.ts";
import { attack, looseTexts } from "./texts.ts";

const folder = mkdtempSync(join(tmpdir(), "certify-tools-test-"));
afterAll(() => rmSync(folder, { recursive: true }));

const read = (...args: string[]) => readToolsOptions(args, {}, () => 4);
const never = new AbortController().signal;
const ourServer = `exec "${process.execPath}" "${join(import.meta.dirname, "../../examples/tools/our-server.ts")}"`;
const ourMap = join(import.meta.dirname, "../../examples/tools/our-server.yaml");

describe("the options of certify tools", () => {
  test("have defaults", () => {
    expect(read("--command", "node tools.js")).toMatchObject({
      mapFile: "./tools.yaml",
      timeoutMs: 2000,
      limitMs: 60_000,
    });
  });

  test.each([
    [[], "give the server of tools with --command CMD"],
    [["--url", "http://127.0.0.1:3400/mcp"], "--url URL and --port PORT"],
    [["--url", "http://127.0.0.1:3400/mcp", "--port", "4000"], "API_KEY must be the key"],
    [["--command", "x", "--url", "nowhere"], "--url must be a URL"],
    [["--command", "x", "--scenario", "calm"], "there is no scenario"],
  ])("%j are refused", (args, message) => {
    expect(() => read(...args)).toThrow(OptionsError);
    expect(() => read(...args)).toThrow(message);
  });
});

describe("a map", () => {
  test("is refused with every fault", () => {
    expect(() => readMap("pay: {tool: pay}\nlimits: {month: 7}\n", "tools.yaml")).toThrow(
      /tools.yaml: the map must have required property 'result'.*pay must have required property 'arguments'.*month/s,
    );
    expect(() => readMap("{", "tools.yaml")).toThrow("tools.yaml is not YAML");
  });

  test.each(["plan", "one", "reference"] as const)("is proposed for tools of the shape %s", (shape) => {
    const parts = { ...goodParts, shape };
    const proposed = readMap(renderMap(propose(toolsOf(parts))), "tools.yaml");
    const { prepare, pay } = mapOf(parts);
    expect(proposed).toMatchObject({ pay, ...(prepare ? { prepare: { ...prepare, plan: "plan.id" } } : {}) });
  });
});

test.each([
  [15_150, 151.5, "15150", "151.50"],
  ["15000.5", "15000.5", "15000.5", "150.005"],
  ["15,000", "15,000", "15,000", "15,000"],
  // As texts these would be amounts that sound tools pay.
  [true, true, true, true],
  [[15_000], [15_000], [15_000], [15_000]],
  [null, null, null, null],
])("the amount %j reaches tools as units %j and as texts %j and %j", (amount, ...expected) => {
  const values = { reference: "a", amount, phoneNumber: "2257", country: "CI", currency: "XOF", purpose: "b" };
  expect(fill<unknown>(["{units}", "{amountText}", "{unitsText}"], values)).toEqual(expected);
});

test.each([
  [{ texts: [`Paid to ${attack}`] }, 1],
  [{ texts: [`Paid to "${attack}"`] }, 1],
  [{ texts: [JSON.stringify({ name: attack })] }, 0],
  [{ texts: [`Paid to ${JSON.stringify(attack)}`] }, 0],
  [{ texts: ["Paid."], structured: { name: attack } }, 0],
  [{ texts: ["Paid."], structured: { summary: `Paid to ${attack}` } }, 1],
])("a text from outside is recognised within a result (%#)", (returned, count) => {
  expect(looseTexts({ isError: false, ...returned })).toHaveLength(count);
});

test("a run of some scenarios passes in part, with the command that repeats it", async () => {
  const options = read("--command", "good", "--scenario", "calm-once-patient,day-limit");
  const report = await judgeTools(options, mapOf(goodParts), inProcess(goodParts), { write: () => undefined }, never);
  expect(report).toMatchObject({ verdict: "passed-partially", profile: "tools", baseUrl: "good" });
  expect(report.repeatFlags).toEqual(["--command", "good", "--map", "./tools.yaml"]);
});

test("bounds that the map does not state are not applicable", async () => {
  const { limits: _, ...map } = mapOf(goodParts);
  const scenario = scenarios.find(({ id }) => id === "day-limit")!;
  const run = await runScenario(scenario, { open: inProcess(goodParts), map, seed: 1, timeoutMs: 1000 });
  expect(run).toMatchObject({ ids: ["tools.limits"], notApplicable: { "tools.limits": { code: "target" } } });
});

test("the command that approves has the environment of the person who started the server", async () => {
  const file = join(folder, "journal");
  vi.stubEnv("JOURNAL", "/of/the/person");
  const map = { ...mapOf(goodParts), approve: { command: `printf %s "$JOURNAL $API_KEY" > '${file}'` } };
  const fixed = { port: await reservePort(), key: "key-of-the-person" };
  const scenario = scenarios.find(({ id }) => id === "approval-given")!;
  await runScenario(scenario, { open: inProcess(goodParts), map, seed: 1, timeoutMs: 1000, fixed });
  expect(readFileSync(file, "utf8")).toBe("/of/the/person key-of-the-person");
  vi.unstubAllEnvs();
});

describe("the tools of this repository", () => {
  const open = opener({ command: ourServer, limitMs: 60_000 });

  test("are called over standard input and output, and killed", async () => {
    const map = readMap(readFileSync(ourMap, "utf8"), ourMap);
    const scenario = scenarios.find(({ id }) => id === "killed-recorded-once-patient")!;
    const { findings } = await runScenario(scenario, { open, map, seed: 1, timeoutMs: 10_000 });
    expect(findings.filter(({ ok }) => !ok)).toEqual([]);
  });

  test("are called over HTTP", async () => {
    const url = "http://127.0.0.1:$PORT/mcp";
    process.env["TOOLS_TOKEN"] = "the-token-of-the-test";
    const overHttp = opener({ command: `${ourServer} http`, url, token: "the-token-of-the-test", limitMs: 60_000 });
    const map = readMap(readFileSync(ourMap, "utf8"), ourMap);
    const scenario = scenarios.find(({ id }) => id === "dropped-restarted-gives-up")!;
    const { findings } = await runScenario(scenario, { open: overHttp, map, seed: 1, timeoutMs: 10_000 });
    expect(findings.filter(({ ok }) => !ok)).toEqual([]);
  });

  test("have a map that --init proposes as it was written by hand, apart from approval and bounds", async () => {
    const written = readMap(readFileSync(ourMap, "utf8"), ourMap);
    const proposed = readMap(renderMap(propose(await listTools(open))), "tools.yaml");
    expect(proposed).toMatchObject({ prepare: written.prepare, pay: written.pay, read: written.read });
    expect(proposed.result).toMatchObject({ at: "result", words: written.result.words });
  });
});

test("--init never overwrites a file, and a server that does not start is named", async () => {
  const file = join(folder, "tools.yaml");
  writeFileSync(file, "");
  const init = certifyTools(["--command", "exit 3", "--map", file, "--init"], {}, () => 1);
  await expect(init).rejects.toThrow("never overwrites");
  const missing = certifyTools(
    ["--command", "echo no key >&2; exit 3", "--map", join(folder, "x"), "--init"],
    {},
    () => 1,
  );
  await expect(missing).rejects.toThrow(/could not be started: .*no key/);
});
