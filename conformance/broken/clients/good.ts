// A small client that does everything right. The broken clients and the other sound clients replace a part of it.
import type { Entry } from "../../programs/client/entries.ts";
import type { Outcome } from "../../programs/client/protocol.ts";
import type { Host, Program } from "./host.ts";

/** What a client reads of a record. */
export type Found = {
  merchantsReference?: unknown;
  amount?: unknown;
  status?: unknown;
  country?: unknown;
  currency?: unknown;
  customer?: { phoneNumber?: unknown };
};

type Body = { statusCode?: unknown; error?: unknown; code?: unknown; data?: Found & { items?: Found[] } };

/** A response that was read to its end. `body` is undefined if it is not JSON. */
export type Reply = { status: number; headers: Headers; text: string; body: Body | null | undefined };

/** What the response to an attempt, or a missing response, means for the entry. */
export type Reading =
  | Outcome
  | "conflict"
  /** Nothing was recorded, and the service asks to retry later. */
  | "later"
  /** Nobody knows whether anything was recorded. */
  | "lost";

export type Job = {
  client: Client;
  host: Host;
  entry: Entry;
  /** True if an earlier request or start may have recorded the entry. */
  isInDoubt: boolean;
};

const outcomes: Record<string, Outcome> = { success: "paid", failed: "failed", pending: "pending" };
const largestBody = 1_000_000;
/** The delay before the first retry, in ms. */
const shortestDelay = 10;
const payouts = "/v1/disbursements";

/** Returns the outcome that a status means; undefined for an unknown status. */
export const outcomeOf = (status: unknown): Outcome | undefined =>
  typeof status === "string" ? outcomes[status] : undefined;

/** Returns true for an error that the service itself sent. */
export const isFromService = ({ status, body }: Reply) => body?.statusCode === status && typeof body.error === "string";

/** Returns true if the error has a code, which the errors of a gateway lack. */
const hasCode = (reply: Reply) => typeof reply.body?.code === "string";

export const dataOf = (reply: Reply | undefined) => reply?.body?.data;

async function textOf(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of (response.body ?? []) as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(part, { stream: true });
    if (text.length > largestBody) throw new Error("the response is too large");
  }
  return text;
}

function parsed(text: string): Reply["body"] {
  try {
    return JSON.parse(text) as Reply["body"];
  } catch {
    return undefined;
  }
}

export const jobOf = (client: Client, host: Host, entry: Entry): Job => ({ client, host, entry, isInDoubt: false });

/** The parts of a client. A variant replaces some of them; each part finds the others in its job. */
export class Client {
  attempts = 9;
  /** How many entries are in progress at a time. */
  concurrency = 4;
  redirect: RequestRedirect = "manual";
  /** The longest wait that the client accepts, in ms. */
  longestWait = 3000;

  /** Returns the time limit of a request; undefined for no limit. */
  limitOf(suggestedMs: number): number | undefined {
    return suggestedMs;
  }
  referenceOf({ entry }: Job, _attempt: number): string {
    return entry.reference;
  }
  pathOf(_job: Job): string {
    return payouts;
  }
  bodyOf({ entry }: Job, reference: string): string {
    return JSON.stringify({ ...entry, reference });
  }
  headersOf({ host }: Job): Record<string, string> {
    return { "x-api-key": host.environment.API_KEY, "content-type": "application/json" };
  }

  /** Sends a request. Resolves with undefined if no complete response came. */
  async send(job: Job, method: string, path: string, body?: string): Promise<Reply | undefined> {
    const { host, client } = job;
    const { BASE_URL, TIMEOUT_MS } = host.environment;
    const limit = client.limitOf(Number(TIMEOUT_MS));
    try {
      const response = await host.fetch(new URL(path, BASE_URL), {
        method,
        headers: client.headersOf(job),
        redirect: client.redirect,
        ...(body === undefined ? {} : { body }),
        ...(limit === undefined ? {} : { signal: AbortSignal.timeout(limit) }),
      });
      const text = await textOf(response);
      return { status: response.status, headers: response.headers, text, body: parsed(text) };
    } catch {
      return undefined;
    }
  }

  /** Reads what the response to a create says. */
  read({ entry }: Job, reply: Reply | undefined): Reading {
    if (!reply) return "lost";
    const data = dataOf(reply);
    const outcome = outcomeOf(data?.status);
    const isMine = data?.merchantsReference === entry.reference && data.amount === entry.amount;
    if (reply.status === 200 && outcome && isMine) return outcome;
    if (reply.status === 429) return "later";
    if (reply.status >= 500 || reply.status < 400 || !isFromService(reply)) return "lost";
    if (reply.status === 409) return "conflict";
    return reply.status === 422 || hasCode(reply) ? "refused" : "lost";
  }
  /** Called after an attempt was read. */
  onReply(_job: Job, _reply: Reply | undefined): void {}

  /** Returns true if a record pays the entry. */
  isSame({ entry }: Job, found: Found): boolean {
    const isAlike = (["amount", "country", "currency"] as const).every((field) => found[field] === entry[field]);
    return isAlike && found.customer?.phoneNumber === entry.phoneNumber;
  }

  /** Returns the path of the record, or the URL, to which a `Location` points; undefined if it points nowhere. */
  pathTo({ host }: Job, location: string | null): string | undefined {
    if (location === null || !URL.canParse(location, host.environment.BASE_URL)) return undefined;
    const segment = new URL(location, host.environment.BASE_URL).pathname.split("/").at(-1);
    return segment ? `${payouts}/${segment}` : undefined;
  }

  /** Reads the record with the entry's reference: where the `Location` points, else from the list. */
  async find(job: Job, location: string | null): Promise<Found | undefined> {
    const { client, host, entry } = job;
    const path = client.pathTo(job, location);
    for (let attempt = 1; attempt <= client.attempts; attempt += 1) {
      const reply = path === undefined ? undefined : await client.send(job, "GET", path);
      const data = reply?.status === 200 ? dataOf(reply) : undefined;
      if (data?.merchantsReference === entry.reference) return data;
      const listed = await client.look(job);
      if (listed !== undefined && listed !== "none") return listed;
      if (path === undefined && listed === "none") return undefined;
      await host.sleep(client.delayOf(job, attempt, reply));
    }
    return undefined;
  }

  /** Looks for the record in the list; "none" if the list does not show it, undefined if there was no list. */
  async look(job: Job): Promise<Found | "none" | undefined> {
    const { reference } = job.entry;
    const query = new URLSearchParams({ merchantsReference: reference });
    const reply = await job.client.send(job, "GET", `${payouts}?${query}`);
    if (reply?.status === 404 && isFromService(reply)) return "none";
    const items = dataOf(reply)?.items;
    if (reply?.status !== 200 || !Array.isArray(items)) return undefined;
    return items.find(({ merchantsReference }) => merchantsReference === reference) ?? "none";
  }

  /** Finds out whether the payout that causes a 409 pays the entry. */
  async resolve(job: Job, location: string | null): Promise<Outcome> {
    const found = await job.client.find(job, location);
    // An item of a list may lack the recipient.
    if (!found?.customer?.phoneNumber) return "unknown";
    return job.client.isSame(job, found) ? (outcomeOf(found.status) ?? "unknown") : "refused";
  }

  /** Finds the outcome of an entry in doubt that the service refuses now, perhaps because of the earlier request. */
  async refusedInDoubt(job: Job): Promise<Outcome> {
    const found = await job.client.look(job);
    if (!found || found === "none" || !job.client.isSame(job, found)) return "unknown";
    return outcomeOf(found.status) ?? "unknown";
  }

  /** Returns the wait that a response asks for, in ms. */
  waitOf(reply: Reply | undefined): number {
    const text = reply?.headers.get("retry-after");
    if (!text) return 0;
    const wait = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
    return wait > 0 ? wait : 0;
  }
  /** Returns how long to wait before the next attempt, in ms. */
  delayOf({ client }: Job, attempt: number, reply: Reply | undefined): number {
    return client.waitOf(reply) + shortestDelay * 2 ** Math.min(attempt - 1, 5);
  }
  /** Returns an outcome if the client gives up after a request whose outcome is unknown. */
  onLost(_job: Job): Outcome | undefined {
    return undefined;
  }

  async payOne(job: Job): Promise<Outcome> {
    const { client, host, entry } = job;
    const known = client.remembered(job);
    if (known !== undefined && known !== "sent") return known;
    job.isInDoubt = known === "sent" || client.mayBeSent(job);
    host.files.set(entry.reference, "sent");
    for (let attempt = 1; attempt <= client.attempts; attempt += 1) {
      const body = client.bodyOf(job, client.referenceOf(job, attempt));
      const reply = await client.send(job, "POST", client.pathOf(job), body);
      const reading = client.read(job, reply);
      if (reading === "lost") job.isInDoubt = true;
      client.onReply(job, reply);
      if (reading === "conflict") return client.resolve(job, reply!.headers.get("location"));
      if (reading === "refused") break;
      if (reading !== "lost" && reading !== "later") return reading;
      const given = reading === "lost" ? client.onLost(job) : undefined;
      if (given) return given;
      const delay = client.delayOf(job, attempt, reply);
      if (delay > client.longestWait) break;
      await host.sleep(delay);
    }
    return job.isInDoubt ? client.refusedInDoubt(job) : "refused";
  }

  /** Returns what an earlier start stored about the entry. */
  remembered({ host, entry }: Job): Outcome | "sent" | undefined {
    return host.files.get(entry.reference) as Outcome | "sent" | undefined;
  }
  /** Returns true if an earlier start may have sent the entry without a note of it. */
  mayBeSent({ host }: Job): boolean {
    return host.environment.STATE_DIR === "";
  }
  report({ host, entry }: Job, outcome: Outcome): void {
    host.print(JSON.stringify({ reference: entry.reference, outcome }));
  }

  async payAll(client: Client, host: Host): Promise<void> {
    // An entry that is repeated in the input is one payment.
    const waiting = [...new Map(host.entries.map((entry) => [entry.reference, entry])).values()];
    const work = async () => {
      for (let entry = waiting.shift(); entry; entry = waiting.shift()) {
        const job = jobOf(client, host, entry);
        const outcome = await client.payOne(job);
        // Other outcomes may change, so the next start asks again.
        if (outcome === "paid" || outcome === "failed") host.files.set(entry.reference, outcome);
        if (outcome === "refused") host.files.delete(entry.reference);
        client.report(job, outcome);
      }
    };
    await Promise.all(Array.from({ length: client.concurrency }, work));
  }
}

export const good = new Client();

/** Returns a client that replaces parts of another. */
export const withParts = (client: Client, parts: Partial<Client>): Client =>
  Object.assign(Object.create(client) as Client, parts);

/** Returns the program of a client that replaces parts of the good client. */
export const programOf =
  (parts: Partial<Client> = {}): Program =>
  (host) => {
    const client = withParts(good, parts);
    return client.payAll(client, host);
  };
