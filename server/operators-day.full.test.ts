// A day of operating a live service in the dashboard alone, in a process of its own: a new merchant, its key and secret, a
// receiver that fails, a bulk replay, a rotation and a revocation. A secret may appear only where the service
// shows it once on purpose.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { enter, send, type Visitor } from "./testing/dashboard-visitor.ts";
import { LIVE, runKeys } from "./testing/process.ts";
import { startReceiver } from "./testing/receiver.ts";
import { stop, testFolder, startTestServer } from "./testing/resources.ts";
import { sign } from "./webhooks/send.ts";

const METRICS_TOKEN = "a-token-for-the-metrics";
const PAYOUTS = 3;
const LINK = /\/dashboard\/sign-in\?token=([\w-]{43})/;
const KEY = /id="shown-once">(live_\w+)</;
const SECRET = /id="shown-once">(whsec_[^<]+)</;

let ada: Visitor;
/** All texts that were read, except where a secret is shown once on purpose, by the place where each was read. */
const seen = new Map<string, string>();
const secrets = new Set([METRICS_TOKEN]);

/** Finds a secret in a text that a person reads, and adds it to the secrets of the run. */
function taken(pattern: RegExp, text: string): string {
  const [, secret] = pattern.exec(text) ?? expect.fail(`Nothing like ${String(pattern)} in: ${text}`);
  secrets.add(secret!);
  return secret!;
}

async function get(path: string): Promise<string> {
  const { status, html } = await ada.get(path);
  expect([path, status]).toEqual([path, 200]);
  seen.set(`page ${path} ${seen.size}`, html);
  return html;
}
/** Sends a form, and returns the page that follows. Only a page that another address shows again counts as seen. */
async function post(path: string, fields: Record<string, string> = {}): Promise<string> {
  const { status, to, html } = await ada.post(path, fields);
  expect([path, status]).toEqual([path, expect.toSatisfy((code: number) => code < 400)]);
  return to === undefined ? html : get(to);
}
const failed = async (merchant: string) =>
  (await get(`/m/${merchant}/webhooks?status=failed`)).match(/<a href="[^"]+\/webhooks\/msg_/g)?.length ?? 0;

test("a day without money: everything works, and nothing secret turns up elsewhere", async () => {
  const receiver = await startReceiver(410);
  onTestFinished(receiver.close);
  const folder = testFolder();
  const webhooks = { WEBHOOK_ALLOW_PRIVATE: "true", WEBHOOK_ALLOW_INSECURE: "true" };
  const own = { DATABASE_URL: `sqlite:${join(folder, "server.db")}`, SANDBOX_API_KEY: undefined };
  const env = { ...LIVE, ...webhooks, ...own, LOG_LEVEL: "trace", METRICS_TOKEN };
  const server = await startTestServer(env);
  secrets.add(readFileSync(join(folder, "first-api-key"), "utf8").trim());
  // Nobody can sign in without a link from the command line.
  ada = await enter(server, taken(LINK, (await runKeys(env, "dashboard-link", "--name", "Ada")).stdout));
  secrets.add(ada.cookie.slice(ada.cookie.indexOf("=") + 1));
  await post("/merchants", { name: "Kofi Traders" });
  const merchant = /\/dashboard\/m\/([\w-]+)\/disbursements"><bdi>Kofi Traders</.exec(await get(""))![1]!;
  const at = (path: string) => `/m/${merchant}${path}`;
  const client = server.client(taken(KEY, await post(at("/settings/keys"), { name: "Payroll" })));
  const secret = taken(SECRET, await post(at("/settings/secret/reveal")));
  await post(at("/settings/default-webhook"), { url: receiver.url });

  const pay = async () => expect((await client.createPayout()).status).toBe(200);
  for (let count = 0; count < PAYOUTS; count++) await pay();
  await receiver.until(PAYOUTS);
  await expect.poll(() => failed(merchant)).toBe(PAYOUTS);
  receiver.respondWith(204);
  expect(await get(at("/replays/new?status=failed"))).toContain(String(PAYOUTS));
  await post(at("/replays/new"), { status: "failed", pace: "100", decidedAt: new Date().toISOString() });
  await receiver.until(2 * PAYOUTS);
  await expect.poll(() => failed(merchant)).toBe(0);

  const rotated = taken(SECRET, await post(at("/settings/secret/rotate")));
  expect(rotated).not.toBe(secret);
  await pay();
  await receiver.until(2 * PAYOUTS + 1);
  const { headers, text } = receiver.received.at(-1)!;
  const [id, timestamp] = [headers["webhook-id"] as string, Number(headers["webhook-timestamp"])];
  expect(headers["webhook-signature"]).toBe(sign([rotated, secret], id, timestamp, text));

  const token = taken(LINK, await post(at("/team/links"), { name: "Esi", role: "administrator" }));
  expect(await post(at("/team/end-all"), { name: "Esi" })).not.toContain("<bdi>Esi</bdi>");
  expect((await send(server, "/sign-in", { token })).status).toBe(403);

  const key = /Payroll<\/bdi>[^]+?name="key" value="([\w-]+)"/.exec(await get(at("/settings")))![1]!;
  expect(await post(at("/settings/keys/revoke"), { key })).toContain("revoked");
  await expect.poll(async () => (await client.request("GET", "/v1/disbursements")).status).toBe(401);
  // All pages that the list of merchants and the audit trail lead to, directly or indirectly.
  const paths = new Set(["", at("/audit")]);
  for (const path of paths) {
    for (const [, next] of (await get(path)).matchAll(/<a [^>]*href="\/dashboard([^"]*)"/g)) paths.add(next!);
    expect(paths.size).toBeLessThan(100);
  }
  const trail = await get(at("/audit"));
  for (const entry of ["Create an API key “Payroll”", "Replace the webhook secret", "Revoke the API key “Payroll”"])
    expect(trail).toContain(entry);

  const metrics = await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } });
  seen.set("metrics", await metrics.text());
  seen.set("webhooks", JSON.stringify(receiver.received));
  await stop(server);
  seen.set("the server's output", server.output());

  expect(secrets.size).toBeGreaterThan(4);
  expect(seen.size).toBeGreaterThan(10);
  expect(seen.get("metrics")).toContain("# TYPE");
  expect(seen.get("the server's output")).toContain('"/v1/disbursements"');
  const shown = [...seen].flatMap(([place, page]) =>
    [...secrets].filter((each) => page.includes(each)).map((each) => `${each.slice(0, 9)}… in ${place}`),
  );
  expect(shown).toEqual([]);
});
