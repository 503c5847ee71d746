// Compares creates and verifies with a handler that does nothing and with Prism. Compare the ratios; absolute figures
// depend on the machine. Usage: node scripts/bench/requests.ts [ROUNDS]
import { fileURLToPath } from "node:url";
import { DATABASES } from "../lab/database.ts";
import { load, median, medianRatio, oneReference, payout, verify, type Measured } from "./load.ts";
import { startServer, startTarget, type Target } from "./target.ts";

// Many short rounds: the speed of a machine can change by a third within a minute.
const ROUNDS = Number(process.argv[2] ?? 20);
const REQUESTS = { fast: 5_000, prism: 500 };
const KINDS = ["create", "verify"] as const;

const path = (file: string) => fileURLToPath(new URL(`../../${file}`, import.meta.url));

async function subjectOf(target: Target) {
  const [create, verifies]: Measured[][] = [[], []];
  return { target, reference: await oneReference(target), create: create!, verify: verifies! };
}

const database = await DATABASES.sqlite();
const server = await subjectOf(await startServer(database));
const baseline = await subjectOf(await startTarget("handler that does nothing", [path("scripts/bench/baseline.ts")]));
const mock = "mock generated/openapi.json --host 127.0.0.1 --port 4011".split(" ");
const prism = await subjectOf(
  await startTarget("Prism", [path("node_modules/@stoplight/prism-cli/dist/index.js"), ...mock]),
);
const subjects = [server, baseline, prism];

for (let round = 0; round <= ROUNDS; round += 1) {
  for (const { target, reference, ...measured } of round % 2 === 0 ? subjects : subjects.toReversed()) {
    const requests = target === prism.target ? REQUESTS.prism : REQUESTS.fast;
    const create = await load(target, requests, payout());
    const verified = await load(target, requests, verify(reference));
    if (round === 0) continue; // The warm-up.
    measured.create.push(create);
    measured.verify.push(verified);
  }
}
await Promise.all(subjects.map(({ target }) => target.stop()));
await database.close();

console.log(`Median of ${ROUNDS} rounds of ${REQUESTS.fast} requests (Prism ${REQUESTS.prism}) over 64 connections.`);
for (const kind of KINDS) {
  const rows = subjects.map((subject) => {
    const { perSecond, cpuPerRequest } = median(subject[kind]);
    return {
      [kind]: subject.target.name,
      "per second": Math.round(perSecond),
      "CPU µs": Number(cpuPerRequest.toFixed(1)),
      "CPU ratio": Number(medianRatio(subject[kind], baseline[kind], "cpuPerRequest").toFixed(2)),
      "throughput of Prism": Number(medianRatio(subject[kind], prism[kind], "perSecond").toFixed(1)),
    };
  });
  console.table(rows);
}
