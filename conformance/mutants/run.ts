// npm run mutants [-- --minutes N] [-- --survivors] [-- --only PATTERN] tries the mutants of the reference server and
// writes matrix.tsv. A run that was interrupted continues where it stopped.
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { tryAll, type Row } from "./campaign.ts";
import { readMatrix, writeMatrix } from "./matrix.ts";
import { allMutants, sourcesHash } from "./mutants.ts";
import { createOrder } from "./order.ts";
import { createPool } from "./pool.ts";
import type { Coverage } from "./trial.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "600" },
    only: { type: "string", default: "" },
    survivors: { type: "boolean", default: false },
  },
});
const folder = fileURLToPath(new URL("../../node_modules/.cache/mutants/", import.meta.url));
const progress = `${folder}${sourcesHash().slice(0, 16)}.jsonl`;
const start = performance.now();
const seconds = () => Math.round((performance.now() - start) / 1000);

mkdirSync(folder, { recursive: true });
const mutants = allMutants();
const before = values.survivors ? readMatrix().rows : [];
const rows = new Map<string, Row>(
  before.filter(({ verdict }) => verdict === "caught" || verdict === "stopped").map((row) => [row.id, row]),
);
if (existsSync(progress) && !values.survivors) {
  for (const line of readFileSync(progress, "utf8").split("\n").filter(Boolean)) {
    const row = JSON.parse(line) as Row;
    rows.set(row.id, row);
  }
}

const pool = createPool();
const coverageFile = `${folder}coverage.json`;
const coverage = await (async (): Promise<Coverage> => {
  if (existsSync(coverageFile) && existsSync(progress))
    return JSON.parse(readFileSync(coverageFile, "utf8")) as Coverage;
  const measured = await pool.measure();
  writeFileSync(coverageFile, JSON.stringify(measured));
  return measured;
})();
const order = createOrder(coverage);
const pattern = new RegExp(values.only);
// The ids are hashes, so that a run that is ended early has tried a random sample.
const wanted = mutants.filter((mutant) => pattern.test(mutant.file)).toSorted((a, b) => (a.id < b.id ? -1 : 1));
for (const mutant of wanted) {
  const { check } = rows.get(mutant.id) ?? {};
  if (check) order.learn(mutant, check);
}
const todo = wanted.filter(({ id }) => !rows.has(id));
let done = 0;
console.log(`${mutants.length} mutants, ${todo.length} to try; ${coverage.checks.length} checks.`);

await tryAll(todo, {
  pool,
  order,
  isOver: () => seconds() > Number(values.minutes) * 60,
  record(row) {
    rows.set(row.id, row);
    appendFileSync(progress, `${JSON.stringify(row)}\n`);
    done += 1;
    if (row.verdict === "survived" || row.verdict === "warned" || done % 25 === 0) {
      const mutant = mutants.find(({ id }) => id === row.id)!;
      console.log(
        `${done}/${todo.length} ${seconds()} s: ${row.verdict} ${row.id} ${mutant.file}:${mutant.line} ${mutant.operator} ${row.by.join(" ")}`,
      );
    }
  },
});
pool.end();
writeMatrix(mutants, rows, { seconds: seconds() });
const left = wanted.filter(({ id }) => !rows.has(id)).length;
if (left === 0) rmSync(progress, { force: true });
console.log(
  `${wanted.length - left} of ${wanted.length} mutants tried in ${seconds()} s. See conformance/mutants/matrix.tsv.`,
);
