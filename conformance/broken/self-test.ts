// npm run certify:self-test [-- PATTERN] checks that the suite catches every broken server and certifies every sound
// server. PATTERN is a regular expression that selects servers by id; `^model-` selects the model,
// `^client-` the clients, `^receiver-` the receivers, `^tools-` the servers of tools. With --classes it shows, for each fault with `onlyBy`, that only
// these requirements catch it. With --seeds N it runs the suite N times against each server, each time with another
// seed. Exit codes: 0 success, 1 failure, 2 nothing selected.
import { Worker } from "node:worker_threads";
import { parseArgs } from "node:util";
import { classTasks, nameOf, tasks, type Row, type Task } from "./tasks.ts";

const workers = 2;

const line = (row: Row) => `${row.ok ? "ok  " : "FAIL"} ${nameOf(row)} (${row.ms} ms): ${row.text}`;

/** Runs tasks in a worker thread and resolves with their rows. */
const work = (share: Task[]): Promise<Row[]> =>
  new Promise((resolve, reject) => {
    const rows: Row[] = [];
    const worker = new Worker(new URL("worker.ts", import.meta.url), {
      workerData: share,
      // Dredd's dependencies use deprecated Node APIs, for which Node would print warnings.
      execArgv: ["--no-warnings"],
    });
    worker.on("message", (row: Row) => {
      rows.push(row);
      console.log(line(row));
    });
    worker.on("error", reject);
    worker.on("exit", () => resolve(rows));
  });

const count = (rows: readonly Row[], kind: Task["kind"]) => {
  const those = rows.filter((row) => row.kind === kind);
  return `${those.filter(({ ok }) => ok).length} of ${those.length}`;
};

const start = performance.now();
const options = { classes: { type: "boolean" }, seeds: { type: "string", default: "1" } } as const;
const { values, positionals } = parseArgs({ options, allowPositionals: true });
const pattern = new RegExp(positionals[0] ?? "");
const all = values.classes ? classTasks(pattern) : tasks(pattern, Number(values.seeds));
const shares = Array.from({ length: workers }, (_, part) => all.filter((_task, index) => index % workers === part));
const rows = (await Promise.all(shares.map(work))).flat();
const failed = rows.filter(({ ok }) => !ok);
if (failed.length > 0) console.log(`\nFailed:\n${failed.map(line).join("\n")}`);
// A worker ends early if it waits for something that can no longer happen.
const done = new Set(rows.map(nameOf));
const missing = all.map(nameOf).filter((name) => !done.has(name));
if (missing.length > 0) console.log(`\nWithout a result:\n${missing.join("\n")}`);
const summary = values.classes
  ? `${count(rows, "class")} classes of defects were caught only by the checks written for them.`
  : `${count(rows, "broken")} broken servers were caught by the expected checks.
${count(rows, "different")} sound servers that differ where the interface is silent got the right verdict for core.
${count(rows, "crossed")} deployments with limits hid none of the faults behind them.
${count(rows, "sound")} runs against the reference server were certified for extended, without an alarm.
${count(rows, "model")} runs of the model of the service got the right verdict.
${count(rows, "bank")} runs against banks in other languages got the right verdict about races.
${count(rows, "client")} clients got the right verdict: broken ones are caught, sound ones raise no alarm.
${count(rows, "receiver")} receivers of webhooks got the right verdict in the same way.
${count(rows, "tools")} servers of tools for agents got the right verdict, and no broken one for a wrong cause.`;
console.log(`
${summary}
${Math.round((performance.now() - start) / 1000)} s`);
process.exitCode = all.length === 0 ? 2 : missing.length > 0 || failed.length > 0 ? 1 : 0;
