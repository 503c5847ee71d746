import { setTimeout as sleep } from "node:timers/promises";
import { fillLog } from "../../server/testing/http.ts";
import type { Fault, World } from "./world.ts";

/** Stops the server and starts it again. Returns how long stopping took, for people. */
export async function restart({ server }: World): Promise<string> {
  const tookMs = await server.stop();
  server.launch();
  return `stopped in ${tookMs.toFixed(0)} ms`;
}

export const PROCESS_FAULTS: Fault[] = [
  {
    name: "kill -9",
    async run({ server }, random) {
      const times = 1 + random.below(3);
      for (let count = 0; count < times; count += 1) {
        if (count > 0) await sleep(random.below(1_500));
        await server.kill();
        server.launch();
      }
      return `${times} times`;
    },
  },
  { name: "SIGTERM", run: restart },
  {
    name: "stalled log reader",
    harmless: true,
    async run(world, random) {
      const output = world.server.output();
      output.pause();
      await fillLog(world.server.port);
      if (random.below(2) === 0) return restart(world);
      output.resume();
      return "resumed";
    },
  },
  {
    name: "vanished log reader",
    harmless: true,
    async run(world) {
      world.server.output().destroy();
      await fillLog(world.server.port);
      return restart(world);
    },
  },
];
