// The dashboard for tests: a server with visitors, and one with a record of each kind, which has something on every page.
import { expect } from "vitest";
import { ACTION_NAMES, actionOf } from "../actions/index.ts";
import type { Page } from "../http/dashboard/page.ts";
import { PAGES } from "../http/dashboard/routes.ts";
import { routesOf, signedIn, type Visited } from "./dashboard-visitor.ts";
import { createTestRail, railsOf } from "./rail.ts";
import { startReceiver } from "./receiver.ts";
import { startServer, type TestServer, type TestServerOptions } from "./server.ts";

/** What a page says, or does not say. */
type Said = string | RegExp | { not: string | RegExp };
export const not = (said: string | RegExp): Said => ({ not: said });

/** Expects the status of a page, and what people read there or what its HTML contains. */
export async function says(visited: Promise<Visited> | Visited, status: number, ...all: Said[]): Promise<Visited> {
  const page = await visited;
  expect(page.status, `${page.text}`).toBe(status);
  expect(page.text).not.toContain("[object");
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
export async function openDashboard({ env, ...options }: TestServerOptions = {}) {
  const local = { WEBHOOK_ALLOW_PRIVATE: "true", WEBHOOK_ALLOW_INSECURE: "true" };
  const starting = startServer({ env: { ...local, ...env }, ...options });
  const [server, receiver] = await Promise.all([starting, startReceiver()]);
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

interface Filling extends Pick<TestServerOptions, "openStorage"> {
  isLive?: boolean;
  /** What people have written. */
  merchant?: string;
  reference?: string;
  amount?: number;
  webhookURL?: string;
}

const HOUR = 3_600_000;
const ACTOR = "command ada@host";

/** A server with a record of each kind, and another operator, Grace. Two such servers have the same ids. */
export async function filledDashboard(filling: Filling = {}) {
  const { isLive = false, openStorage, merchant = "Ada Stores", amount = 1e9 } = filling;
  const { reference = "salary-41", webhookURL = "https://merchant.example/" } = filling;
  const rail = createTestRail();
  const options = { env: { SANDBOX: String(!isLive) }, rails: railsOf(rail), ...(openStorage && { openStorage }) };
  const dashboard = await openDashboard(options);
  const { server, id } = dashboard;
  const { storage } = server;
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
    // The rail has ended these in one way, and then in another.
    const contradict = async (about: string, status: "failed" | "success") => {
      const answer = { status };
      rail.ledger.get(about)!.answer = answer;
      await storage.recordHandover(
        { lane: { merchantId: id, host: "test" }, id: about },
        { exchanges: [], answer, askAgainAfterMs: 0 },
      );
    };
    const contradicted = await pay("contradicted");
    await contradict(contradicted, "failed");
    rail.answers.push({ status: "cancelled" });
    const paidLate = (await server.createCheckout()).body.data.reference as string;
    await server.pass(0);
    await contradict(paidLate, "success");
    rail.answers.push(new Error("time-out"));
    rail.found.push(...Array.from({ length: 200 }, () => new Error("no response")));
    attention.push(contradicted, await pay("unknown"));
    for (let lookups = 0; lookups < 4; lookups += 1) await server.pass(HOUR / 3);
  }
  await storage.setMerchantLimits(id, { approvalFrom: { XOF: amount } }, ACTOR);
  const waiting: string[] = [];
  for (const name of [`${reference.slice(0, 60)}-1`, "two", "three", "four"])
    waiting.push(`${id}/${await pay(name, { amount })}`);
  const change = { amount: 700, currency: "XOF", reason: "transfer" };
  for (const name of ["one-change", "another"]) await storage.adjustBalance(id, { ...change, id: name }, ACTOR, true);
  await server.service.deliveries.idle();
  const [delivery] = (await storage.listDeliveries({ merchantId: id, limit: 1 })).items;

  const [contradicted = "", unknown = ""] = attention;
  const values: Readonly<Record<string, string>> = {
    m: id,
    merchants: id,
    disbursements: disbursement,
    checkouts: checkout,
    webhooks: delivery!.id,
    rails: "test",
    // In a sandbox a payout that waits for approval: an earlier form approves it.
    payments: unknown || waiting[0]!.split("/")[1]!,
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
  /** The path of a route. A parameter stands for what precedes it: `:id` in `/webhooks/:id` is a webhook's id. */
  const filled = (route: string) =>
    route.replaceAll(/(\w+)\/:\w+/g, (_, kind: string) => {
      const isContradicted = kind === "payments" && route.endsWith("/close");
      return `${kind}/${isContradicted ? contradicted : values[kind]}`;
    });
  return {
    ...dashboard,
    operator: await signedIn(server, { name: "Grace" }),
    waiting,
    attention,
    changes: ["one-change", "another"].map((name) => `${id}/${name}`),
    filled,
    forms: routesOf(server.service.app, "post"),
    /** The routes of pages, with a path for each that shows one. */
    pages: routesOf(server.service.app, "get").map((route) => ({ route, path: filled(route) + needed(route) })),
  };
}
export type FilledDashboard = Awaited<ReturnType<typeof filledDashboard>>;

/** The parameters that a page reads. */
export const parametersOf = ({ filters = {}, query = [] }: Page) => [...Object.keys(filters), ...query];

/** Everything that a page reads or a form sends, and words of the storage and of JavaScript. */
export const PARAMETERS: readonly string[] = [
  ...new Set([
    ...PAGES.flatMap(parametersOf),
    ...ACTION_NAMES.flatMap((name) => Object.values(actionOf(name).input).flatMap(({ inputs }) => Object.keys(inputs))),
    ..."merchantId merchant_id actor createdAfter fee limit offset approval scopes approved __proto__ constructor".split(
      " ",
    ),
  ]),
];
