// The faults of `npm run lab -- random`: of a server on SQLite, of its files, of its callers and of its receivers.
import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { aPayout, fillLog } from "../../server/testing/http.ts";
import type { Behaviour } from "./receiver.ts";
import { openSockets, startSlowSenders, stillOpen } from "./slow-senders.ts";
import { inParallel, type Fault, type World } from "./world.ts";

/** More than the server's limit of open files allows. */
const IDLE_SOCKETS = 700;
const SLOW_BODIES = 100;
/** The server closes a request that takes longer. */
const REQUEST_TIMEOUT_S = 35;

/** Stops the server and starts it again. */
async function restart({ server }: World): Promise<string> {
  const tookMs = await server.stop();
  server.launch();
  return `stopped in ${tookMs.toFixed(0)} ms`;
}

async function kill({ server }: World): Promise<string> {
  await server.kill();
  server.launch();
  return "killed";
}

/** Only the soft limit of the size of files changes, so that it can be raised again without root. */
const limitFiles = ({ server }: World, bytes: string) =>
  execFileSync("prlimit", ["--pid", String(server.pid()), `--fsize=${bytes}:`]);

/** Lets writes beyond the first page of any file fail, and checks that the storage then refuses a create. */
async function fillDisk(world: World) {
  const { caller, violate } = world;
  limitFiles(world, "4096");
  const response = await caller.send("POST", "/v1/disbursements", { body: aPayout() });
  const isRefused = response?.status === 503 && response.text.includes("storage cannot be written");
  if (!isRefused) violate(`a create on a full disk got ${response?.status} ${response?.text}`);
  const ready = await caller.send("GET", "/readyz");
  if (ready?.status !== 503) violate(`/readyz returned ${ready?.status} on a full disk`);
}

function emptyDisk(world: World): string {
  limitFiles(world, "unlimited");
  return "emptied";
}

const senders = ({ server, key }: World) => startSlowSenders({ port: server.port, key }, SLOW_BODIES);

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

export const RANDOM_FAULTS: readonly Fault[] = [
  {
    name: "kill -9, up to three times",
    async run(world, random) {
      const times = 1 + random.below(3);
      for (let count = 0; count < times; count += 1) {
        await sleep(random.below(1_500));
        await kill(world);
      }
      return `${times} times`;
    },
  },
  { name: "SIGTERM", run: restart },
  {
    name: "SIGTERM with unfinished work",
    async run(world) {
      const slow = await senders(world);
      world.receiver.behave("silent");
      await sleep(1_500);
      const detail = await restart(world);
      slow.stop();
      world.receiver.behave("healthy");
      return detail;
    },
  },
  {
    name: "stalled log reader",
    harmless: true,
    async run(world, random) {
      const log = world.server.log();
      log.pause();
      await fillLog(world.server.port);
      if (random.below(2) === 0) return restart(world);
      log.resume();
      return "resumed";
    },
  },
  {
    name: "vanished log reader",
    harmless: true,
    async run(world) {
      world.server.log().destroy();
      await fillLog(world.server.port);
      return restart(world);
    },
  },
  {
    name: "full disk",
    async run(world, random) {
      await fillDisk(world);
      await sleep(random.below(4_500));
      return random.pick([emptyDisk, restart, kill])(world);
    },
  },
  {
    name: "idle sockets",
    harmless: true,
    async run({ server, violate }, random) {
      const sockets = await openSockets(server.port, IDLE_SOCKETS);
      await sleep(1_000 + random.below(2_000));
      const open = stillOpen(sockets);
      for (const socket of sockets) socket.destroy();
      if (open === IDLE_SOCKETS) violate("idle sockets did not reach the limit of connections");
      return `${IDLE_SOCKETS} opened, ${open} left open`;
    },
  },
  {
    name: "slow bodies",
    harmless: true,
    async run(world, random) {
      const slow = await senders(world);
      const seconds = random.pick([1, 2, 4, REQUEST_TIMEOUT_S]);
      await sleep(seconds * 1_000);
      const open = slow.open();
      slow.stop();
      if (seconds === REQUEST_TIMEOUT_S && open > 0) world.violate(`${open} slow bodies are open after ${seconds} s`);
      return `${SLOW_BODIES} for ${seconds} s, ${open} left open`;
    },
  },
  {
    name: "wrong keys",
    harmless: true,
    async run({ caller, violate }) {
      const statuses: Record<string, number> = {};
      const jobs = Array.from({ length: 500 }, () => "no-such-key");
      await inParallel(jobs, 10, async (key) => {
        const { status = 0 } = (await caller.send("GET", "/v1/disbursements", { key })) ?? {};
        statuses[status] = (statuses[status] ?? 0) + 1;
      });
      const { 401: refused = 0, 429: limited = 0 } = statuses;
      if (limited === 0 || refused + limited < jobs.length) violate(`wrong keys got ${JSON.stringify(statuses)}`);
      return `${refused} × 401, ${limited} × 429`;
    },
  },
  ...(["failing", "silent", "reset", "flood", "drip", "endless"] as const).map(hostileReceiver),
];
