import type { Reporter, TestModule } from "vitest/node";

/** Prints "N passed, M failed" as the last line of a run, for scripts to parse. */
export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]) {
    let passed = 0;
    // Count errors outside any test, such as unhandled rejections, as failures.
    let failed = unhandledErrors.length;
    for (const module of modules) {
      const states = [...module.children.allTests()].map((test) => test.result().state);
      passed += states.filter((state) => state === "passed").length;
      const failedTests = states.filter((state) => state === "failed").length;
      // A file that fails to load, or whose hook fails, has no failed test. Count it as one failure.
      failed += failedTests === 0 && module.state() === "failed" ? 1 : failedTests;
    }
    process.on("exit", () => console.log(`${passed} passed, ${failed} failed`));
  }
}
