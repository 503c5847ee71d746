import { execFile } from "node:child_process";
import { renameSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { aPayout } from "../../server/testing/server.ts";
import { fileOf } from "./database.ts";
import { restart } from "./processes.ts";
import type { Fault, World } from "./world.ts";

const run = promisify(execFile);

/** Checks that the storage refuses a create, which shows that the fault is in effect. */
async function expectRefusal({ caller, violate }: World, message: RegExp) {
  const response = await caller.send("POST", "/v1/disbursements", { body: aPayout() });
  const isRefused = response?.status === 503 && message.test(response.text);
  if (!isRefused) violate(`a create got ${response?.status} ${response?.text}, expected 503 ${message.source}`);
  const ready = await caller.send("GET", "/readyz");
  if (ready?.status !== 503) violate(`/readyz returned ${ready?.status} while the storage did not work`);
}

/** Holds the write lock as another program would. The returned function releases it. */
function lockWrites({ database }: World): () => void {
  const other = new DatabaseSync(fileOf(database));
  other.exec("PRAGMA busy_timeout = 5000");
  other.exec("BEGIN IMMEDIATE");
  return () => {
    other.exec("ROLLBACK");
    other.close();
  };
}

/**
 * Limits the size of the server's files: writes beyond the first page of any file fail. Only the soft limit changes, so
 * that it can be raised again without root.
 */
const limitFiles = ({ server }: World, bytes: string) =>
  run("prlimit", ["--pid", String(server.pid()), `--fsize=${bytes}:`]);

export const STORAGE_FAULTS: Fault[] = [
  {
    name: "write lock",
    async run(world, random) {
      const heldMs = 1_000 + random.below(7_000);
      const release = lockWrites(world);
      await sleep(heldMs / 2);
      const begun = performance.now();
      await world.caller.send("GET", "/healthz");
      const aliveMs = performance.now() - begun;
      if (aliveMs > 2_000) world.violate(`/healthz took ${aliveMs.toFixed(0)} ms during a write lock`);
      await sleep(heldMs / 2);
      release();
      return `held for ${heldMs} ms, /healthz took ${aliveMs.toFixed(0)} ms`;
    },
  },
  {
    name: "SIGTERM during a write lock",
    async run(world) {
      const release = lockWrites(world);
      await sleep(500);
      const tookMs = await world.server.stop([0, 1]);
      release();
      world.server.launch();
      return `stopped in ${tookMs.toFixed(0)} ms`;
    },
  },
  {
    name: "full disk",
    async run(world, random) {
      const lastedMs = 500 + random.below(4_000);
      await limitFiles(world, "4096");
      await expectRefusal(world, /storage cannot be written/);
      await sleep(lastedMs);
      await limitFiles(world, "unlimited");
      return `for ${lastedMs} ms`;
    },
  },
  {
    name: "SIGTERM or kill -9 on a full disk",
    async run(world, random) {
      await limitFiles(world, "4096");
      await expectRefusal(world, /storage cannot be written/);
      if (random.below(2) === 0) return restart(world);
      await world.server.kill();
      world.server.launch();
      return "killed";
    },
  },
  {
    name: "database moved away and back",
    async run(world, random) {
      const file = fileOf(world.database);
      const lastedMs = random.below(3_000);
      renameSync(file, `${file}.moved`);
      await expectRefusal(world, /deleted or replaced/);
      await sleep(lastedMs);
      renameSync(`${file}.moved`, file);
      return `for ${lastedMs} ms, ${await restart(world)}`;
    },
  },
];
