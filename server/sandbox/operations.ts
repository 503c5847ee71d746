// What a test can ask of its sandbox, as requests of the contract: the same can be done by HTTP from any language.
import { setTimeout as sleep } from "node:timers/promises";
import type { components } from "../../generated/openapi.ts";
import { createRemote, type RemoteError } from "../commands/remote.ts";
import { EVENT_TYPES } from "../domain/events.ts";
import type { Service } from "../service.ts";
import { webhookHeaders } from "../webhooks/send.ts";
import type { Duration, Identity } from "./index.ts";

type Schemas = components["schemas"];
type Event = Schemas["SandboxEvent"];
type Payment = Schemas["Disbursement"] | Schemas["Checkout"];

const CREATES: Readonly<Record<string, string>> = { create: "createDisbursement", createCheckout: "createCheckout" };
const SECONDS: Readonly<Record<string, number>> = { days: 86_400, hours: 3_600, minutes: 60, seconds: 1 };
const LOOK_EVERY_MS = 10;
/** How often a read that the merchant's chaos switch has spoiled is repeated. */
const REPEATS = 50;
/** Test runners end a test after five seconds, and would not say what it waited for. */
const TIMEOUT_MS = 2_000;

/** A program without types would not learn that its options have no effect. */
export function checkNames(method: string, given: unknown, names: string[]) {
  const isObject = typeof given === "object" && given !== null;
  const unknown = isObject ? Object.keys(given).find((name) => !names.includes(name)) : JSON.stringify(given);
  if (!isObject || unknown !== undefined) throw new Error(`${method} takes ${names.join(", ")}, not ${unknown}.`);
}

export function createOperations(merchant: Identity, loseNext: Service["loseNext"]) {
  const { id, baseUrl, apiKey, webhookSecret } = merchant;
  const { send } = createRemote({ baseUrl }, { API_KEY: apiKey });
  const seen = new Set<string>();
  /** What `webhook` has not returned, oldest first. */
  const unread: Event[] = [];

  /** Reads. What the merchant's chaos switch does is for the program under test. */
  const read = <Data>(path: string, repeats = REPEATS): Promise<Data> =>
    send<Data>("GET", path).catch((error: RemoteError) => {
      if ((error.status ?? 500) < 500 || repeats === 0) throw error;
      return read(path, repeats - 1);
    });

  /** Reads a list, newest first. @param isKnown ends the list early */
  async function list<Item>(path: string, filter = {}, isKnown?: (item: Item) => boolean): Promise<Item[]> {
    const query = new URLSearchParams({ limit: "100", ...filter });
    const { items, nextCursor: cursor } = await read<{ items: Item[]; nextCursor?: string }>(`${path}?${query}`);
    if (cursor === undefined || (isKnown && items.some(isKnown))) return items;
    return [...items, ...(await list(path, { ...filter, cursor }, isKnown))];
  }

  async function nextEvent(type: string): Promise<Event | undefined> {
    const events = await list<Event>("/sandbox/events", {}, (event) => seen.has(event.id));
    unread.push(...events.filter((event) => !seen.has(event.id)).toReversed());
    for (const event of events) seen.add(event.id);
    const index = unread.findIndex(({ body }) => body.event === type);
    return index < 0 ? undefined : unread.splice(index, 1)[0];
  }

  async function whyNone(type: string, timeout: number): Promise<string> {
    const [kind, path, period] = type.startsWith("checkout.")
      ? ["checkout", "checkouts", "minutes: 30"]
      : ["payout", "disbursements", "days: 1"];
    const pending = await list<Payment>(`/v1/${path}`, { status: "pending" });
    if (pending.length === 0) return `No ${type} within ${timeout} ms, and no ${kind} is pending.`;
    const some = pending.slice(0, 5).map((record) => record.merchantsReference);
    const until = `A ${kind} stays pending until finish(reference, status), or advance({ ${period} }).`;
    return `No ${type} within ${timeout} ms. Pending: ${some.join(", ")}${pending.length > 5 ? ", …" : ""}. ${until}`;
  }

  return {
    async merchant(name?: string): Promise<Identity> {
      const made = await send<Schemas["MerchantCreated"]>("POST", "/sandbox/merchants", { name });
      return { id: made.id, baseUrl, apiKey: made.apiKey, webhookSecret: made.webhookSecret };
    },
    removeMerchant: (other: string) => send("DELETE", `/sandbox/merchants/${other}`),
    async advance(duration: Duration) {
      checkNames("advance", duration, Object.keys(SECONDS));
      const parts = Object.entries(duration) as [string, number][];
      const seconds = parts.reduce((sum, [unit, count]) => sum + count * SECONDS[unit]!, 0);
      const { now } = await send<Schemas["Clock"]>("POST", "/sandbox/clock/advance", { seconds });
      return now;
    },
    async finish(reference: string, status: string, options: { failure?: string } = {}) {
      if (typeof reference !== "string") throw new Error("finish takes a reference, which is text, and a status.");
      checkNames("The third argument of finish", options, ["failure"]);
      const { failure } = options;
      const paths = ["/v1/disbursements", "/v1/checkouts"];
      const found = paths.map((path) => list<Payment>(path, { merchantsReference: reference }));
      const records = (await Promise.all(found)).flat();
      if (records.length > 1)
        throw new Error(`A payout and a checkout have the reference ${reference}. Give the service's reference.`);
      const service = records[0]?.reference ?? reference;
      const path = `${encodeURIComponent(service)}/finish`;
      if (service.startsWith("DSB")) return send("POST", `/sandbox/disbursements/${path}`, { status, failure });
      if (!service.startsWith("CHK")) throw new Error(`No payout or checkout has the reference ${reference}.`);
      if (failure !== undefined) throw new Error("failure is for payouts, not for checkouts.");
      return send("POST", `/sandbox/checkouts/${path}`, { outcome: status });
    },
    async lose(response: string) {
      const operationId = CREATES[response];
      if (!operationId) throw new Error(`lose takes ${Object.keys(CREATES).join(" or ")}, not ${response}.`);
      loseNext(id, operationId);
    },
    payouts: async () => (await list<Schemas["Disbursement"]>("/v1/disbursements")).toReversed(),
    /** @param choices.now the test's time, in milliseconds since 1970 */
    async webhook(type: string, choices: { timeout?: number; to?: string; now: number }) {
      const { timeout = TIMEOUT_MS, to, now } = choices;
      if (!(EVENT_TYPES as readonly string[]).includes(type))
        throw new Error(`There is no event ${type}. There are ${EVENT_TYPES.join(", ")}.`);
      const end = performance.now() + timeout;
      let event = await nextEvent(type);
      for (; !event; event = await nextEvent(type)) {
        if (!(performance.now() < end)) throw new Error(await whyNone(type, timeout));
        await sleep(LOOK_EVERY_MS);
      }
      const body = JSON.stringify(event.body);
      const headers = webhookHeaders({ id: event.id, secrets: [webhookSecret], body }, now);
      const response = to !== undefined && { response: await post(to, headers, body, timeout) };
      return { event: event.body, body, headers, ...response };
    },
  };
}
export type Operations = ReturnType<typeof createOperations>;

async function post(url: string, headers: Record<string, string>, body: string, timeout: number) {
  try {
    const signal = AbortSignal.timeout(timeout);
    const response = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal });
    return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() };
  } catch (error) {
    const { name, message, cause } = error as Error & { cause?: { code?: string; message?: string } };
    const isLate = name === "TimeoutError";
    const reason = isLate ? `no response within ${timeout} ms` : (cause?.code ?? cause?.message ?? message);
    throw new Error(`The webhook could not be sent to ${url}: ${reason}.`, { cause: error });
  }
}
