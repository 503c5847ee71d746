// Measures how long each page of the dashboard takes over HTTP, with many stored payouts, webhooks and attempts, one
// request at a time. Needs no network. Starts a PostgreSQL server, unless TEST_DATABASE_URL names one.
// Usage: node scripts/bench/dashboard.ts [--storage sqlite|postgres] [--payments N] [--rounds R] [--pages TEXT]
import { execFile } from "node:child_process";
import { parseArgs, promisify } from "node:util";
import { FIRST, postgres, postgresServer, sqlite, type Database } from "./databases.ts";
import { quantile } from "./load.ts";
import { startServer, type Target } from "./target.ts";

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

const { values } = parseArgs({
  options: {
    storage: { type: "string" },
    payments: { type: "string", default: "100000" },
    rounds: { type: "string", default: "20" },
    /** Only the pages whose name contains this text. */
    pages: { type: "string", default: "" },
  },
});
const PAYMENTS = Number(values.payments);
const ROUNDS = Number(values.rounds);
if (!(PAYMENTS >= 100 && ROUNDS >= 1)) throw new Error("--payments must be at least 100, and --rounds at least 1.");

/** The values in the addresses of pages. */
interface Stored {
  /** The references of a payout, of the service and of the merchant. */
  reference: string;
  merchantsReference: string;
  /** The id of its webhook. */
  webhook: string;
}

/** The time at this share of the stored payouts, as the form sends it. */
const time = (share: number) => new Date(FIRST + PAYMENTS * share).toISOString().slice(0, -1);
const PERIOD = `from=${time(0.4)}&to=${time(0.6)}`;
const DAY = time(0.5).slice(0, 10);

/** Every page to measure: its path below the pages of the merchant. Add a line for a new page or search. */
const PAGES: Record<string, (stored: Stored) => string> = {
  "overview of a day": () => `overview?range=day&until=${DAY}`,
  "overview of a week": () => `overview?until=${DAY}`,
  "overview of 31 days": () => `overview?range=month&until=${DAY}`,
  "overview of all merchants": () => "../../overview",
  payouts: () => "disbursements",
  "payouts by status": () => "disbursements?status=success",
  "payouts, none of the status": () => "disbursements?status=pending",
  "payouts of a day": () => `disbursements?from=${DAY}&to=${DAY}`,
  "payouts by service reference": ({ reference }) => `disbursements?search=${reference}`,
  "payouts by own reference": ({ merchantsReference }) => `disbursements?search=${merchantsReference}`,
  "payouts by phone number": () => "disbursements?search=2257038102473",
  "payouts, nothing found": () => "disbursements?search=2250000000000",
  "a payout": ({ reference }) => `disbursements/${reference}`,
  checkouts: () => "checkouts",
  webhooks: () => "webhooks",
  "webhooks that failed": () => "webhooks?status=failed",
  "webhooks that were delivered": () => "webhooks?status=delivered",
  "webhooks, none of the status": () => "webhooks?status=pending",
  "webhooks by event": () => "webhooks?type=disbursement.failed",
  "webhooks by event, none": () => "webhooks?type=checkout.completed",
  "webhooks by host": () => "webhooks?host=receiver-7.example",
  "webhooks by host, none": () => "webhooks?host=other.example",
  "webhooks that failed, by host": () => "webhooks?status=failed&host=receiver-1.example",
  "webhooks that failed, by host, none": () => "webhooks?status=failed&host=receiver-7.example",
  "webhooks delivered, by host, none": () => "webhooks?status=delivered&host=other.example",
  "webhooks of a period": () => `webhooks?${PERIOD}`,
  "webhooks of a period that failed": () => `webhooks?status=failed&${PERIOD}`,
  "webhooks by all fields": () => `webhooks?status=failed&type=disbursement.failed&host=receiver-10.example&${PERIOD}`,
  "webhooks by all fields, none": () => `webhooks?status=ended&type=checkout.failed&host=other.example&${PERIOD}`,
  "webhooks by service reference": ({ reference }) => `webhooks?reference=${reference}`,
  "webhooks by own reference": ({ merchantsReference }) => `webhooks?reference=${merchantsReference}`,
  "a webhook": ({ webhook }) => `webhooks/${webhook}`,
  replays: () => "replays",
  "preview, failed": () => "replays/new?status=failed",
  "preview, delivered": () => "replays/new?status=delivered",
  "preview of a period": () => `replays/new?${PERIOD}`,
  "preview by host, none": () => "replays/new?host=other.example",
  sandbox: () => "sandbox",
  settings: () => "settings",
  team: () => "team",
  "audit trail": () => "audit",
};

/** Signs in as an operator. Returns the session's cookie. */
async function signIn(server: Target, env: Record<string, string>): Promise<string> {
  const cli = new URL("../../server/cli.ts", import.meta.url).pathname;
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, [cli, "keys", "dashboard-link"], { env: { ...process.env, ...env } });
  const [, token] = /token=(\S+)/.exec(stdout)!;
  const response = await fetch(`${server.url}/dashboard/sign-in`, {
    method: "POST",
    redirect: "manual",
    headers: { origin: server.url },
    body: new URLSearchParams({ token: token! }),
  });
  const [cookie] = response.headers.getSetCookie();
  if (!cookie) throw new Error(`The sign-in returned ${response.status}.`);
  return cookie.split(";", 1)[0]!;
}

/** Returns a page's text. @throws Error unless its status is 200 */
async function read(url: string, cookie: string): Promise<string> {
  const response = await fetch(url, { headers: { cookie } });
  if (response.status !== 200) throw new Error(`${url} returned ${response.status}.`);
  return response.text();
}

const matched = (html: string, pattern: RegExp) => pattern.exec(html)![1]!;

/** Finds the merchant's area and the values in its pages' addresses by following links, as a person would. */
async function look(server: Target, cookie: string): Promise<{ area: string; stored: Stored }> {
  const merchants = await read(`${server.url}/dashboard`, cookie);
  const area = `${server.url}/dashboard/m/${matched(merchants, /\/m\/([^/"]+)\/disbursements"/)}`;
  const list = await read(`${area}/disbursements`, cookie);
  const [, reference, merchantsReference] = /\/disbursements\/(DSB\w+)"><bdi>([^<]+)</.exec(list)!;
  const payout = await read(`${area}/disbursements/${reference}`, cookie);
  const webhook = matched(payout, /\/webhooks\/(msg_\w+)"/);
  return { area, stored: { reference: reference!, merchantsReference: merchantsReference!, webhook } };
}

async function measure(name: string, database: Database): Promise<void> {
  const env = { DATABASE_URL: database.url };
  await (await startServer(name, env)).stop();
  await database.fill(PAYMENTS);
  await database.fillWebhooks();
  const server = await startServer(name, env);
  const cookie = await signIn(server, env);
  const { area, stored } = await look(server, cookie);
  console.log(`\n${name}, ${PAYMENTS} payouts`.padEnd(45), "p50     p95  longest");
  for (const [page, pathOf] of Object.entries(PAGES)) {
    if (!page.includes(values.pages)) continue;
    const url = `${area}/${pathOf(stored)}`;
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const begun = performance.now();
      await read(url, cookie);
      times.push(performance.now() - begun);
    }
    const sorted = times.toSorted((a, b) => a - b);
    const figures = [quantile(sorted, 0.5), quantile(sorted, 0.95), sorted.at(-1)!];
    console.log(page.padEnd(38), figures.map((figure) => figure.toFixed(1).padStart(8)).join(""));
  }
  await server.stop();
  await database.drop();
}

console.log(`${ROUNDS} requests for each page, one at a time. Times in ms. The first request of a page is included.`);
if (values.storage !== "postgres") await measure("SQLite", await sqlite());
if (values.storage !== "sqlite") {
  const server = await postgresServer();
  await measure("PostgreSQL", await postgres(server.url));
  await server.stop();
}
