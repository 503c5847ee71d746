import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { aPayout } from "../../server/testing/server.ts";
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

/**
 * Limits the size of the server's files: writes beyond the first page of any file fail. Only the soft limit changes, so
 * that it can be raised again without root.
 */
const limitFiles = ({ server }: World, bytes: string) =>
  run("prlimit", ["--pid", String(server.pid()), `--fsize=${bytes}:`]);

export const STORAGE_FAULTS: Fault[] = [
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
];
