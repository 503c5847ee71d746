// Runs the steps of .github/actions/certify as a runner of GitHub does, with bash.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { useFolder } from "../server/testing/resources.ts";
import { responses } from "./broken/changes.ts";
import type { How } from "./broken/fault.ts";
import { withBody } from "./broken/replies.ts";
import { startSoundTarget } from "./testing/sound-target.ts";

type Step = { id?: string; uses?: string; run?: string; shell?: string; if?: string } & Partial<
  Record<"env" | "with", Record<string, string>>
>;
type Action = { inputs: Record<string, { default?: string; required?: boolean }>; runs: { steps: Step[] } };

const file = join(import.meta.dirname, "../.github/actions/certify/action.yml");
const { inputs, runs } = parse(readFileSync(file, "utf8")) as Action;
const at = useFolder();

/** Runs the action with these inputs. Returns the exit code, the log, the job's summary, and what would be uploaded. */
async function use(given: Record<string, string>) {
  for (const name of ["output", "summary"]) writeFileSync(at(name), "");
  const written = (name: string) => readFileSync(at("output"), "utf8").match(`(?<=^|\n)${name}=(.*)`)?.[1];
  /** Replaces expressions of GitHub, which name an input of the action or an output of its step. */
  const filled = (texts: Record<string, string> = {}) =>
    JSON.parse(
      JSON.stringify(texts).replaceAll(/\$\{\{ (?:\w+\.)+([\w-]+) \}\}/g, (_, name: string) =>
        JSON.stringify(given[name] ?? inputs[name]?.default ?? written(name) ?? "").slice(1, -1),
      ),
    ) as Record<string, string>;
  const runner = {
    PATH: process.env["PATH"],
    RUNNER_TEMP: at(),
    GITHUB_ACTION_PATH: dirname(file),
    GITHUB_OUTPUT: at("output"),
    GITHUB_STEP_SUMMARY: at("summary"),
  };
  let [code, log] = [0, ""];
  for (const { run = "", env } of runs.steps.filter(({ shell }) => shell === "bash")) {
    const args = ["--noprofile", "--norc", "-eo", "pipefail", "-c", run];
    const child = spawn("bash", args, { env: { ...runner, ...filled(env) } });
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (log += chunk.toString()));
    [code] = (await once(child, "close")) as [number];
    if (code !== 0) break;
  }
  const upload = filled(runs.steps.find(({ uses }) => uses?.startsWith("actions/upload-artifact"))?.with);
  return { code, log, upload, summary: readFileSync(at("summary"), "utf8") };
}

const key = "key-of-a-merchant-1";
const refusal = "Not found\n::error::of the service, 100 %";
const hostile: How = responses("verifyDisbursement", (reply) =>
  reply.status === 404 ? withBody(reply, { error: refusal }) : reply,
);

/** Runs the action against a service. */
async function against(how: How | undefined, more: Record<string, string> = {}) {
  const { url, seen, stop } = await startSoundTarget({ key, environment: "live", ...(how && { how }) });
  onTestFinished(stop);
  return { ...(await use({ "base-url": url, "api-key": key, ...more })), seen, url };
}

test("with an address and a key, it reads, writes the summary and names the report to upload", async () => {
  const options = "--header 'User-Agent: ci run'";
  const { code, log, summary, upload, seen, url } = await against(undefined, { options });
  expect([code, log]).toEqual([0, expect.not.stringContaining("::error")]);
  expect(new Set(seen.map(({ method }) => method))).toEqual(new Set(["GET"]));
  expect(seen[0]?.headers["user-agent"]).toBe("ci run");
  expect(summary).toMatch(/^!\[conformance: core: passed in part, /);
  expect(summary).toContain("| `auth.verify-needs-key` | must | Passed |  |");
  expect(upload["name"]).toBe(`certify-report-${new URL(url).host.replace(":", "-")}`);
  expect(JSON.parse(readFileSync(join(upload["path"]!, "report.json"), "utf8"))).toMatchObject({ effects: "none" });
});

test("a failure fails the job with an annotation for each cause, and a service cannot command the runner", async () => {
  const { code, log, summary } = await against(hostile);
  expect(code).toBe(1);
  const [, token, output, after] = /^::stop-commands::(\S+)\n([^]*)\n::\1::\n([^]*)$/m.exec(log)!;
  expect(token).toMatch(/^[\w-]{36}$/);
  expect(output).toContain("::error::of the service");
  expect(after).toMatch(/^(::error title=.*\n)+$/);
  expect(after).toMatch(/^::error title=errors.shape and \d+ more::.*%0AExpected: .*%0AReceived: /m);
  expect(summary).toContain("| `errors.shape` | must | Failed |");
});

test.each([
  ["an unreachable service", { "base-url": "http://127.0.0.1:9", "api-key": key }, "nothing listens"],
  ["an empty secret", { "base-url": "https://api.example", "api-key": "" }, "api-key is empty"],
])("%s fails the job and says why in an annotation", async (_, given, why) => {
  const { code, log } = await use(given);
  expect([code, log]).toEqual([2, expect.stringMatching(new RegExp(`^::error title=certify::.*${why}`, "m"))]);
});

test("the guide's workflow gives the inputs that the action needs", () => {
  const guide = readFileSync(join(import.meta.dirname, "docs/platforms.md"), "utf8");
  const [, block = ""] = /```yaml\n(name: Certify\n[^]*?)```/.exec(guide)!;
  const { jobs } = parse(block) as { jobs: { certify: { steps: Step[] } } };
  const needed = Object.keys(inputs).filter((name) => inputs[name]?.required);
  expect(jobs.certify.steps.map(({ uses, with: given }) => [uses, Object.keys(given!)])).toEqual([
    ["OWNER/REPOSITORY/.github/actions/certify@COMMIT", needed],
  ]);
});
