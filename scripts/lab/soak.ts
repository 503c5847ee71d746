// 80 % of the load that a server on SQLite can carry, with webhooks; then 1,000 clients that send their requests slowly.
// Memory, handles and latency must stay flat. Needs an idle machine, because it compares latencies.
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import { atRate, load, payout, quantile, sender } from "../bench/load.ts";
import { API_KEY, arrivals, withServer, type Target } from "../bench/target.ts";
import { startSlowSenders } from "./slow-senders.ts";
import { judged, type RunOptions } from "./world.ts";

const SHARE = 0.8;
const PROBE = 20_000;
/** The slow senders, and the load beside which they send. */
const SLOW = { senders: 1_000, perSecond: 200, seconds: 40 };
/** This is longer than a connection without requests stays open. */
const REST_S = 70;
/** The criteria. Memory is judged in the second half, when caches are full. */
const MOST = { growthMbPerMinute: 3, latencyRatio: 1.5, slowRatio: 2 };

const p99 = (latencies: readonly number[]) => quantile(latencies, 0.99);

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

/** Runs the load. Returns what did not stay flat. */
export const runSoak = (options: RunOptions & { minutes: number }): Promise<string[]> =>
  judged(options, (violate) =>
    withServer({ SETTLE_DELAY_MS: "1000" }, async (server, receiver) => {
      const { minutes, print } = options;
      const pool = new Pool(server.url, { connections: 64 });
      const limit = (what: string, value: number, most: number) =>
        value <= most
          ? print(`${what}: ${value.toFixed(2)}`)
          : violate(`${what}: ${value.toFixed(2)}, at most ${most}`);

      async function steadyLoad() {
        await load(server, PROBE, payout());
        const probed = performance.now();
        await Promise.all([load(server, PROBE, payout(receiver.url)), arrivals(receiver, PROBE)]);
        const rate = Math.floor((SHARE * PROBE * 1_000) / (performance.now() - probed));
        const handles = await handlesAtRest(server);

        print(`${rate} payouts with webhooks per second, for ${minutes} minutes`);
        const samples: Sample[] = [];
        const begun = performance.now();
        const timer = setInterval(
          () => samples.push({ minutes: (performance.now() - begun) / 60_000, megabytes: server.memory().now }),
          1_000,
        );
        const [latencies] = await Promise.all([
          atRate(rate, minutes * 60, sender(pool, payout(receiver.url))),
          arrivals(receiver, Math.ceil(rate * minutes * 60)),
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
        const [alone, handles] = [await measure(), await handlesAtRest(server)];
        const slow = await startSlowSenders({ port: Number(new URL(server.url).port), key: API_KEY }, SLOW.senders);
        const beside = await measure();
        print(`p99 ${alone.toFixed(1)} ms alone, ${beside.toFixed(1)} ms beside ${SLOW.senders} slow senders`);
        limit("p99 beside slow senders, as a multiple of that alone", beside / alone, MOST.slowRatio);
        limit("slow senders that were not refused with 408", SLOW.senders - slow.refused(), 0);
        slow.stop();
        limit("handles that slow senders left behind", (await handlesAtRest(server)) - handles, 0);
      }

      await steadyLoad();
      await slowSenders();
      await pool.close();
    }),
  );
