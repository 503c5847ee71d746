import type { Reporter, TestModule } from "vitest/node";

/**
 * Prints "N passed, M failed" as the last line of a run, for scripts to parse. Before that line it prints each test
 * that failed at first and passed when it was repeated.
 */
export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]) {
    let passed = 0;
    const flaky: string[] = [];
    // Count errors outside any test, such as unhandled rejections, as failures.
    let failed = unhandledErrors.length;
    for (const module of modules) {
      const tests = [...module.children.allTests()];
      for (const test of tests)
        if (test.diagnostic()?.flaky) flaky.push(`${module.relativeModuleId}: ${test.fullName}`);
      const states = tests.map((test) => test.result().state);
      passed += states.filter((state) => state === "passed").length;
      const failedTests = states.filter((state) => state === "failed").length;
      // A file that fails to load, or whose hook fails, has no failed test. Count it as one failure.
      failed += failedTests === 0 && module.state() === "failed" ? 1 : failedTests;
    }
    process.on("exit", () => {
      for (const name of flaky) console.log(`Passed only when repeated: ${name}`);
      console.log(`${passed} passed, ${failed} failed`);
    });
  }
}
