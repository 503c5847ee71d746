import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["{spec,scripts,server,client,conformance}/**/*.test.ts"],
    reporters: ["default", "./scripts/count-reporter.ts"],
    testTimeout: 20_000,
    hookTimeout: 30_000,
  },
});
