// 80 % of the load that a server on SQLite can carry, with webhooks; then 1,000 clients that send their requests slowly.
// Memory, handles and latency must stay flat. Needs an idle machine, because it compares latencies.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import { API_KEY, atRate, load, payout, quantile, sender, sorted } from "../bench/load.ts";
import { arrivals, startReceiver, startServer, type Target } from "../bench/target.ts";
import { DATABASES } from "./database.ts";
import { judged, type RunOptions, type Violate } from "./world.ts";

const SHARE = 0.8;
const PROBE = 20_000;
const SLOW = { senders: 1_000, perSecond: 200, seconds: 40 };
/** This is longer than a connection without requests stays open. */
const REST_S = 70;
/** The criteria. Memory is judged in the second half, when caches are full. */
const MOST = { growthMbPerMinute: 3, latencyRatio: 1.5, slowRatio: 2 };

const HEAD = `POST /v1/disbursements HTTP/1.1\r\nhost: x\r\nx-api-key: ${API_KEY}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n`;

const p99 = (latencies: readonly number[]) => quantile(sorted(latencies), 0.99);

interface Sample {
  minutes: number;
  megabytes: number;
}

/** The growth of memory in MB per minute: the slope of the line that fits these samples best. */
function growth(samples: readonly Sample[]): number {
  const mean = (of: (sample: Sample) => number) => samples.reduce((sum, each) => sum + of(each), 0) / samples.length;
  const [minutes, megabytes] = [mean((each) => each.minutes), mean((each) => each.megabytes)];
  const covariance = mean((each) => (each.minutes - minutes) * (each.megabytes - megabytes));
  return covariance / mean((each) => (each.minutes - minutes) ** 2);
}

/** The fewest open handles while the server gets no requests, after idle connections have been closed. */
async function handlesAtRest(server: Target): Promise<number> {
  let least = Infinity;
  for (let second = 0; second < REST_S; second += 1) {
    await sleep(1_000);
    least = Math.min(least, server.handles());
  }
  return least;
}

/** Opens connections that each send one byte of a request's body per second, with a valid key. */
async function startSlowSenders({ url }: Target) {
  const { hostname, port } = new URL(url);
  let refused = 0;
  const sockets: Socket[] = [];
  for (let count = 0; count < SLOW.senders; count += 1) {
    const socket = connect(Number(port), hostname).on("error", () => undefined);
    socket.on("data", (chunk) => (refused += Number(String(chunk).startsWith("HTTP/1.1 408 "))));
    await once(socket, "connect");
    socket.write(HEAD);
    sockets.push(socket);
  }
  // Real senders do not send at the same moments, so each hundredth of the sockets has its own.
  let tick = 0;
  const timer = setInterval(() => {
    tick += 1;
    for (let index = tick % 100; index < sockets.length; index += 100)
      if (sockets[index]!.writable) sockets[index]!.write(" ");
  }, 10);
  return {
    refused: () => refused,
    stop() {
      clearInterval(timer);
      for (const socket of sockets) socket.destroy();
    },
  };
}

type SoakOptions = Pick<RunOptions, "print"> & { minutes: number };

/** Runs the load. Returns what did not stay flat. */
export const runSoak = (options: SoakOptions): Promise<string[]> =>
  judged(options, (violate) => soak(options, violate));

async function soak({ minutes, print }: SoakOptions, violate: Violate): Promise<void> {
  const database = await DATABASES.sqlite();
  const env = { DATABASE_URL: database.url, SANDBOX_API_KEY: API_KEY, SETTLE_DELAY_MS: "1000" };
  const server = await startServer("server", env);
  const receiver = await startReceiver();
  const pool = new Pool(server.url, { connections: 64 });
  const limit = (what: string, value: number, most: number) =>
    value <= most ? print(`${what}: ${value.toFixed(2)}`) : violate(`${what}: ${value.toFixed(2)}, at most ${most}`);

  /** The payouts per second that the server and its webhooks can carry. */
  async function capacity(): Promise<number> {
    await load(server, PROBE, payout());
    const begun = performance.now();
    await Promise.all([load(server, PROBE, payout(receiver.url)), arrivals(receiver, PROBE)]);
    return (PROBE * 1_000) / (performance.now() - begun);
  }

  async function steadyLoad() {
    const rate = Math.floor(SHARE * (await capacity()));
    const handles = await handlesAtRest(server);
    print(`${rate} payouts with webhooks per second, for ${minutes} minutes`);
    const samples: Sample[] = [];
    const begun = performance.now();
    const sample = () =>
      samples.push({ minutes: (performance.now() - begun) / 60_000, megabytes: server.memory().now });
    const timer = setInterval(sample, 1_000);
    const count = Math.ceil(rate * minutes * 60);
    const [latencies] = await Promise.all([
      atRate(rate, minutes * 60, sender(pool, payout(receiver.url))),
      arrivals(receiver, count),
    ]);
    clearInterval(timer);
    print(`memory ${samples.at(-1)!.megabytes.toFixed(0)} MB, p99 ${p99(latencies).toFixed(1)} ms`);
    limit("growth, MB per minute", growth(samples.slice(samples.length / 2)), MOST.growthMbPerMinute);
    const third = Math.floor(latencies.length / 3);
    const ratio = p99(latencies.slice(-third)) / p99(latencies.slice(0, third));
    limit("p99 of the last third, as a multiple of the first", ratio, MOST.latencyRatio);
    limit("handles that the load left behind", (await handlesAtRest(server)) - handles, 0);
  }

  async function slowSenders() {
    const measure = async () => p99(await atRate(SLOW.perSecond, SLOW.seconds, sender(pool, payout())));
    const [without, handles] = [await measure(), await handlesAtRest(server)];
    const slow = await startSlowSenders(server);
    const beside = await measure();
    limit("p99 beside slow senders, as a multiple of that without", beside / without, MOST.slowRatio);
    limit("slow senders that were not refused with 408", SLOW.senders - slow.refused(), 0);
    slow.stop();
    limit("handles that slow senders left behind", (await handlesAtRest(server)) - handles, 0);
  }

  try {
    await steadyLoad();
    await slowSenders();
  } finally {
    await pool.close();
    await Promise.all([server.stop(), receiver.stop()]);
    await database.close();
  }
}
