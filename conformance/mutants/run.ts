// npm run mutants tries the mutants of the reference server that matrix.tsv does not list yet, and adds them to it. A run
// that was interrupted therefore continues where it stopped. Options:
//   --all           start over: try every mutant
//   --survivors     try those again that survived, for example after the suite has got new checks
//   --only PATTERN  try only mutants in files that match this regular expression
//   --minutes N     stop after N minutes
import { parseArgs } from "node:util";
import { tryAll, type Row } from "./campaign.ts";
import { readMatrix, writeMatrix } from "./matrix.ts";
import { allMutants } from "./mutants.ts";
import { createOrder } from "./order.ts";
import { createPool } from "./pool.ts";

const { values } = parseArgs({
  options: {
    all: { type: "boolean", default: false },
    survivors: { type: "boolean", default: false },
    only: { type: "string", default: "" },
    minutes: { type: "string", default: "600" },
  },
});
const pattern = new RegExp(values.only);
const start = performance.now();
const seconds = () => Math.round((performance.now() - start) / 1000);
const isAlive = ({ verdict }: Row) => verdict === "survived" || verdict === "not reached";

const mutants = allMutants();
const names = new Map(mutants.map((mutant) => [mutant.id, mutant]));
const before = values.all ? undefined : readMatrix();
const rows = new Map<string, Row>(before?.rows.filter(({ id }) => names.has(id)).map((row) => [row.id, row]));
const isWanted = (id: string) => {
  const row = rows.get(id);
  return values.survivors ? row !== undefined && isAlive(row) : row === undefined;
};
// The ids are hashes, so a run that ends early has tried a random sample.
const wanted = mutants
  .filter(({ id, file }) => pattern.test(file) && isWanted(id))
  .toSorted((a, b) => (a.id < b.id ? -1 : 1));

const pool = createPool();
const order = createOrder(await pool.measure());
for (const { id, check } of rows.values()) if (check) order.learn(names.get(id)!, check);
console.log(`${mutants.length} mutants, ${wanted.length} to try.`);

let done = 0;
const save = () => writeMatrix(mutants, rows, (before?.about.seconds ?? 0) + seconds());
await tryAll(wanted, {
  pool,
  order,
  isOver: () => seconds() > Number(values.minutes) * 60,
  record(row) {
    rows.set(row.id, row);
    done += 1;
    const { file, line, operator } = names.get(row.id)!;
    if (row.verdict === "survived") console.log(`survived: ${row.id} ${file}:${line} ${operator}`);
    if (done % 20 !== 0) return;
    save();
    console.log(`${done} of ${wanted.length} in ${seconds()} s`);
  },
});
pool.end();
save();
const alive = [...rows.values()].filter(isAlive).length;
console.log(`${rows.size} of ${mutants.length} mutants tried; ${alive} are not caught. ${seconds()} s.`);
