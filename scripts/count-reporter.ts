import type { Reporter, TestModule } from "vitest/node";

/** Ends a run with one plain line that a script can read. */
export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]) {
    let passed = 0;
    // An error outside any test.
    let failed = unhandledErrors.length;
    for (const module of modules) {
      const states = [...module.children.allTests()].map((test) => test.result().state);
      passed += states.filter((state) => state === "passed").length;
      const failedTests = states.filter((state) => state === "failed").length;
      // What fails before its tests (a file that cannot be loaded, a hook) has no failed test of its own.
      failed += failedTests === 0 && module.state() === "failed" ? 1 : failedTests;
    }
    process.on("exit", () => console.log(`${passed} passed, ${failed} failed`));
  }
}
