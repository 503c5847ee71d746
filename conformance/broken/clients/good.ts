// A small client that does everything right. The broken clients and the other sound clients replace a part of this
// client.
import type { Entry } from "../../programs/client/entries.ts";
import type { Outcome } from "../../programs/client/protocol.ts";
import type { Host, Program } from "./host.ts";

/** A response that was read to its end. `body` is undefined if it is no JSON. */
export type Reply = { status: number; headers: Headers; text: string; body: unknown };

type Error7 = { statusCode?: unknown; error?: unknown; code?: unknown };
/** What a client reads of a record. */
export type Found = {
  merchantsReference?: unknown;
  amount?: unknown;
  status?: unknown;
  country?: unknown;
  currency?: unknown;
  customer?: { phoneNumber?: unknown };
};

/** What the response to an attempt, or a missing response, means for the entry. */
export type Reading =
  | { kind: "done"; outcome: Outcome }
  | { kind: "refused" }
  | { kind: "conflict"; location: string | null }
  /** Nothing was recorded, and the service asks to retry later. */
  | { kind: "later" }
  /** Nobody knows whether anything was recorded. */
  | { kind: "lost" };

export type Job = { client: Client; host: Host; entry: Entry };

/** The parts of a client. A variant replaces some of them. */
export type Client = {
  attempts: number;
  /** How many entries are in progress at a time. */
  concurrency: number;
  redirect: RequestRedirect;
  /** The longest wait that the client accepts, in ms. */
  longestWait: number;
  /** Returns the time limit of a request; undefined for no limit. */
  limitOf(suggestedMs: number): number | undefined;
  referenceOf(job: Job, attempt: number): string;
  pathOf(job: Job): string;
  bodyOf(job: Job, reference: string): string;
  headersOf(job: Job): Record<string, string>;
  /** Sends a request. Resolves with undefined if no complete response came. */
  send(job: Job, method: string, url: string, body?: string): Promise<Reply | undefined>;
  textOf(response: Response): Promise<string>;
  parse(text: string): unknown;
  onError(job: Job, error: unknown): void;
  onReply(job: Job, reply: Reply | undefined): void;
  /** Reads what the response to a create says. */
  read(job: Job, reply: Reply | undefined): Reading;
  /** Returns true if a record pays the entry. */
  isSame(job: Job, found: Found): boolean;
  /** Returns the URL of the record to which a `Location` points; undefined if it points nowhere. */
  recordUrl(job: Job, location: string | null): string | undefined;
  /** Reads the record with the entry's reference: where the `Location` points, else from the list. */
  find(job: Job, location: string | null): Promise<Found | undefined>;
  /** Looks for the record in the list; "none" if the list does not show it, undefined if there was no list. */
  look(job: Job): Promise<Found | "none" | undefined>;
  /** Finds out whether the payout that causes a 409 pays the entry. */
  resolve(job: Job, location: string | null, isInDoubt: boolean): Promise<Outcome>;
  /** Finds the outcome of an entry in doubt that the service refuses now, perhaps because of the earlier request. */
  refusedInDoubt(job: Job): Promise<Outcome>;
  /** Returns the wait that a response asks for, in ms. */
  waitOf(reply: Reply | undefined): number;
  /** Returns how long to wait before the next attempt, in ms. */
  delayOf(job: Job, attempt: number, reply: Reply | undefined): number;
  /** Returns an outcome if the client gives up after a request whose outcome is unknown. */
  onLost(job: Job): Outcome | undefined;
  atTheEnd(job: Job, isInDoubt: boolean): Promise<Outcome>;
  payOne(job: Job): Promise<Outcome>;
  /** Returns what an earlier start stored about the entry. */
  remembered(job: Job): Outcome | "sent" | undefined;
  /** Returns true if an earlier start may have sent the entry without a note of it. */
  mayBeSent(job: Job): boolean;
  report(job: Job, outcome: Outcome): void;
  payAll(client: Client, host: Host): Promise<void>;
};

const outcomes: Record<string, Outcome> = { success: "paid", failed: "failed", pending: "pending" };
const largestBody = 1_000_000;
/** The delay before the first retry, in ms. */
const shortestDelay = 10;

/** Returns the outcome that a status means; undefined for an unknown status. */
export const outcomeOf = (status: unknown): Outcome | undefined =>
  typeof status === "string" ? outcomes[status] : undefined;

/** Returns true for an error that the service itself sent. */
export const isFromService = ({ status, body }: Reply) => {
  const { statusCode, error } = (body ?? {}) as Error7;
  return statusCode === status && typeof error === "string";
};

/** Returns true if the error has a code, which the errors of a gateway lack. */
const hasCode = ({ body }: Reply) => typeof ((body ?? {}) as Error7).code === "string";

export const dataOf = ({ body }: Reply): Found | undefined => (body as { data?: Found } | null | undefined)?.data;

async function textOf(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of (response.body ?? []) as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(part, { stream: true });
    if (text.length > largestBody) throw new Error("the response is too large");
  }
  return text;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const good: Client = {
  attempts: 9,
  concurrency: 4,
  redirect: "manual",
  longestWait: 3000,
  limitOf: (ms) => ms,
  referenceOf: ({ entry }) => entry.reference,
  pathOf: () => "/v1/disbursements",
  bodyOf: ({ entry }, reference) => JSON.stringify({ ...entry, reference }),
  headersOf: ({ host }) => ({
    "x-api-key": host.environment.API_KEY,
    "content-type": "application/json",
  }),

  async send(job, method, url, body) {
    const { host, client } = job;
    const limit = client.limitOf(Number(host.environment.TIMEOUT_MS));
    try {
      const response = await host.fetch(url, {
        method,
        headers: client.headersOf(job),
        redirect: client.redirect,
        ...(body === undefined ? {} : { body }),
        ...(limit === undefined ? {} : { signal: AbortSignal.timeout(limit) }),
      });
      const text = await client.textOf(response);
      return { status: response.status, headers: response.headers, text, body: client.parse(text) };
    } catch (error) {
      client.onError(job, error);
      return undefined;
    }
  },
  textOf,
  parse: parsed,
  onError: () => undefined,
  onReply: () => undefined,

  read({ entry }, reply) {
    if (!reply) return { kind: "lost" };
    const data = dataOf(reply);
    const outcome = outcomeOf(data?.status);
    const isMine = data?.merchantsReference === entry.reference && data.amount === entry.amount;
    if (reply.status === 200 && outcome && isMine) return { kind: "done", outcome };
    if (reply.status === 429) return { kind: "later" };
    if (reply.status >= 500 || reply.status < 400 || !isFromService(reply)) return { kind: "lost" };
    if (reply.status === 409) return { kind: "conflict", location: reply.headers.get("location") };
    if (reply.status !== 422 && !hasCode(reply)) return { kind: "lost" };
    return { kind: "refused" };
  },

  isSame: ({ entry }, found) =>
    found.amount === entry.amount &&
    found.country === entry.country &&
    found.currency === entry.currency &&
    found.customer?.phoneNumber === entry.phoneNumber,

  recordUrl({ host }, location) {
    if (location === null || !URL.canParse(location, host.environment.BASE_URL)) return undefined;
    const segment = new URL(location, host.environment.BASE_URL).pathname.split("/").at(-1);
    return segment ? `${host.environment.BASE_URL}/v1/disbursements/${segment}` : undefined;
  },

  async find(job, location) {
    const { client, host, entry } = job;
    const url = client.recordUrl(job, location);
    for (let attempt = 1; attempt <= client.attempts; attempt += 1) {
      const reply = url === undefined ? undefined : await client.send(job, "GET", url);
      const data = reply?.status === 200 ? dataOf(reply) : undefined;
      if (data?.merchantsReference === entry.reference) return data;
      const listed = await client.look(job);
      if (listed !== undefined && listed !== "none") return listed;
      if (url === undefined && listed === "none") return undefined;
      await host.sleep(client.delayOf(job, attempt, reply));
    }
    return undefined;
  },

  async look(job) {
    const { client, host, entry } = job;
    const query = new URLSearchParams({ merchantsReference: entry.reference });
    const reply = await client.send(job, "GET", `${host.environment.BASE_URL}/v1/disbursements?${query}`);
    if (reply?.status === 404 && isFromService(reply)) return "none";
    const { items } = ((reply && dataOf(reply)) ?? {}) as { items?: Found[] };
    if (reply?.status !== 200 || !Array.isArray(items)) return undefined;
    return items.find(({ merchantsReference }) => merchantsReference === entry.reference) ?? "none";
  },

  async resolve(job, location, _isInDoubt) {
    const { client } = job;
    const found = await client.find(job, location);
    // An item of a list may lack the recipient.
    if (!found?.customer?.phoneNumber) return "unknown";
    return client.isSame(job, found) ? (outcomeOf(found.status) ?? "unknown") : "refused";
  },

  async refusedInDoubt(job) {
    const found = await job.client.look(job);
    if (!found || found === "none") return "unknown";
    return job.client.isSame(job, found) ? (outcomeOf(found.status) ?? "unknown") : "unknown";
  },

  waitOf(reply) {
    const text = reply?.headers.get("retry-after");
    if (!text) return 0;
    const wait = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
    return wait > 0 ? wait : 0;
  },

  delayOf({ client }, attempt, reply) {
    return client.waitOf(reply) + shortestDelay * 2 ** Math.min(attempt - 1, 5);
  },

  onLost: () => undefined,
  async atTheEnd(job, isInDoubt) {
    return isInDoubt ? job.client.refusedInDoubt(job) : "refused";
  },

  async payOne(job) {
    const { client, host, entry } = job;
    const known = client.remembered(job);
    if (known !== undefined && known !== "sent") return known;
    let isInDoubt = known === "sent" || client.mayBeSent(job);
    host.files.set(entry.reference, "sent");
    for (let attempt = 1; attempt <= client.attempts; attempt += 1) {
      const reference = client.referenceOf(job, attempt);
      const url = `${host.environment.BASE_URL}${client.pathOf(job)}`;
      const reply = await client.send(job, "POST", url, client.bodyOf(job, reference));
      client.onReply(job, reply);
      const reading = client.read(job, reply);
      if (reading.kind === "done") return reading.outcome;
      if (reading.kind === "conflict") return client.resolve(job, reading.location, isInDoubt);
      if (reading.kind === "refused") return isInDoubt ? client.refusedInDoubt(job) : "refused";
      if (reading.kind === "lost") {
        isInDoubt = true;
        const outcome = client.onLost(job);
        if (outcome) return outcome;
      }
      const delay = client.delayOf(job, attempt, reply);
      if (delay > client.longestWait) break;
      await host.sleep(delay);
    }
    return client.atTheEnd(job, isInDoubt);
  },

  remembered({ host, entry }) {
    return host.files.get(entry.reference) as Outcome | "sent" | undefined;
  },

  mayBeSent: ({ host }) => host.environment.STATE_DIR === "",

  report({ host, entry }, outcome) {
    host.print(JSON.stringify({ reference: entry.reference, outcome }));
  },

  async payAll(client, host) {
    // An entry that is repeated in the input is one payment.
    const waiting = [...new Map(host.entries.map((entry) => [entry.reference, entry])).values()];
    const work = async () => {
      for (let entry = waiting.shift(); entry; entry = waiting.shift()) {
        const job = { client, host, entry };
        const outcome = await client.payOne(job);
        // Other outcomes may change, so the next start asks again.
        if (outcome === "paid" || outcome === "failed") host.files.set(entry.reference, outcome);
        if (outcome === "refused") host.files.delete(entry.reference);
        client.report(job, outcome);
      }
    };
    await Promise.all(Array.from({ length: client.concurrency }, work));
  },
};

/** Returns the program of a client that replaces parts of the good client. */
export const programOf =
  (change: Partial<Client> = {}): Program =>
  (host) => {
    const client = { ...good, ...change };
    return client.payAll(client, host);
  };
