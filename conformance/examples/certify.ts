// npm run certify:examples [-- --check | --seeds N] [-- PATTERN] certifies the examples whose file matches, by default
// all, and their naive versions, and writes README.md beside this file. The results of the other examples stay. With
// --check it writes nothing, and fails if a verdict in the README is no longer true. With --seeds it judges each
// example with the seeds 1 to N and only prints the verdicts. It names the examples whose toolchain is missing, and
// keeps their results in the README.
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { format } from "oxfmt";
import type { Report } from "../results.ts";
import { scenarios as clientScenarios } from "../programs/client/scenarios.ts";
import { scenarios as receiverScenarios } from "../programs/receiver/scenarios.ts";
import { judgeClientExample } from "./clients.ts";
import {
  columnOf,
  examples,
  failuresOf,
  isMissing,
  readColumns,
  tableOf,
  violations,
  type Example,
} from "./examples.ts";
import { naiveTable, naiveVersions, readNaive, withNaive } from "./naive.ts";
import { judgeReceiverExample } from "./receivers.ts";

const readme = new URL("README.md", import.meta.url);
const { values, positionals } = parseArgs({
  options: { check: { type: "boolean", default: false }, seeds: { type: "string", default: "1" } },
  allowPositionals: true,
});
const pattern = new RegExp(positionals[0] ?? "");

function judge(example: Example, seed: number): Promise<Report> {
  if (example.side === "receiver") return judgeReceiverExample(example, seed);
  return judgeClientExample(example, seed);
}

/** The seed of what README.md says. */
const published = 1;
const count = Number(values.seeds);
if (!Number.isInteger(count) || count < 1) throw new Error("--seeds must be a whole number from 1");
const seeds = Array.from({ length: count }, (_, index) => published + index);
const reports = new Map<string, Report>();
const naiveFailures = new Map<string, string>();
for (const example of examples.filter(({ file }) => pattern.test(file))) {
  const { file, toolchain } = example;
  if (isMissing(example)) {
    console.error(`${file}: not certified without ${toolchain.name}. What README.md says about it is left as it is.`);
    continue;
  }
  for (const seed of seeds) {
    const report = await judge(example, seed);
    if (seed === published) reports.set(file, report);
    console.log(`${file}${seeds.length > 1 ? `, seed ${seed}` : ""}: ${report.verdict}. ${report.summary}`);
  }
  if (!naiveVersions[file] || seeds.length > 1) continue;
  const failures = failuresOf(await withNaive(example, (naive) => judge(naive, published)));
  if (failures.length === 0) throw new Error(`The naive version of ${file} fails nothing.`);
  naiveFailures.set(file, failures.join(", "));
  console.log(`${file}, naive version: fails ${failures.join(", ")}`);
}
if (seeds.length > 1) process.exit();

const committed = await readFile(readme, "utf8");
const columns = readColumns(committed);
for (const [file, report] of reports) columns.set(file, columnOf(report));
const naive = reports.get("clients/naive.mjs");
const doubles = naive ? violations(naive, "client.pays-once") : /more than once in (\d+) scenarios/.exec(committed)![1];
const listOf = (side: Example["side"]) =>
  examples
    .filter((example) => example.side === side)
    .map(({ file, about }) => `- [${file.split("/").at(-1)}](${file}): ${about}`)
    .join("\n");
const text = `# Examples

Programs to start from, and to learn from. \`npm run certify:examples\` certifies each of them and writes this page.
It needs Python with Django, Go, Java and PHP with SQLite (Debian: \`python3-django golang-go openjdk-17-jdk-headless php-cli php-sqlite3\`). If a language is missing, it names
the programs that it did not certify, and keeps their results on this page.

## Clients

${listOf("client")}

A ✗ is a violation in at least one of the ${clientScenarios.length} scenarios of \`certify client\`, in brackets if the requirement is
not a must.

${tableOf("client", columns)}

With seed ${published}, the naive client paid entries more than once in ${doubles} scenarios.

## Receivers

${listOf("receiver")}

The receivers in Node share a database in [bookings.ts](receivers/bookings.ts). [outage.mjs](receivers/outage.mjs) makes the
bookings of each receiver fail, for \`--outage-command\`. A ✗ is a violation in at least one of the ${receiverScenarios.length} scenarios of \`certify receiver\`.

${tableOf("receiver", columns)}

The naive receiver books an event twice when it arrives twice at once or after a restart, loses what arrives while its
database is locked, and tells every stranger the signature that it expected.

## What a naive version fails

A naive version is a certified example in which one place is as people often write it; [naive.ts](naive.ts) has the
places. These are the results with seed ${published}. With another seed, or on another machine, more can fail. A requirement in brackets is
not a must.

${naiveTable(new Map([...readNaive(committed), ...naiveFailures]))}
`;
const { code: formatted } = await format("README.md", text, { printWidth: 120 });
/**
 * The rows of verdicts: numbers of scenarios may differ between runs, verdicts may not. What a naive version fails besides
 * its own fault can depend on a moment, such as of a kill.
 */
const rowsOf = (page: string) => page.split("\n").filter((line) => /^\| (?!\[)/.test(line));
if (!values.check) await writeFile(readme, formatted);
else if (rowsOf(committed).join("\n") !== rowsOf(formatted).join("\n")) {
  console.error("conformance/examples/README.md is out of date. Run npm run certify:examples.");
  process.exitCode = 1;
}
