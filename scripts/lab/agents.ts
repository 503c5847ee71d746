// Many sessions of agents pay with the tools of client/mcp. The tools' processes are killed, and the network to the
// service loses and replaces messages. Counts at the service what was paid, and compares every final result with it.
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createClient, type Disbursement } from "../../client/index.ts";
import type { Outcome } from "../../client/mcp/outcome.ts";
import { startProgram } from "../../server/testing/process.ts";
import { seededRandom } from "../../server/testing/random.ts";
import { inWorld, type RunOptions, type World } from "./world.ts";

const TOKEN = "token-of-the-host";
const SERVICE = { database: "sqlite", env: { SETTLE_DELAY_MS: "200" }, network: { share: 0.3, delayMs: 300 } } as const;
const main = fileURLToPath(new URL("../../client/mcp/main.ts", import.meta.url));

interface AgentOptions extends RunOptions {
  calls: number;
  kills: number;
  sessions?: number;
  processes?: number;
  recipients?: number;
}

/** Runs the tools. The limit of the day is a tenth below what the agents want to pay. Returns the violations found. */
export const runAgents = (options: AgentOptions): Promise<string[]> =>
  inWorld({ ...options, ...SERVICE, processes: 1 }, (world) => payWithAgents(world, options));

async function payWithAgents({ server, network, key, folder, fileWith, violate }: World, options: AgentOptions) {
  const { calls, kills, seed, print, sessions = 50, processes = 5, recipients = 300 } = options;
  const random = seededRandom(seed);
  const wanted = Array.from({ length: recipients }, (_, index) => ({
    phoneNumber: `22507${String(index).padStart(5, "0")}473`,
    amount: 100_000 + random.below(400_000),
    country: "CI",
    currency: "XOF",
  }));
  const limit = Math.floor(wanted.reduce((sum, { amount }) => sum + amount, 0) * 0.9);
  const policy = fileWith("policy.json", JSON.stringify({ limits: { XOF: { day: limit } } }));
  const files = { API_KEY_FILE: fileWith("key", key), JOURNAL: join(folder, "journal") };
  const args = [main, "--http", "0", "--token-file", fileWith("token", TOKEN), "--policy", policy];

  /** Starts a process of the tools, and returns its URL when it listens. */
  async function start() {
    const { kill, ended, until } = startProgram(process.execPath, args, { ...files, BASE_URL: network.url });
    const [url] = await until(/http:\/\/127\.0\.0\.1:\d+/);
    return { url: `${url}/mcp`, kill: () => (kill("SIGKILL"), ended) };
  }

  async function connect(url: string) {
    const client = new Client({ name: "a host", version: "1" });
    const requestInit = { headers: { authorization: `Bearer ${TOKEN}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
    return async (name: string, given: object) =>
      (await client.callTool({ name, arguments: { ...given } })).structuredContent as Outcome;
  }

  const running = await Promise.all(Array.from({ length: processes }, start));
  const results: Record<string, number> = {};
  const plans = new Set<string>();
  let [made, killed] = [0, 0];

  async function use(place: number) {
    while (made < calls) {
      try {
        const call = await connect(running[place]!.url);
        while (made < calls) {
          const index = random.below(recipients);
          // Some agents word the purpose of the same payment differently.
          const purpose = random.next() < 0.2 ? `the invoice with number ${index}` : `invoice ${index}`;
          made += 3;
          const { plan } = await call("prepare_payout", { ...wanted[index], purpose });
          plans.add(plan!.id);
          for (let attempt = 0; attempt < 2; attempt += 1) {
            const { result } = await call("pay", { plan: plan!.id });
            results[result] = (results[result] ?? 0) + 1;
          }
        }
      } catch {
        // The process was killed. Its sessions connect again.
        await sleep(20);
      }
    }
  }

  async function killAgain() {
    while (killed < kills && made < calls) {
      if (made < (calls / kills) * (killed + 0.5)) await sleep(20);
      else {
        const place = killed % processes;
        killed += 1;
        await running[place]!.kill();
        running[place] = await start();
      }
    }
  }

  try {
    await Promise.all([...Array.from({ length: sessions }, (_, index) => use(index % processes)), killAgain()]);
    await Promise.all(running.map(({ kill }) => kill()));
    // Without faults, paying the same plans again resolves every unknown outcome.
    network.heal();
    const last = await start();
    running.splice(0, processes, last);
    const call = await connect(last.url);
    const final = new Map<string, Outcome>();
    for (const plan of plans) final.set(plan, await call("pay", { plan }));

    const { disbursements } = createClient({ baseUrl: server.url, apiKey: key });
    const payouts: Disbursement[] = [];
    for await (const payout of disbursements.list()) payouts.push(payout);
    const paid = new Set(payouts.map(({ merchantsReference }) => merchantsReference));
    const sum = payouts.reduce((total, { amount }) => total + amount, 0);
    const twice = payouts.length - new Set(payouts.map(({ customer }) => customer.phoneNumber)).size;
    print(
      `${made} calls, ${killed} kills, results ${JSON.stringify(results)}, faults ${JSON.stringify(network.counts)}`,
    );
    print(`${payouts.length} payouts, in sum ${sum} of ${limit}`);
    if (payouts.length === 0) violate("nothing was paid");
    if (twice > 0) violate(`${twice} recipients were paid twice`);
    if (sum > limit) violate(`${sum} was paid, above the limit of ${limit}`);
    for (const [plan, { result, payout }] of final) {
      if (result === "unknown") violate(`the outcome of ${plan} stayed unknown`);
      else if (paid.has(plan) !== (payout !== undefined)) violate(`the result of ${plan} contradicts the service`);
    }
  } finally {
    for (const { kill } of running) void kill();
  }
}
