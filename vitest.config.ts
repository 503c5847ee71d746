import { globSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Starts the slowest files first, so that no slow file runs alone at the end, and ends with the quick files. A worker
 * only goes on to files of the same project, so the files of a project are together.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const long =
      /(certify|sound|catch|migrate|rejudge|prism|browser|money|imposters|accessible|package|runtimes|faults|journey|commands|processes|main|mode|bad-days|dead-target|operators-day)\.test\.ts$/;
    const rank = ({ project, moduleId }: TestSpecification) =>
      ["slow", "quick"].indexOf(project.name) * 2 + (long.test(moduleId) ? 0 : 1);
    return files.toSorted((a, b) => rank(a) - rank(b));
  }
}

/**
 * Texts and folders by which this file recognises test files that start a process, a database or a run of the suite.
 */
const SLOW = /child_process|postgres|playwright|browser|spawn|testing\/(process|command-line|sound-target)|certify\.ts/;
const SLOW_FOLDER = /\/(broken|chaos|examples|mutants|postgres)\//;

/** Test files that take seconds for another reason: they wait for time-outs, or try thousands of inputs. */
const LONG = new Set([
  "client/doubt.test.ts",
  "client/hover.test.ts",
  "client/limiter.test.ts",
  "client/mcp/chaos.test.ts",
  "client/two-runs.test.ts",
  "conformance/merchants/receiver/run.test.ts",
  "conformance/merchants/receiver/subject.test.ts",
  "conformance/report/compact.test.ts",
  "conformance/second-implementation/second.test.ts",
  "scripts/contract/changes.test.ts",
  "server/commands/listener.test.ts",
  "server/http/dashboard/declared-input.test.ts",
  "server/http/declared-input.test.ts",
  "server/http/fuzz.test.ts",
  "server/http/http-server.test.ts",
  "server/http/patterns.test.ts",
  "server/observability/export.test.ts",
  "server/storage/sqlite/migrate-versions.test.ts",
  "server/storage/sqlite/restore.test.ts",
  "server/storage/sqlite/sqlite.test.ts",
  "server/webhooks/connections.test.ts",
  "server/webhooks/send.test.ts",
]);

/**
 * Test files that each get a process, because their packages replace global objects, or because they measure times.
 * These files run before all other files, so that other tests do not use up the time limits that they set.
 */
const ALONE = new Set([
  "client/chaos/chaos.test.ts",
  "client/receiver.test.ts",
  "client/receivers.test.ts",
  "server/overload.test.ts",
  "server/rolling-restart.test.ts",
  "server/time-budget.test.ts",
  "server/webhooks/fairness.test.ts",
  "server/workers/fairness.test.ts",
]);

const all = globSync("{spec,scripts,server,client,conformance}/**/*.test.ts", {
  exclude: (name) => name.endsWith("node_modules"),
});
function projectOf(file: string): string {
  if (ALONE.has(file)) return "alone";
  return LONG.has(file) || SLOW_FOLDER.test(file) || SLOW.test(readFileSync(file, "utf8")) ? "slow" : "quick";
}

// The processes that tests start take most of their time to compile the same modules.
process.env.NODE_COMPILE_CACHE ??= resolve("node_modules/.cache/node");

// Many tests run whole servers and mostly wait, so one worker per processor would leave processors idle: on two processors 3
// workers take a quarter longer than 5.
const maxWorkers = Math.max(5, availableParallelism());

export default defineConfig({
  test: {
    // `npm run test:quick` runs only the quick files, for the loop of a contributor. Files of a project share processes,
    // since most files take longer to load the same modules than to run their tests.
    projects: ["alone", "slow", "quick"].map((name) => ({
      extends: true as const,
      test: {
        name,
        include: all.filter((file) => projectOf(file) === name),
        ...(name === "alone"
          ? { isolate: true, maxWorkers: 2, sequence: { groupOrder: 0 } }
          : { isolate: false, maxWorkers, sequence: { groupOrder: 1 } }),
      },
    })),
    globalSetup: "./scripts/testing/shared.ts",
    reporters: ["default", "./scripts/count-reporter.ts"],
    sequence: { sequencer: LongestFirst },
    // In CI, where the tests decide whether a change is accepted, a test that fails is repeated, and is named if it
    // then passes: whole clusters, databases and browsers share the machine. Elsewhere a failure is shown at once.
    retry: process.env.CI ? 1 : 0,
    // This limit only ends a test that hangs. Some tests start a process or a browser, which takes long on a busy
    // machine.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
