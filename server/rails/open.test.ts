// Operators write the file of rails and modules themselves. Each mistake is named at the start. Whatever a module throws
// later, the payment can be recorded, and the rail is asked about it again.
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { RailError, type Rail, type RailPayment } from "../domain/rails.ts";
import { createTestRail } from "../testing/rail.ts";
import { checkedRail } from "./checked-rail.ts";
import { loadRail } from "./open.ts";
import { toRails } from "./settings.ts";

const folder = mkdtempSync(join(tmpdir(), "rails-"));
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, "key"), "hunter2-hunter2\n");
writeFileSync(join(folder, "secrets"), "whsec_AAAA\nwhsec_BBBB\n");

function read(yaml: string) {
  const file = join(folder, "rails.yaml");
  const problems: string[] = [];
  const settings = toRails({ file, text: yaml }, (problem) => problems.push(problem.replace(`${file}: `, "")));
  return { settings, problems };
}

test("reads rails and routes, with files relative to the file's own folder", () => {
  const { settings, problems } = read(`
rails:
  partner:
    url: https://payments.example/base/
    apiKeyFile: key
    webhookSecretFile: secrets
    requestsPerSecond: 20
  mtn: { module: ./momo.js, settings: { currency: EUR } }
routes:
  - { rail: mtn, country: CI, currency: XOF, phonePrefix: "22505" }
  - rail: partner
`);
  expect(problems).toEqual([]);
  expect(settings).toEqual({
    rails: [
      {
        name: "partner",
        url: "https://payments.example/base",
        apiKey: "hunter2-hunter2",
        webhookSecrets: ["whsec_AAAA", "whsec_BBBB"],
        requestsPerSecond: 20,
      },
      { name: "mtn", module: join(folder, "momo.js"), settings: { currency: "EUR" } },
    ],
    routes: [{ rail: "mtn", country: "CI", currency: "XOF", phonePrefix: "22505" }, { rail: "partner" }],
  });
});

test("reads the example of the guide", () => {
  const guide = readFileSync(new URL("../docs/rails.md", import.meta.url), "utf8");
  const [, example] = /```yaml\n(.+?)```/s.exec(guide)!;
  for (const name of ["wallet-key", "wallet-secret"]) copyFileSync(join(folder, "secrets"), join(folder, name));
  const { settings, problems } = read(example!);
  expect(problems).toEqual([]);
  expect(settings.routes.map(({ rail }) => rail)).toEqual(["bank", "wallet"]);
});

test("reports every problem together, without secrets", () => {
  const { problems } = read(`
rails:
  Partner: { url: "ftp://x", apiKeyFile: nowhere, colour: red }
  two: { url: https://two.example }
routes:
  - { rail: three, country: ci, phonePrefix: 22505 }
extra: 1
`);
  expect(problems.map((problem) => problem.split(" ").slice(0, 2).join(" "))).toEqual([
    "extra is",
    "rails.Partner must",
    "rails.Partner.colour is",
    "rails.Partner.url must",
    "rails.Partner.apiKeyFile cannot",
    "rails.two.apiKeyFile is",
    "routes[0].country must",
    "routes[0].phonePrefix must",
    "routes[0].rail must",
  ]);
  expect(problems.join()).not.toContain("hunter");
});

test.each([
  ["rails: {}\nroutes: []", ["rails must have at least one rail", "routes must be a list"]],
  ["- 1", ["the file must have fields"]],
  ["rails: [", ["Flow sequence"]],
])("%j is refused", (yaml, expected) => {
  const { problems } = read(yaml);
  for (const [index, text] of expected.entries()) expect(problems[index]).toContain(text);
});

let written = 0;
/** Loads a module with this text, and shows what becomes of it. */
async function load(text: string, settings?: unknown) {
  written += 1;
  const file = join(folder, `rail-${written}.ts`);
  writeFileSync(file, text);
  const result = await loadRail(file, settings).catch((error: Error) => error);
  return { result, message: result instanceof Error ? result.message.replace(file, "FILE") : "" };
}
const parts = "pay: async () => {}, find: async () => {}";

test("a module gets its settings, and an empty object without settings", async () => {
  const text = `export default ({ name = "no name" }) => ({ ${parts}, check: () => name });`;
  for (const [settings, name] of [
    [{ name: "bank" }, "bank"],
    [undefined, "no name"],
  ]) {
    const { result } = await load(text, settings);
    expect((result as unknown as { check(): string }).check()).toBe(name);
  }
});

test.each([
  ["no function", "export const rail = 1;", "The default export must be a function that returns a rail. (FILE)"],
  ["no rail", "export default () => undefined;", "pay and find of the rail must be functions (FILE)"],
  ["no find", "export default () => ({ pay() {} });", "find of the rail must be functions (FILE)"],
  ["a list of payments", `export default () => ({ ${parts}, list: [] });`, "list of the rail must be functions (FILE)"],
  [
    "a missing setting",
    `export default ({ keyFile }) => {\n  if (!keyFile) throw new Error("Set keyFile.");\n};`,
    /^Set keyFile\. \(FILE:2:\d+\)$/,
  ],
  [
    "a mistake",
    "export default () =>\n  null.rail;",
    /^Cannot read properties of null \(reading 'rail'\) \(FILE:2:\d+\)$/,
  ],
])("a module with %s ends the start, and its place is named", async (_, text, message) => {
  expect((await load(text)).message).toEqual(typeof message === "string" ? message : expect.stringMatching(message));
});

const call = { signal: new AbortController().signal, notifyUrl: "", returnUrl: "", inDoubt: false };
const thrownBy = (pay: Rail["pay"]) =>
  checkedRail({ ...createTestRail(), pay })
    .pay({} as RailPayment, call)
    .catch((error: unknown) => error);

test.each([
  ["a text", "out of order", "out of order"],
  ["nothing", undefined, "undefined"],
  ["an error whose message is no text", Object.assign(new Error(), { message: 5 }), "5"],
])("a rail that throws %s leaves the outcome unknown", async (_, thrown, message) => {
  const error = await thrownBy(() => Promise.reject(thrown));
  expect([error instanceof Error, error]).toEqual([true, expect.objectContaining({ name: "Error", message })]);
});

test.each([
  ["no number", { retryAfterMs: Number.NaN, needsRepair: true }, { needsRepair: true }],
  ["a text", { retryAfterMs: "60" }, {}],
  ["negative", { retryAfterMs: -1 }, {}],
  ["endless", { retryAfterMs: Infinity }, { retryAfterMs: 3_600_000 }],
  ["a minute", { retryAfterMs: 60_000 }, { retryAfterMs: 60_000 }],
  ["missing", null, {}],
])("a RailError, also of another class, asks for a delay of an hour at most: %s", async (_, options, expected) => {
  const thrown = { name: "RailError", message: "refused", options };
  for (const each of [thrown, Object.assign(new RailError("refused"), { options })]) {
    const error = await thrownBy(() => Promise.reject(each));
    expect([error instanceof RailError, (error as RailError).options]).toEqual([true, expected]);
  }
});

test("a check that ignores its signal ends with it", async () => {
  const rail = checkedRail({ ...createTestRail(), check: () => new Promise(() => {}) });
  await expect(rail.check!(AbortSignal.timeout(1))).rejects.toThrow("did not respond in time");
});

test("a notification that the rail never finishes reading ends after thirty seconds", async () => {
  const limit = new AbortController();
  const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValue(limit.signal);
  const rail = checkedRail({ ...createTestRail(), receive: () => new Promise(() => {}) });
  const received = rail.receive!({ headers: {}, query: new URLSearchParams(), body: new Uint8Array() });
  limit.abort(new DOMException("time is up", "TimeoutError"));
  await expect(received).rejects.toThrow("did not respond in time");
  expect(timeout).toHaveBeenCalledWith(30_000);
  timeout.mockRestore();
});
