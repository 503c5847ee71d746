import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take longest begin first, so that none of them is left alone at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const long = /(certify|sound|catch|prism|browser|money|imposters|accessible|package)\.test\.ts$/;
    return files.toSorted((a, b) => Number(long.test(b.moduleId)) - Number(long.test(a.moduleId)));
  }
}

export default defineConfig({
  test: {
    include: ["{spec,scripts,server,client,conformance}/**/*.test.ts"],
    reporters: ["default", "./scripts/count-reporter.ts"],
    // Whole servers and runs are tried, which wait more than they compute: one file per processor leaves half of it idle.
    maxWorkers: Math.max(3, availableParallelism()),
    sequence: { sequencer: LongestFirst },
    testTimeout: 20_000,
    hookTimeout: 30_000,
  },
});
