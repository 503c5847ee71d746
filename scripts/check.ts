// npm run check: everything that can be checked without running the project. When a command has failed, its output is
// shown.
import { exec } from "node:child_process";

const COMMANDS = [
  "tsc --incremental --tsBuildInfoFile node_modules/.cache/tsbuildinfo",
  "knip",
  "spectral lint generated/openapi.json --fail-severity=warn",
  "oxlint",
  // A promise that nobody awaits ends the process when it rejects. `void` marks those that never reject.
  "oxlint --type-aware -A all -D typescript/no-floating-promises",
  "oxfmt --check",
  "node scripts/generate.ts --check",
  "node scripts/contract.ts check",
  "vitest run --project consistency",
];

await Promise.all(
  COMMANDS.map(
    (command) =>
      new Promise<void>((resolve) => {
        exec(command, (error, stdout, stderr) => {
          if (error) {
            console.error(`${stdout}${stderr}Failed: ${command}`);
            process.exitCode = 1;
          }
          resolve();
        });
      }),
  ),
);
