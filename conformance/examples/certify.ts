// npm run certify:examples [-- --check] certifies every example and writes README.md beside this file. With --check it
// writes nothing, and fails if a verdict in the README is no longer true.
import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { format } from "prettier";
import type { Report } from "../results.ts";
import { launcher } from "../sides/client/launch.ts";
import { judgeClient, readClientOptions } from "../sides/client/command.ts";
import { scenarios as clientScenarios } from "../sides/client/scenarios.ts";
import { scenarios as receiverScenarios } from "../sides/receiver/scenarios.ts";
import { commandOf, examples, tableOf, violations, type Example } from "./examples.ts";
import { judgeReceiverExample } from "./receivers.ts";

const readme = new URL("README.md", import.meta.url);
const seed = 1;
const quiet = { write: () => undefined };
const { values } = parseArgs({ options: { check: { type: "boolean", default: false } } });

async function judge(example: Example): Promise<Report> {
  if (example.side === "receiver") return judgeReceiverExample(example, seed);
  const command = commandOf(example);
  const options = readClientOptions(["--command", command, "--seed", String(seed)], () => seed);
  return judgeClient(options, launcher(command), quiet, new AbortController().signal);
}

const isMissing = ({ interpreter }: Example) => spawnSync(interpreter, ["--version"]).status !== 0;
const missing = examples.filter(isMissing);
if (missing.length > 0) {
  console.error(`Install ${missing[0]!.interpreter} to certify ${missing.map(({ file }) => file).join(", ")}.`);
  process.exit(2);
}

const reports = new Map<string, Report>();
for (const example of examples) {
  const report = await judge(example);
  reports.set(example.file, report);
  console.log(`${example.file}: ${report.verdict}. ${report.summary}`);
}

const doubles = violations(reports.get("clients/naive.mjs")!, "client.pays-once");
const listOf = (side: Example["side"]) =>
  examples
    .filter((example) => example.side === side)
    .map(({ file, about }) => `- [${file.split("/").at(-1)}](${file}): ${about}`)
    .join("\n");
const text = `# Examples

Programs to start from, and to learn from. \`npm run certify:examples\` certifies each of them and writes this page.

## Clients

${listOf("client")}

A ✗ is a violation in at least one of the ${clientScenarios.length} scenarios of \`certify client\`, in brackets if the requirement is
not a must.

${tableOf("client", reports)}

With seed ${seed}, the naive client paid entries more than once in ${doubles} scenarios.

## Receivers

${listOf("receiver")}

They share a database in [bookings.ts](receivers/bookings.ts), and [outage.mjs](receivers/outage.mjs) locks it for
\`--outage-command\`. A ✗ is a violation in at least one of the ${receiverScenarios.length} scenarios of \`certify receiver\`.

${tableOf("receiver", reports)}

The naive receiver books an event twice when it arrives twice at once or after a restart, loses what arrives while its
database is locked, and tells every stranger the signature that it expected.
`;
const formatted = await format(text, { parser: "markdown", printWidth: 120 });
/** The rows of verdicts: numbers of scenarios may differ between runs, verdicts may not. */
const rowsOf = (page: string) => page.split("\n").filter((line) => line.startsWith("|"));
if (!values.check) await writeFile(readme, formatted);
else if (rowsOf(await readFile(readme, "utf8")).join("\n") !== rowsOf(formatted).join("\n")) {
  console.error("conformance/examples/README.md is out of date. Run npm run certify:examples.");
  process.exitCode = 1;
}
