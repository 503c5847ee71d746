import type { Reporter, TestModule } from "vitest/node";

/** Ends a run with one plain line that a script can read. */
export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]) {
    let passed = 0;
    // A file that could not be loaded and an error outside any test have no failed test of their own.
    let failed = unhandledErrors.length;
    for (const module of modules) {
      failed += module.errors().length;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === "passed") passed += 1;
        if (state === "failed") failed += 1;
      }
    }
    process.on("exit", () => console.log(`${passed} passed, ${failed} failed`));
  }
}
