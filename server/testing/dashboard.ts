// The dashboard for tests: a server with visitors, and one with a record of each kind, which has something on every page.
import { globSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import type { Rails } from "../domain/rails.ts";
import { migrate } from "../storage/sqlite/migrate.ts";
import { routesOf, signedIn, type Visited } from "./dashboard-visitor.ts";
import { createTestRail, railsOf } from "./rail.ts";
import { startReceiver } from "./receiver.ts";
import { startServer, type TestServer, type TestServerOptions } from "./server.ts";

/** What a page says, or does not say. */
type Said = string | RegExp | { not: string | RegExp };
export const not = (said: string | RegExp): Said => ({ not: said });

/** Expects the status of a page, and what people read there or what its HTML contains. */
export async function says(visited: Promise<Visited>, status: number, ...all: Said[]): Promise<Visited> {
  const page = await visited;
  expect(page.status, `${page.text}`).toBe(status);
  for (const each of all) {
    const [wanted, isWanted] = typeof each === "object" && "not" in each ? [each.not, false] : [each, true];
    const has = (text: string) => (typeof wanted === "string" ? text.includes(wanted) : wanted.test(text));
    expect(has(page.text) || has(page.html), `${wanted} in: ${page.text}`).toBe(isWanted);
  }
  return page;
}

/** Expects that a form is accepted. Returns the path of the page that it leads to. */
export const done = async (visited: Promise<Visited>): Promise<string> => (await says(visited, 303)).to!;

/** The newest entries of the audit trail, newest first. */
export const trail = async ({ storage }: TestServer, limit = 1, merchantId?: string) =>
  (await storage.listAudit({ limit, ...(merchantId !== undefined && { merchantId }) })).items;

/** A server with an operator, Ada, and a person of its merchant, Kofi. */
export async function openDashboard(env: Record<string, string> = {}, rails?: Rails) {
  const local = { WEBHOOK_ALLOW_PRIVATE: "true", WEBHOOK_ALLOW_INSECURE: "true" };
  const [server, receiver] = await Promise.all([
    startServer({ env: { ...(env.SANDBOX === "false" && local), ...env }, ...(rails && { rails }) }),
    startReceiver(),
  ]);
  const { id } = server.merchant;
  return {
    server,
    receiver,
    id,
    area: `/m/${id}`,
    ada: await signedIn(server),
    kofi: await signedIn(server, { merchantId: id, name: "Kofi" }),
    close: () => Promise.all([server.close(), receiver.close()]),
  };
}

interface Filling {
  isLive?: boolean;
  openStorage?: TestServerOptions["openStorage"];
  /** What people have written. */
  merchant?: string;
  reference?: string;
  amount?: number;
  webhookURL?: string;
}

const HOUR = 3_600_000;
const ACTOR = "command ada@host";

/** A server with a record of each kind. Two of them have the same ids. */
export async function filledDashboard(filling: Filling = {}) {
  const { isLive = false, openStorage, merchant = "Ada Stores", amount = 1e9 } = filling;
  const { reference = "salary-41", webhookURL = "https://merchant.example/" } = filling;
  const rail = createTestRail();
  const server = await startServer({
    env: { SANDBOX: String(!isLive), WEBHOOK_ALLOW_PRIVATE: "true", WEBHOOK_ALLOW_INSECURE: "true" },
    rails: railsOf(rail),
    ...(openStorage && { openStorage }),
  });
  const { storage } = server;
  const { id } = server.merchant;
  await storage.renameMerchant(id, merchant, ACTOR);
  const pay = async (merchantsReference: string, changes = {}) => {
    const { body } = await server.createPayout({ reference: merchantsReference, webhookURL, ...changes });
    if (isLive) await server.pass(0);
    return body.data.reference as string;
  };

  const disbursement = await pay(reference, { phoneNumber: "2250700000001" });
  const checkout = (await server.createCheckout({ reference })).body.data.reference as string;
  const attention: string[] = [];
  if (isLive) {
    const contradicted = await pay("contradicted");
    const answer = { status: "failed" } as const;
    rail.ledger.get(contradicted)!.answer = answer;
    await storage.recordNotification("test", contradicted, { exchanges: [], answer, askAgainAfterMs: 0 });
    rail.answers.push(new Error("time-out"));
    rail.found.push(...Array.from({ length: 200 }, () => new Error("no response")));
    attention.push(contradicted, await pay("unknown"));
    await server.pass(HOUR + 1);
  }
  const operator = await signedIn(server, { name: "Grace" });
  const member = await signedIn(server, { merchantId: id, name: "Ada" });
  await signedIn(server, { name: "Alan" });
  await storage.setMerchantLimits(id, { approvalFrom: { XOF: amount } }, ACTOR);
  const waiting: string[] = [];
  for (const name of [`${reference.slice(0, 60)}-1`, "two", "three", "four"])
    waiting.push(`${id}/${await pay(name, { amount })}`);
  const change = { amount: 700, currency: "XOF", reason: "transfer" };
  for (const name of ["one-change", "another"]) await storage.adjustBalance(id, { ...change, id: name }, ACTOR, true);
  await server.service.deliveries.idle();
  const [delivery] = (await storage.listDeliveries({ merchantId: id, limit: 1 })).items;

  const values: Readonly<Record<string, string>> = {
    merchant: id,
    disbursement,
    checkout,
    webhook: delivery!.id,
    rail: "test",
    page: "operating",
    file: "docs.css",
  };
  /** What pages need in their query. */
  const needed = (route: string) =>
    route.endsWith("/replays/new")
      ? "?status=failed"
      : /\/approvals\/(approve|reject)$/.test(route)
        ? `?payment=${waiting[0]}`
        : route.endsWith("/adjust")
          ? "?kind=top-up&amount=500&currency=XOF&reason=transfer"
          : "";
  /** A parameter of a path stands for what precedes it: `:id` in `/webhooks/:id` is a webhook's id. */
  const filled = (route: string) =>
    route.replaceAll(/(\w+?)s?\/:(\w+)/g, (_, kind: string, name: string) => {
      const value = values[name] ?? values[kind] ?? name;
      return `${kind === "m" ? kind : `${kind}s`}/${value}`;
    });
  /** The paths outside the contract, except for streams, which do not end, and the metrics, which count requests. */
  const routes = (method: "GET" | "POST") => [
    ...new Set(
      routesOf(server.service.app)
        .filter((route) => route.method === method && !/^\/(v1|sandbox)\/|\/live$|^\/metrics$/.test(route.path))
        .map(({ path }) => path),
    ),
  ];
  return {
    server,
    id,
    area: `/m/${id}`,
    operator,
    member,
    waiting,
    attention,
    changes: ["one-change", "another"].map((name) => `${id}/${name}`),
    filled,
    forms: routes("POST"),
    /** The routes of pages, with a path for each that shows one. */
    pages: routes("GET").map((route) => ({ route, path: filled(route) + needed(route) })),
    close: server.close,
  };
}
export type FilledDashboard = Awaited<ReturnType<typeof filledDashboard>>;

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/**
 * The names of all columns and of all properties in the types of the domain and the workers, so that a test can send each
 * as a parameter that no operation declares.
 */
export function storageNames(): string[] {
  using db = new DatabaseSync(":memory:");
  migrate(db);
  const tables = "SELECT DISTINCT c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'";
  const columns = db
    .prepare(tables)
    .all()
    .map(({ name }) => String(name));
  const inCamelCase = columns.map((name) => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()));
  const sources = globSync("{domain,workers,webhooks}/*.ts", { cwd: ROOT }).filter((file) => !file.includes(".test."));
  const properties = sources.flatMap((file) =>
    [...readFileSync(ROOT + file, "utf8").matchAll(/^ +(?:readonly )?(\w+)\??: /gm)].map(([, name]) => name!),
  );
  return [...new Set([...columns, ...inCamelCase, ...properties])].toSorted();
}
