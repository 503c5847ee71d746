import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { runCommand, startProcess, type ServerProcess } from "../../server/testing/process.ts";
import { reservePort } from "../../conformance/target/reserve-port.ts";
import { seededRandom } from "../../server/testing/random.ts";
import { DATABASES, type Storage } from "./database.ts";
import { violationsOf } from "./world.ts";

const KEY = "a-key-for-payouts-with-funds";
const PROCESSES: Record<Storage, number> = { postgres: 4, sqlite: 1 };
const CALLERS = 64;
/**
 * The number of kills in each of the two races. They come after equal numbers of responses, so that a slow machine has
 * as many kills as a fast machine.
 */
const KILLS = 3;
/** A payout of 100 costs 101: the fee is one per cent. */
const [AMOUNT, COST] = [100, 101];

export interface FundsOptions {
  storage: Storage;
  /** The limits permit half of these payouts. */
  payouts: number;
  seed: number;
  print(line: string): void;
}

interface Answer {
  status: number;
  code?: string;
}

/**
 * Sends payouts from 64 callers to all processes, which are killed meanwhile. A balance, and then a key's limit of a
 * day, permits exactly half of the payouts. A caller repeats a request that got no response. Returns the violations.
 */
export async function runFunds({ storage, payouts, seed, print }: FundsOptions): Promise<string[]> {
  const { violations, violate } = violationsOf(print);
  const random = seededRandom(seed);
  const database = await DATABASES[storage]();
  const env = { DATABASE_URL: database.url, SANDBOX_API_KEY: KEY, BALANCES: "enforced", REQUEST_LOG: "off" };
  const agent = new Agent({ keepAlive: true });
  const running = new Map<number, ServerProcess>();
  let kills = 0;
  const launch = async (port: number) => void running.set(port, await startProcess({ ...env, PORT: String(port) }));
  const command = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCommand(env, ...args);
    if (code !== 0) throw new Error(`${args.join(" ")}: ${stdout}${stderr}`);
    return stdout;
  };
  try {
    for (let count = 0; count < PROCESSES[storage]; count += 1) await launch(await reservePort());
    const ports = [...running.keys()];
    async function killOne() {
      const port = random.pick(ports);
      running.get(port)!.kill("SIGKILL");
      await running.get(port)!.ended;
      kills += 1;
      await launch(port);
    }
    const [, merchant] = / id: (\S+), name: Sandbox Merchant/.exec(await command("keys", "merchants"))!;
    const half = payouts / 2;

    const topUp = (amount: number) =>
      command("balances", "top-up", merchant!, String(amount), "XOF", "--reason", "Faults");
    await topUp(half * COST);
    await race("a balance", "funds", "insufficient_funds");
    await topUp(payouts * COST);
    const [, key] = / id: (\S+),/.exec(await command("keys", "list"))!;
    // A race that runs over midnight has two days, and is repeated.
    for (let day = -1, round = 0; day !== new Date().getUTCDate(); round += 1) {
      day = new Date().getUTCDate();
      await command("keys", "limit", key!, "--per-day", `XOF:${half * AMOUNT}`);
      await race("a limit of the day", `day-${round}`, "limit_exceeded");
    }
    print(`${kills} kills`);
    await sleep(3_000);
    const [balance] = (JSON.parse(await command("balances", "list", "--json")) as { items: object[] }).items;
    print(`balance: ${JSON.stringify(balance)}`);
    for (const { kill, ended } of running.values()) {
      kill("SIGTERM");
      await ended;
    }
    print((await command("db", "check")).trim());

    /** Sends all payouts, and expects that half are accepted. */
    async function race(what: string, prefix: string, refusal: string) {
      const counts = new Map<string, number>();
      let [next, repeats, answered] = [0, 0, 0];
      let killing = Promise.resolve();
      const call = async () => {
        while (next < payouts) {
          const reference = `${prefix}-${(next += 1)}`;
          for (let isAnswered = false; !isAnswered;) {
            const answer = await pay(random.pick(ports), reference);
            isAnswered = answer !== undefined && answer.status < 500;
            if (!isAnswered) {
              repeats += 1;
              await sleep(250);
              continue;
            }
            // A 409 after a repetition means that the first request was recorded.
            const isAccepted = answer!.status === 200 || answer!.status === 409;
            const result = isAccepted ? "accepted" : `${answer!.status} ${answer!.code}`;
            counts.set(result, (counts.get(result) ?? 0) + 1);
            answered += 1;
            if (answered < payouts && answered % Math.ceil(payouts / (KILLS + 1)) === 0)
              killing = killing.then(killOne);
          }
        }
      };
      await Promise.all(Array.from({ length: CALLERS }, call));
      await killing;
      const found = [...counts].map(([result, count]) => `${count} ${result}`).toSorted();
      print(`${what}, ${payouts} payouts: ${found.join(", ")}; ${repeats} repeats`);
      const expected = [`${half} 422 ${refusal}`, `${half} accepted`].toSorted();
      if (found.join() !== expected.join()) violate(`${what} for ${half} payouts: ${found.join(", ")}`);
    }
  } finally {
    for (const { kill, ended } of running.values()) {
      kill("SIGKILL");
      await ended;
    }
    agent.destroy();
    await database.close();
  }
  return violations;

  /** Resolves with undefined without an answer. */
  function pay(port: number, reference: string): Promise<Answer | undefined> {
    const body = JSON.stringify({
      reference,
      amount: AMOUNT,
      phoneNumber: "2257038102473",
      country: "CI",
      currency: "XOF",
    });
    const headers = { "x-api-key": KEY, "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    return new Promise((resolve) => {
      const sent = request(
        { host: "127.0.0.1", port, path: "/v1/disbursements", method: "POST", headers, agent, timeout: 10_000 },
        (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (piece: string) => (text += piece));
          response.on("error", () => resolve(undefined));
          response.on("end", () => {
            if (!response.complete) return resolve(undefined);
            const { code } = JSON.parse(text) as { code?: string };
            resolve({ status: response.statusCode!, ...(code !== undefined && { code }) });
          });
        },
      );
      sent.on("timeout", () => sent.destroy());
      sent.on("error", () => resolve(undefined));
      sent.end(body);
    });
  }
}
