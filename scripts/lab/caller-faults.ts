// Faults of the service's callers, and of the receivers of its webhooks. A new fault is an entry here.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Behaviour } from "./receiver.ts";
import { restart } from "./server-faults.ts";
import type { Fault, World } from "./world.ts";

/** More than the server's limit of open files allows. */
const IDLE_SOCKETS = 700;
const SLOW_BODIES = 100;
/** The server closes a request that takes longer. */
const REQUEST_TIMEOUT_S = 35;

async function connections({ server }: World, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let opened = 0; opened < count; opened += 1) {
    const socket = connect(server.port, "127.0.0.1").on("error", () => undefined);
    sockets.push(socket);
    await Promise.race([once(socket, "connect"), once(socket, "close")]).catch(() => undefined);
  }
  return sockets;
}

/** Begins creates whose bodies never end. */
async function slowBodies(world: World): Promise<Socket[]> {
  const sockets = await connections(world, SLOW_BODIES);
  const head = `POST /v1/disbursements HTTP/1.1\r\nhost: a\r\nx-api-key: ${world.key}\r\n`;
  for (const socket of sockets) {
    socket.resume().write(`${head}content-type: application/json\r\ncontent-length: 200\r\n\r\n{`);
  }
  return sockets;
}

/** Makes the receiver hostile for a while. */
const hostileReceiver = (behaviour: Behaviour): Fault => ({
  name: `receiver: ${behaviour}`,
  harmless: true,
  async run({ receiver, violate }, random) {
    const lastedMs = 2_000 + random.below(4_000);
    receiver.behave(behaviour);
    await sleep(lastedMs);
    const treated = receiver.behave("healthy");
    if (treated === 0) violate(`no webhook was sent to a receiver that is ${behaviour}`);
    return `${treated} webhooks in ${lastedMs} ms`;
  },
});

export const CALLER_FAULTS: readonly Fault[] = [
  {
    name: "idle sockets",
    harmless: true,
    async run(world, random) {
      const sockets = await connections(world, IDLE_SOCKETS);
      await sleep(1_000 + random.below(2_000));
      const open = sockets.filter(({ destroyed }) => !destroyed).length;
      for (const socket of sockets) socket.destroy();
      if (open === IDLE_SOCKETS) world.violate("idle sockets did not reach the limit of connections");
      return `${IDLE_SOCKETS} opened, ${open} left open`;
    },
  },
  {
    name: "slow bodies",
    harmless: true,
    async run(world, random) {
      const sockets = await slowBodies(world);
      const seconds = random.pick([1, 2, 4, REQUEST_TIMEOUT_S]);
      for (let second = 0; second < seconds; second += 1) {
        await sleep(1_000);
        for (const socket of sockets) if (!socket.destroyed) socket.write(" ");
      }
      const open = sockets.filter(({ destroyed }) => !destroyed).length;
      if (seconds === REQUEST_TIMEOUT_S && open > 0) world.violate(`${open} slow bodies are open after ${seconds} s`);
      for (const socket of sockets) socket.destroy();
      return `${SLOW_BODIES} for ${seconds} s, ${open} left open`;
    },
  },
  {
    name: "wrong keys",
    harmless: true,
    async run({ caller, violate }) {
      const statuses = new Map<unknown, number>();
      const attempt = async () => {
        for (let count = 0; count < 50; count += 1) {
          const { status } = (await caller.send("GET", "/v1/disbursements", { key: "no-such-key" })) ?? {};
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      };
      await Promise.all(Array.from({ length: 10 }, attempt));
      for (const status of statuses.keys()) if (status !== 401 && status !== 429) violate(`a wrong key got ${status}`);
      if (!statuses.has(429)) violate("500 wrong keys were not limited");
      return [...statuses].map(([status, count]) => `${count} × ${status}`).join(", ");
    },
  },
  {
    name: "SIGTERM with unfinished work",
    async run(world) {
      const sockets = await slowBodies(world);
      world.receiver.behave("silent");
      await sleep(1_500);
      const detail = await restart(world);
      for (const socket of sockets) socket.destroy();
      world.receiver.behave("healthy");
      return detail;
    },
  },
  ...(["failing", "silent", "reset", "flood", "drip", "endless"] as const).map(hostileReceiver),
];
