// `npm run test:quick`: the tests that need neither another process nor PostgreSQL nor a browser, for the loop of a
// contributor. `npm test` runs all of them.
import { globSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import base from "./vitest.config.ts";

/** What a test file contains, or the folder that it is in, if it starts a process, a database or a run of the suite. */
const SLOW = /child_process|postgres|playwright|browser|spawn|testing\/(process|command-line|sound-target)|certify\.ts/;
const SLOW_FOLDER = /\/(broken|chaos|examples|mutants|postgres)\//;

/** Test files that take seconds for another reason: they wait for time-outs, or try thousands of inputs. */
const LONG = new Set([
  "client/hover.test.ts",
  "client/limiter.test.ts",
  "conformance/merchants/receiver/run.test.ts",
  "conformance/merchants/receiver/subject.test.ts",
  "conformance/report/compact.test.ts",
  "conformance/second-implementation/second.test.ts",
  "server/commands/listener.test.ts",
  "server/http/declared-input.test.ts",
  "server/http/fuzz.test.ts",
  "server/http/http-server.test.ts",
  "server/observability/export.test.ts",
  "server/storage/sqlite/migrate-versions.test.ts",
  "server/storage/sqlite/restore.test.ts",
  "server/storage/sqlite/sqlite.test.ts",
  "server/webhooks/connections.test.ts",
  "server/webhooks/fairness.test.ts",
  "server/workers/fairness.test.ts",
]);

const isQuick = (file: string) => !LONG.has(file) && !SLOW_FOLDER.test(file) && !SLOW.test(readFileSync(file, "utf8"));

export default defineConfig({
  test: {
    ...base.test,
    include: globSync("{spec,scripts,server,client,conformance}/**/*.test.ts", {
      exclude: (name) => name.endsWith("node_modules"),
    }).filter(isQuick),
    globalSetup: [],
    isolate: false,
    maxWorkers: availableParallelism(),
  },
});
