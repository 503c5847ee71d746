// A day of operating a live service, once in the dashboard and once on the command line: a new merchant, its key and
// secret, a receiver that fails, a bulk replay, a rotation, a revocation. A secret may appear only where the service
// shows it once on purpose.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createHttpClient, type HttpClient } from "./testing/http.ts";
import { LIVE, runCommand, runKeys, startProcess, type ServerProcess } from "./testing/process.ts";
import { startReceiver, type Receiver } from "./testing/receiver.ts";
import { aPayout } from "./testing/server.ts";
import { sign } from "./webhooks/send.ts";

const METRICS_TOKEN = "a-token-for-the-metrics";
const PAYOUTS = 3;

let folder: string;
let env: NodeJS.ProcessEnv;
let server: ServerProcess;
let receiver: Receiver;
let clients: HttpClient[];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "operators-day-"));
  env = {
    DATABASE_URL: `sqlite:${join(folder, "server.db")}`,
    ...LIVE,
    WEBHOOK_ALLOW_PRIVATE: "true",
    WEBHOOK_ALLOW_INSECURE: "true",
    LOG_LEVEL: "trace",
    METRICS_TOKEN,
  };
  clients = [];
  receiver = await startReceiver(410);
  server = await startProcess(env);
});
afterEach(async () => {
  server.kill("SIGKILL");
  await server.ended;
  await Promise.all(clients.map(({ close }) => close()));
  await receiver.close();
  rmSync(folder, { recursive: true });
});

/**
 * A way to operate the service: the dashboard or the command line. Every method returns the text that a person reads.
 */
interface Operator {
  createMerchant(name: string): Promise<string>;
  createKey(merchantId: string, name: string): Promise<string>;
  readSecret(merchantId: string): Promise<string>;
  setDefaultWebhook(merchantId: string, url: string): Promise<void>;
  countFailed(merchantId: string): Promise<number>;
  /** Replays all deliveries that failed. */
  replayFailed(merchantId: string): Promise<void>;
  rotateSecret(merchantId: string): Promise<string>;
  revokeKey(merchantId: string, name: string): Promise<void>;
  /** Makes a link that lets a person of the merchant into the dashboard. */
  invite(merchantId: string, name: string): Promise<string>;
  /** Ends all access of a person of the merchant. */
  endAccess(merchantId: string, name: string): Promise<void>;
  /** Adds an amount of XOF to the merchant's balance. */
  topUp(merchantId: string, amount: string): Promise<void>;
  /** Lets payouts of XOF wait for approval from this amount on. */
  askFrom(merchantId: string, amount: string): Promise<void>;
  decide(merchantId: string, reference: string, approves: boolean): Promise<void>;
  suspend(merchantId: string, isSuspended: boolean): Promise<void>;
  readStatement(merchantId: string): Promise<string>;
  /** Compares the payments of these days with the rail's own list, or with its statement. */
  reconcile(from: string, to: string, statement: string): Promise<string>;
  /** Reads the names of the actions in the audit trail. */
  readTrail(merchantId: string): Promise<string>;
}

/** All texts that were read, except where a secret is shown once on purpose, by the place where each text was read. */
type Seen = Map<string, string>;

/** Finds a secret in a text that a person reads, and adds it to the secrets of the run. */
function taken(secrets: Set<string>, pattern: RegExp, text: string): string {
  const [, secret] = pattern.exec(text) ?? [];
  if (secret === undefined) throw new Error(`Nothing like ${String(pattern)} in: ${text}`);
  secrets.add(secret);
  return secret;
}

const LINK = /\/dashboard\/sign-in\?token=([\w-]{43})/;

async function visit(path: string, init: RequestInit) {
  const response = await fetch(`${server.url}/dashboard${path}`, { redirect: "manual", ...init });
  return { status: response.status, headers: response.headers, html: await response.text() };
}

/** Operates by the dashboard alone. Only the first link comes from the command line: nobody can sign in without it. */
async function dashboard(seen: Seen, secrets: Set<string>): Promise<Operator> {
  const form = (path: string, fields: Record<string, string>, headers: Record<string, string>) =>
    visit(path, { method: "POST", body: new URLSearchParams(fields), headers: { origin: server.url, ...headers } });

  const printed = await runKeys(env, "dashboard-link", "--name", "Ada");
  const signedIn = await form("/sign-in", { token: taken(secrets, LINK, printed.stdout) }, {});
  const cookie = signedIn.headers.getSetCookie()[0]!.split(";", 1)[0]!;
  secrets.add(cookie.slice(cookie.indexOf("=") + 1));
  const csrf = /name="csrf" value="([^"]+)"/.exec((await visit("", { headers: { cookie } })).html)![1]!;

  async function get(path: string): Promise<string> {
    const { status, html } = await visit(path, { headers: { cookie } });
    expect([path, status]).toEqual([path, 200]);
    seen.set(`page ${path} ${seen.size}`, html);
    return html;
  }
  async function post(path: string, fields: Record<string, string> = {}): Promise<string> {
    const { status, headers, html } = await form(path, { csrf, ...fields }, { cookie });
    expect([path, status]).toEqual([path, expect.toSatisfy((code: number) => code < 400)]);
    const next = headers.get("location");
    return next === null ? html : get(next.replace(/^\/dashboard/, ""));
  }

  /** Opens pages, and all that they link to. */
  async function getAll(paths: readonly string[]): Promise<void> {
    const known = new Set(paths);
    for (const path of known) {
      const html = await get(path);
      for (const [, next] of html.matchAll(/<a [^>]*href="\/dashboard([^"]*)"/g)) known.add(next!);
      expect(known.size).toBeLessThan(100);
    }
  }

  return {
    async createMerchant(name) {
      await post("/merchants", { name });
      return new RegExp(`/dashboard/m/([\\w-]+)/disbursements"><bdi>${name}<`).exec(await get(""))![1]!;
    },
    createKey: async (merchant, name) =>
      taken(secrets, /id="new-key">((?:test|live)_\w+)</, await post(`/m/${merchant}/settings/keys`, { name })),
    readSecret: async (merchant) =>
      taken(secrets, /id="current-secret">(whsec_[^<]+)</, await post(`/m/${merchant}/settings/secret/reveal`)),
    async setDefaultWebhook(merchant, url) {
      expect(await post(`/m/${merchant}/settings/default-webhook`, { url })).toContain(`value="${url}"`);
    },
    countFailed: async (merchant) =>
      (await get(`/m/${merchant}/webhooks?status=failed`)).match(/<a href="[^"]+\/webhooks\/msg_/g)?.length ?? 0,
    async replayFailed(merchant) {
      expect(await get(`/m/${merchant}/replays/new?status=failed`)).toContain(String(PAYOUTS));
      await post(`/m/${merchant}/replays/new`, { status: "failed", pace: "100" });
    },
    rotateSecret: async (merchant) =>
      taken(secrets, /id="current-secret">(whsec_[^<]+)</, await post(`/m/${merchant}/settings/secret/rotate`)),
    async revokeKey(merchant, name) {
      const html = await get(`/m/${merchant}/settings`);
      const key = new RegExp(`${name}</bdi>[^]+?name="key" value="([\\w-]+)"`).exec(html)![1]!;
      expect(await post(`/m/${merchant}/settings/keys/revoke`, { key })).toContain("revoked");
    },
    invite: async (merchant, name) =>
      taken(secrets, LINK, await post(`/m/${merchant}/team/links`, { name, role: "administrator" })),
    async endAccess(merchant, name) {
      expect(await get(`/m/${merchant}/team`)).toContain(`<bdi>${name}</bdi>`);
      expect(await post(`/m/${merchant}/team/end-all`, { name })).not.toContain(`<bdi>${name}</bdi>`);
    },
    async topUp(merchant, amount) {
      const asked = { kind: "top-up", amount, currency: "XOF", reason: "Bank transfer 118" };
      const html = await get(`/merchants/${merchant}/adjust?${new URLSearchParams(asked)}`);
      const fields = html.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g);
      await post(
        `/merchants/${merchant}/adjust`,
        Object.fromEntries([...fields].map(([, name, value]) => [name, value!])),
      );
    },
    async askFrom(merchant, amount) {
      await post(`/merchants/${merchant}/limits`, { approvalFrom: `XOF:${amount}` });
    },
    async decide(merchant, reference, approves) {
      const payment = `${merchant}/${reference}`;
      expect(await get("/approvals")).toContain(payment);
      await post(`/approvals/${approves ? "approve" : "reject"}`, { payment, ...(!approves && { reason: "Twice" }) });
    },
    async suspend(merchant, isSuspended) {
      await post(`/merchants/${merchant}/${isSuspended ? "suspend" : "reopen"}`);
    },
    readStatement: (merchant) => get(`/m/${merchant}/balances`),
    reconcile: (from, to) => get(`/rails/reconcile?rail=test&from=${from}&to=${to}`),
    async readTrail(merchant) {
      await getAll(["", `/m/${merchant}/audit`]);
      return get(`/m/${merchant}/audit`);
    },
  };
}

/** Runs a command whose output may show a secret. */
async function show(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runKeys(env, ...args);
  expect([args, code, stderr]).toEqual([args, 0, ""]);
  return stdout;
}

/** Runs a command about balances. */
async function balances(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(env, "balances", ...args);
  expect([args, code, stderr]).toEqual([args, 0, ""]);
  return stdout;
}

/** Operates by commands alone. */
function commandLine(seen: Seen, secrets: Set<string>): Operator {
  async function run(...args: string[]): Promise<string> {
    const printed = await show(...args);
    seen.set(`command ${args.join(" ")} ${seen.size}`, printed);
    return printed;
  }

  return {
    async createMerchant(name) {
      const printed = await show("create-merchant", name);
      taken(secrets, /Key \(shown only once\): ((?:test|live)_\w+)/, printed);
      return /^Merchant (\S+)$/m.exec(printed)![1]!;
    },
    createKey: async (merchant, name) =>
      taken(secrets, /Key \(shown only once\): ((?:test|live)_\w+)/, await show("create", merchant, "--name", name)),
    readSecret: async (merchant) => taken(secrets, /Webhook secret: (whsec_\S+)/, await show("secret", merchant)),
    async setDefaultWebhook(merchant, url) {
      await run("default-webhook", merchant, url);
    },
    countFailed: async (merchant) =>
      (await run("deliveries", merchant, "--status", "failed")).match(/^msg_/gm)?.length ?? 0,
    async replayFailed(merchant) {
      expect(await run("replay", merchant, "--status", "failed", "--yes")).toContain(String(PAYOUTS));
    },
    rotateSecret: async (merchant) =>
      taken(secrets, /Webhook secret: (whsec_\S+)/, await show("rotate-secret", merchant)),
    async revokeKey(merchant, name) {
      const listed = await run("list");
      await run("revoke", new RegExp(`^(\\S+) {2}…\\S+ {2}merchant ${merchant} {2}${name} `, "m").exec(listed)![1]!);
    },
    invite: async (merchant, name) => taken(secrets, LINK, await show("dashboard-link", merchant, "--name", name)),
    async endAccess(merchant, name) {
      expect(await run("sessions", merchant)).toContain(`  ${name}  `);
      await run("end-sessions", merchant, "--name", name);
    },
    async topUp(merchant, amount) {
      await balances("top-up", merchant, amount, "XOF", "--reason", "Bank transfer 118");
    },
    async askFrom(merchant, amount) {
      await run("limit-merchant", merchant, "--approval-from", `XOF:${amount}`);
    },
    async decide(merchant, reference, approves) {
      expect(await run("approvals")).toContain(reference);
      await run(approves ? "approve" : "reject", merchant, reference, ...(approves ? [] : ["--reason", "Twice"]));
    },
    async suspend(merchant, isSuspended) {
      await run(isSuspended ? "suspend-merchant" : "reopen-merchant", merchant);
    },
    readStatement: (merchant) => balances("statement", merchant),
    async reconcile(from, to, statement) {
      const days = ["--from", from, "--to", to];
      return (await runCommand(env, "db", "reconcile", "--rail", "test", ...days, "--statement", statement)).stdout;
    },
    async readTrail(merchant) {
      const lists = ["audit", "replays", "sessions", "events", "deliveries"];
      const [trail] = await Promise.all(lists.map((list) => run(list, merchant)));
      return trail!;
    },
  };
}

test.each([
  ["the dashboard", dashboard],
  ["the command line", commandLine],
] as const)(
  "a day with %s alone: everything works, and nothing secret turns up elsewhere",
  async (_, begin) => {
    const seen: Seen = new Map();
    const secrets = new Set([METRICS_TOKEN]);
    secrets.add(readFileSync(join(folder, "first-api-key"), "utf8").trim());
    const operator = await begin(seen, secrets);

    const merchant = await operator.createMerchant("Kofi Traders");
    const key = await operator.createKey(merchant, "Payroll");
    const client = createHttpClient({ port: server.port, key, sandbox: false });
    clients.push(client);
    const { request } = client;
    const secret = await operator.readSecret(merchant);
    await operator.setDefaultWebhook(merchant, receiver.url);

    const pay = async () => {
      const headers = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" };
      const { status } = await request("POST", "/v1/disbursements", { body: aPayout(), headers });
      expect(status).toBe(200);
    };
    for (let count = 0; count < PAYOUTS; count++) await pay();
    await receiver.until(PAYOUTS);
    await expect.poll(() => operator.countFailed(merchant)).toBe(PAYOUTS);
    receiver.respondWith(204);
    await operator.replayFailed(merchant);
    await receiver.until(2 * PAYOUTS);
    await expect.poll(() => operator.countFailed(merchant)).toBe(0);

    const rotated = await operator.rotateSecret(merchant);
    expect(rotated).not.toBe(secret);
    await pay();
    await receiver.until(2 * PAYOUTS + 1);
    const { headers, text } = receiver.received.at(-1)!;
    const [id, timestamp] = [headers["webhook-id"] as string, Number(headers["webhook-timestamp"])];
    expect(headers["webhook-signature"]).toBe(sign([rotated, secret], id, timestamp, text));
    expect(headers.traceparent).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-/);

    const token = await operator.invite(merchant, "Esi");
    await operator.endAccess(merchant, "Esi");
    const refused = await fetch(`${server.url}/dashboard/sign-in`, {
      method: "POST",
      body: new URLSearchParams({ token }),
      headers: { origin: server.url },
    });
    expect(refused.status).toBe(403);

    await operator.revokeKey(merchant, "Payroll");
    await expect.poll(async () => (await request("GET", "/v1/disbursements")).status).toBe(401);
    const trail = await operator.readTrail(merchant);
    // The command shows the names of actions, and the dashboard describes the actions in words.
    for (const action of [
      /merchant\.create|Created the merchant/,
      /key\.create|Created the API key “Payroll”/,
      /default-webhook\.set|Set the default address for webhooks/,
      /secret\.rotate|Replaced the webhook secret/,
      /dashboard\.sign-out|Signed out/,
      /key\.revoke|Revoked the API key “Payroll”/,
    ]) {
      expect(trail).toMatch(action);
    }

    const metrics = await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } });
    seen.set("metrics", await metrics.text());
    seen.set("webhooks", JSON.stringify(receiver.received));
    server.kill("SIGTERM");
    await server.ended;
    seen.set("the server's output", server.output());
    expect((await runKeys(env, "list")).stdout).toMatch(
      / {2}Payroll {2}may do everything {2}created \S+ {2}last used \S+ {2}revoked /,
    );

    expect(secrets.size).toBeGreaterThan(4);
    expect(seen.size).toBeGreaterThan(10);
    expect(seen.get("metrics")).toContain("# TYPE");
    expect(seen.get("the server's output")).toContain('"/v1/disbursements"');
    const found = [...seen].flatMap(([place, shown]) =>
      [...secrets].filter((each) => shown.includes(each)).map((each) => `${each.slice(0, 9)}… in ${place}`),
    );
    expect(found).toEqual([]);
  },
  180_000,
);

test.each([
  ["the dashboard", dashboard],
  ["the command line", commandLine],
] as const)(
  "money with %s alone: top up, limit, approve, reject, suspend, reconcile, and a statement that shows all of it",
  async (_, begin) => {
    server.kill("SIGTERM");
    await server.ended;
    env = { ...env, BALANCES: "enforced" };
    server = await startProcess(env);
    const operator = await begin(new Map(), new Set());
    const [, merchant] = /^(\S+) {2}First Merchant$/m.exec(await show("merchants"))!;
    // No person has made the key of the first start, so any operator may approve its payouts.
    const key = readFileSync(join(folder, "first-api-key"), "utf8").trim();
    const client = createHttpClient({ port: server.port, key, sandbox: false });
    clients.push(client);
    const pay = async (amount: number) => client.request("POST", "/v1/disbursements", { body: aPayout({ amount }) });
    const statusOf = async (reference: string) =>
      (await client.request("GET", `/v1/disbursements/${reference}`)).body.data.status as string;

    expect((await pay(10_000)).body).toMatchObject({ code: "insufficient_funds" });
    await operator.topUp(merchant!, "1000000");
    const small = (await pay(10_000)).body.data.reference as string;
    await operator.askFrom(merchant!, "50000");
    const [first, second] = [(await pay(60_000)).body.data.reference, (await pay(70_000)).body.data.reference];
    await operator.decide(merchant!, first, true);
    await operator.decide(merchant!, second, false);
    for (const [reference, status] of [
      [small, "success"],
      [first, "success"],
      [second, "failed"],
    ])
      await expect.poll(() => statusOf(reference!)).toBe(status);
    await operator.suspend(merchant!, true);
    await expect.poll(async () => (await pay(10_000)).body.code).toBe("merchant_suspended");
    await operator.suspend(merchant!, false);
    let third = "";
    await expect.poll(async () => (third = (await pay(10_000)).body.data?.reference)).toMatch(/^DSB/);
    await expect.poll(() => statusOf(third)).toBe("success");
    const paid = Object.entries({ [small]: 10_000, [first]: 60_000, [third]: 10_000 });
    const file = join(folder, "rail.csv");
    const rows = paid.map(([reference, amount]) => `${reference},${amount},XOF,success`);
    writeFileSync(file, ["reference,amount,currency,status", ...rows].join("\n"));
    const [yesterday, tomorrow] = [-1, 1].map((days) =>
      new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10),
    );
    // The rail never got the payout that was rejected.
    expect(await operator.reconcile(yesterday!, tomorrow!, file)).toMatch(
      /Matched: 3\. [^]*No differences|No differences[^]*matched<\/dt><dd>3</,
    );

    const statement = await operator.readStatement(merchant!);
    for (const part of [small, first, second, "10,000.00", "707.00", /release|Payout failed: given back/])
      expect(statement).toMatch(part);
    // 1,000,000 less three payouts of 10,000, 60,000 and 10,000 with fees of 1 %.
    expect(await balances("list", merchant!)).toMatch(/available XOF.9,192\.00 /);
  },
  120_000,
);
