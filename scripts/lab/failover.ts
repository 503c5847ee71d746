import { setTimeout as sleep } from "node:timers/promises";
import { seededRandom } from "../../server/testing/random.ts";
import { audit } from "./audit.ts";
import { postgresDatabase } from "./database.ts";
import { startLoad } from "./payments.ts";
import { startPair } from "./standby.ts";
import { judged, withWorld, type RunOptions } from "./world.ts";

/** The longest time from a confirmed commit until its response arrives, in milliseconds. */
const UNDER_WAY_MS = 1_000;

interface FailoverOptions extends RunOptions {
  /** How long to create payments before the failover, and after it, in milliseconds. */
  loadMs: number;
  /** How long the standby is frozen, in milliseconds. */
  frozenMs: number;
  /** How soon after the promotion a payment must be acknowledged, in milliseconds. */
  backMs: number;
}

/**
 * Freezes a synchronous standby, kills its primary under load, and promotes the standby behind the same address. A
 * payment that is acknowledged while the frozen standby cannot confirm it would be lost with the primary. Returns the
 * violations found.
 */
export const runFailover = (options: FailoverOptions): Promise<string[]> =>
  judged(options, async (violate) => {
    const { seed, print, loadMs, frozenMs, backMs } = options;
    const pair = await startPair();
    const database = postgresDatabase(pair);
    await withWorld({ ...options, database, processes: 2, violate }, async (world) => {
      const { payments } = world;
      const stopLoad = startLoad(payments, seededRandom(seed + 2));
      await sleep(loadMs);

      print(`${payments.acknowledged()} payments acknowledged with the standby`);
      pair.freezeStandby();
      await sleep(UNDER_WAY_MS);
      const before = payments.acknowledged();
      await sleep(frozenMs);
      const unconfirmed = payments.acknowledged() - before;
      if (unconfirmed > 0) violate(`${unconfirmed} payments were acknowledged without the standby`);
      pair.killPrimary();
      const killed = performance.now();
      await pair.promote();
      const promoted = performance.now();
      await payments.payout();
      const tookMs = performance.now() - promoted;
      if (tookMs > backMs) violate(`the service was back after ${tookMs.toFixed(0)} ms`);
      print(`promoted ${(promoted - killed).toFixed(0)} ms after the kill, back ${tookMs.toFixed(0)} ms later`);

      await sleep(loadMs);
      await stopLoad();
      print(await audit(world));
    });
  });
