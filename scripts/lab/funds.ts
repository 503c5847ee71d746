import { setTimeout as sleep } from "node:timers/promises";
import { aPayout } from "../../server/testing/http.ts";
import { runCommand } from "../../server/testing/process.ts";
import { seededRandom } from "../../server/testing/random.ts";
import type { Storage } from "./database.ts";
import { inParallel, inWorld, type RunOptions, type World } from "./world.ts";

const PROCESSES: Record<Storage, number> = { postgres: 4, sqlite: 1 };
const CALLERS = 64;
/** The kills come after equal numbers of responses, so that a slow machine has as many kills as a fast machine. */
const KILLS_IN_A_RACE = 3;
/** A payout of 100 costs 101: the fee is one per cent. */
const [AMOUNT, COST] = [100, 101];

interface FundsOptions extends RunOptions {
  storage: Storage;
  payouts: number;
}

/**
 * Sends payouts from 64 callers to all processes, which are killed meanwhile. First a balance, then a key's daily
 * limit, permits exactly half of the payouts. A caller repeats a request that got no response. Returns the violations.
 */
export function runFunds(options: FundsOptions): Promise<string[]> {
  const env = { BALANCES: "enforced", REQUEST_LOG: "off" };
  const { storage: database } = options;
  return inWorld({ ...options, database, processes: PROCESSES[database], env }, (world) =>
    raceForFunds(world, options),
  );
}

async function raceForFunds(world: World, { payouts, seed, print }: FundsOptions) {
  const random = seededRandom(seed);
  const half = payouts / 2;

  const command = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCommand({ DATABASE_URL: world.database.url }, ...args);
    if (code !== 0) throw new Error(`${args.join(" ")}: ${stdout}${stderr}`);
    return stdout;
  };

  /** Sends a payout until it gets a response. A 409 to a repetition means that an earlier request was recorded. */
  async function pay(reference: string): Promise<string> {
    for (;;) {
      const body = aPayout({ reference, amount: AMOUNT });
      const response = await world.caller.send("POST", "/v1/disbursements", { body });
      if (response && response.status < 500)
        return [200, 409].includes(response.status) ? "accepted" : `${response.status} ${response.body.code}`;
      await sleep(250);
    }
  }

  /** Sends all payouts, and expects that half are accepted. */
  async function race(what: string, prefix: string, refusal: string) {
    const counts: Record<string, number> = {};
    let ended = 0;
    let killing = Promise.resolve();
    await inParallel(Array(payouts).keys(), CALLERS, async (index) => {
      const result = await pay(`${prefix}-${index}`);
      counts[result] = (counts[result] ?? 0) + 1;
      ended += 1;
      if (ended < payouts && ended % Math.ceil(payouts / (KILLS_IN_A_RACE + 1)) === 0)
        killing = killing.then(() => random.pick(world.servers).crash());
    });
    await killing;
    const found = Object.entries(counts).map(([result, count]) => `${count} ${result}`);
    print(`${what}, ${payouts} payouts: ${found.join(", ")}`);
    if (found.length !== 2 || counts.accepted !== half || counts[`422 ${refusal}`] !== half)
      world.violate(`${what} for ${half} payouts: ${found.join(", ")}`);
  }

  const [, merchant] = / id: (\S+), name: Sandbox Merchant/.exec(await command("keys", "merchants"))!;
  const topUp = (amount: number) =>
    command("balances", "top-up", merchant!, String(amount), "XOF", "--reason", "The lab");
  await topUp(half * COST);
  await race("a balance", "funds", "insufficient_funds");
  await topUp(payouts * COST);
  const [, key] = / id: (\S+),/.exec(await command("keys", "list"))!;
  // A race that crosses midnight gets the limits of two days, so it is repeated.
  for (let day = -1, round = 0; day !== new Date().getUTCDate(); round += 1) {
    day = new Date().getUTCDate();
    await command("keys", "limit", key!, "--per-day", `XOF:${half * AMOUNT}`);
    await race("a limit of the day", `day-${round}`, "limit_exceeded");
  }
}
