// npm run mutants tries the mutants of the reference server that mutants-report/matrix.tsv does not list yet, adds them
// to it, and lists those that survive without a reason in survivors.yaml. A run that was interrupted continues where it
// stopped. Exit code 1: some mutants survive without a reason. Options:
//   --all           start over: try every mutant
//   --survivors     try those again that survived, for example after the suite has got new checks
//   --only PATTERN  try only mutants in files that match this regular expression
//   --minutes N     stop after N minutes
//   --workers N     try N mutants at a time, in as many processes; most of the time a process waits
import { parseArgs } from "node:util";
import { tryAll, type Row } from "./campaign.ts";
import { readMatrix, writeMatrix } from "./matrix.ts";
import { allMutants } from "./mutants.ts";
import { createOrder } from "./order.ts";
import { createPool } from "./pool.ts";
import { stale, unexplained } from "./survivors.ts";

const { values } = parseArgs({
  options: {
    all: { type: "boolean", default: false },
    survivors: { type: "boolean", default: false },
    only: { type: "string", default: "" },
    minutes: { type: "string", default: "600" },
    workers: { type: "string", default: "4" },
  },
});
/** Returns the value of an option that must be a positive number. */
function positive(name: "minutes" | "workers"): number {
  const value = Number(values[name]);
  if (value > 0 && (name === "minutes" || Number.isInteger(value))) return value;
  console.error(`--${name} must be a positive number, not "${values[name]}".`);
  process.exit(2);
}
const [minutes, workers] = [positive("minutes"), positive("workers")];
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

const pools = Array.from({ length: workers }, createPool);
const order = createOrder(await pools[0]!.measure());
for (const { id, check } of rows.values()) if (check) order.learn(names.get(id)!, check);
console.log(`${mutants.length} mutants, ${wanted.length} to try.`);

let done = 0;
const save = () => writeMatrix(mutants, rows, (before?.about.seconds ?? 0) + seconds());
const isOver = () => seconds() > minutes * 60;
function record(row: Row) {
  rows.set(row.id, row);
  done += 1;
  const { file, line, operator } = names.get(row.id)!;
  if (row.verdict === "survived") console.log(`survived: ${row.id} ${file}:${line} ${operator}`);
  if (done % 20 !== 0) return;
  save();
  console.log(`${done} of ${wanted.length} in ${seconds()} s`);
}
await Promise.all(
  pools.map(async (pool, worker) => {
    const share = wanted.filter((_, index) => index % pools.length === worker);
    await tryAll(share, { pool, order, record, isOver, isRepeat: values.survivors });
    pool.end();
  }),
);
save();
const entries = readMatrix()!.rows;
const alive = entries.filter(isAlive).length;
console.log(`${rows.size} of ${mutants.length} mutants tried; ${alive} are not caught. ${seconds()} s.`);
const surprising = unexplained(entries);
for (const { id, file, where, change } of surprising)
  console.log(`survives without a reason: ${id} ${file} ${where}: ${change}`);
for (const id of stale(entries, names)) console.log(`survivors.yaml has a reason for ${id}, which is caught or gone`);
process.exitCode = surprising.length > 0 ? 1 : 0;
