// The broken clients. Each is the good client with a single fault, and names the requirement that the fault breaks and
// the scenarios that show the fault.
import { randomUUID } from "node:crypto";
import type { Entry } from "../../programs/client/entries.ts";
import type { Outcome } from "../../programs/client/protocol.ts";
import {
  dataOf,
  good,
  isFromService,
  outcomeOf,
  programOf,
  type Client,
  type Found,
  type Job,
  type Reading,
  type Reply,
} from "./good.ts";
import type { Program } from "./host.ts";

export type BrokenClient = {
  id: string;
  /** The requirement that must fail; a should must warn. */
  breaks: string;
  /** The scenarios. At least one of these scenarios must catch the fault. */
  scenarios: readonly string[];
  program: Program;
};

const run = (id: string, breaks: string, scenarios: string, program: Program): BrokenClient => ({
  id,
  breaks,
  scenarios: scenarios.split(" "),
  program,
});
const broken = (id: string, breaks: string, scenarios: string, change: Partial<Client>) =>
  run(id, breaks, scenarios, programOf(change));

/** Reads as the good client does, except for what `differs` returns. */
const reads = (differs: (job: Job, reply: Reply | undefined) => Reading | undefined): Partial<Client> => ({
  read: (job, reply) => differs(job, reply) ?? good.read(job, reply),
});

const done = (outcome: Outcome): Reading => ({ kind: "done", outcome });

/** Ends the attempts with an outcome, for responses that `when` selects. */
const readsAs = (outcome: Outcome, when: (reply: Reply) => boolean) =>
  reads((_job, reply) => (reply && when(reply) ? done(outcome) : undefined));

const readsAsRefused = (code: number) =>
  reads((_job, reply) => (reply?.status === code ? { kind: "refused" } : undefined));

/** Reports a refused entry as not paid, although an earlier request whose response was lost may have paid it. */
const readsAsRefusedWithDoubt = (code: number) =>
  reads((_job, reply) => (reply?.status === code ? done("refused") : undefined));

/** Reads the list of payouts with the entry's reference. */
async function listOf(job: Job): Promise<{ items?: Found[] } | undefined> {
  const query = new URLSearchParams({ merchantsReference: job.entry.reference });
  const reply = await good.send(job, "GET", `${job.host.environment.BASE_URL}/v1/disbursements?${query}`);
  return reply && (dataOf(reply) as { items?: Found[] } | undefined);
}

const body = (change: (entry: Entry) => Record<string, unknown>): Partial<Client> => ({
  bodyOf: ({ entry }, reference) => JSON.stringify({ ...entry, reference, ...change(entry) }),
});

/** Makes a reference of its own from an entry's reference. */
const reference = (change: (text: string, job: Job) => string): Partial<Client> => ({
  payOne: (job) => good.payOne({ ...job, entry: { ...job.entry, reference: change(job.entry.reference, job) } }),
});

/** Uses a new reference after an attempt that `when` selects. */
function newReferenceAfter(when: (reply: Reply | undefined) => boolean): Partial<Client> {
  const failures = new Map<Entry, number>();
  return {
    onReply({ entry }, reply) {
      if (when(reply)) failures.set(entry, (failures.get(entry) ?? 0) + 1);
    },
    referenceOf: ({ entry }) => `${entry.reference}${failures.has(entry) ? `-retry-${failures.get(entry)}` : ""}`,
  };
}

const status =
  (...statuses: number[]) =>
  (reply: Reply | undefined) =>
    statuses.includes(reply?.status ?? 0);

/** Runs the good client and changes what it reports. */
const reports = (report: (job: Job, outcome: Outcome) => void): Partial<Client> => ({ report });

/** Clients with faults in their references and requests. */
const references: readonly BrokenClient[] = [
  broken("new-reference-on-retry", "client.pays-once", "dropped", {
    referenceOf: ({ entry }, attempt) => (attempt === 1 ? entry.reference : `${entry.reference}-${attempt}`),
  }),
  broken(
    "new-reference-after-loss",
    "client.pays-once",
    "cut-body",
    newReferenceAfter((reply) => reply === undefined),
  ),
  broken("new-reference-after-500", "client.pays-once", "failure", newReferenceAfter(status(500))),
  broken("new-reference-after-504", "client.pays-once", "gateway-504", newReferenceAfter(status(504))),
  broken("new-reference-after-503", "client.pays-once", "unavailable-recorded", newReferenceAfter(status(503))),
  broken(
    "new-reference-after-page",
    "client.pays-once",
    "gateway-200",
    newReferenceAfter((reply) => reply?.body === undefined),
  ),
  broken("new-reference-after-409", "client.pays-once", "sent-twice", {
    ...newReferenceAfter(status(409)),
    read: (job, reply) => (reply?.status === 409 ? { kind: "later" } : good.read(job, reply)),
  }),
  broken("reference-per-start", "client.pays-once", "killed-third-recorded", {
    ...reference((text, { host }) => `${text}${host.files.get("suffix")}`),
    async payAll(client, host) {
      const starts = Number(host.files.get("starts") ?? 0);
      host.files.set("starts", String(starts + 1));
      host.files.set("suffix", starts === 0 ? "" : `-${starts}`);
      await good.payAll(client, host);
    },
    remembered: () => undefined,
  }),
  broken(
    "reference-per-worker",
    "client.pays-once",
    "workers",
    reference((text, { host }) => `${text}-${host.environment.STATE_DIR.slice(-1)}`),
  ),
  broken(
    "reference-lower-case",
    "client.same-reference",
    "references",
    reference((text) => text.toLowerCase()),
  ),
  broken(
    "reference-trimmed",
    "client.same-reference",
    "references",
    reference((text) => text.trim()),
  ),
  broken(
    "reference-normalised",
    "client.same-reference",
    "references",
    reference((text) => text.normalize("NFC")),
  ),
  broken(
    "reference-cut",
    "client.same-reference",
    "references",
    reference((text) => text.slice(0, 20)),
  ),
  broken(
    "reference-ascii",
    "client.loses-nothing",
    "references",
    reference((text) => text.replaceAll(/[^ -~]/g, "?")),
  ),
  broken("reference-only-in-the-database", "client.pays-once", "started-elsewhere", {
    payOne(job) {
      const name = `reference of ${job.entry.reference}`;
      const own = job.host.files.get(name) ?? randomUUID();
      job.host.files.set(name, own);
      return good.payOne({ ...job, entry: { ...job.entry, reference: own } });
    },
  }),
  broken(
    "reference-by-position",
    "client.same-reference",
    "started-elsewhere",
    reference((_text, { host, entry }) => `payment-${host.entries.indexOf(entry)}`),
  ),
  broken("reference-shared", "client.loses-nothing", "twins", {
    referenceOf: ({ host, entry }) =>
      host.entries.find(({ phoneNumber }) => phoneNumber === entry.phoneNumber)!.reference,
  }),
  broken("drops-twins", "client.loses-nothing", "twins", {
    async payOne(job) {
      const first = job.host.entries.find(({ phoneNumber }) => phoneNumber === job.entry.phoneNumber)!;
      return first === job.entry ? good.payOne(job) : "refused";
    },
  }),
];

const requests: readonly BrokenClient[] = [
  broken(
    "amount-as-float",
    "client.exact-request",
    "amounts",
    body(({ amount }) => ({ amount: Math.fround(amount) })),
  ),
  broken(
    "amount-as-int32",
    "client.contract",
    "amounts",
    body(({ amount }) => ({ amount: Math.trunc(amount) | 0 })),
  ),
  broken(
    "amount-as-text",
    "client.contract",
    "calm",
    body(({ amount }) => ({ amount: String(amount) })),
  ),
  broken(
    "amount-in-units",
    "client.exact-request",
    "calm",
    body(({ amount }) => ({ amount: Math.ceil(amount / 100) })),
  ),
  broken(
    "amount-with-fee",
    "client.exact-request",
    "calm",
    body(({ amount }) => ({ amount: amount + 1 })),
  ),
  broken(
    "phone-with-plus",
    "client.contract",
    "calm",
    body(({ phoneNumber }) => ({ phoneNumber: `+${phoneNumber}` })),
  ),
  broken(
    "phone-as-number",
    "client.contract",
    "calm",
    body(({ phoneNumber }) => ({ phoneNumber: Number(phoneNumber) })),
  ),
  broken(
    "phone-without-zero",
    "client.contract",
    "places",
    body(({ phoneNumber }) => ({ phoneNumber: phoneNumber.replace(/^0+/, "") })),
  ),
  broken(
    "country-of-its-own",
    "client.exact-request",
    "calm",
    body(() => ({ country: "CI", currency: "XOF" })),
  ),
  broken(
    "no-currency",
    "client.contract",
    "calm",
    body(() => ({ currency: undefined })),
  ),
  broken("key-as-bearer", "client.contract", "calm", {
    headersOf: ({ host }) => ({
      authorization: `Bearer ${host.environment.API_KEY}`,
      "content-type": "application/json",
    }),
  }),
  broken("key-in-url", "client.contract", "calm", {
    pathOf: ({ host }) => `/v1/disbursements?key=${host.environment.API_KEY}`,
  }),
  broken("no-content-type", "client.contract", "calm", {
    headersOf: ({ host }) => ({ "x-api-key": host.environment.API_KEY }),
  }),
  broken("form-body", "client.contract", "calm", {
    bodyOf: ({ entry }) => new URLSearchParams({ ...entry, amount: String(entry.amount) }).toString(),
  }),
  broken("wrong-path", "client.contract", "calm", { pathOf: () => "/v1/disbursement" }),
  broken("made-up-filter", "client.contract", "location-missing", {
    async look(job) {
      const { BASE_URL } = job.host.environment;
      await job.client.send(job, "GET", `${BASE_URL}/v1/disbursements?reference=${job.entry.amount}`);
      return good.look(job);
    },
  }),
];

const failures: readonly BrokenClient[] = [
  broken("one-attempt", "client.loses-nothing", "unrecorded", { attempts: 1 }),
  broken("no-retry-after-500", "client.loses-nothing", "failure", readsAs("refused", status(500))),
  broken("no-retry-after-429", "client.loses-nothing", "limited-vaguely", readsAs("refused", status(429))),
  broken("no-retry-after-503", "client.loses-nothing", "limited", readsAs("unknown", status(503))),
  broken("loss-is-failed", "client.failed-is-true", "dropped", { onLost: () => "failed" }),
  broken("loss-is-refused", "client.refused-is-true", "dropped", { onLost: () => "refused" }),
  broken("loss-is-paid", "client.paid-is-true", "dropped", { onLost: () => "paid" }),
  broken("loss-is-pending", "client.pending-is-true", "unrecorded", { onLost: () => "pending" }),
  broken("loss-is-unknown", "client.finds-out", "dropped", { onLost: () => "unknown" }),
  broken("500-is-refused", "client.refused-is-true", "failure", readsAs("refused", status(500))),
  broken("504-is-failed", "client.failed-is-true", "gateway-504", readsAs("failed", status(504))),
  broken("401-is-refused", "client.refused-is-true", "gateway-401", readsAsRefused(401)),
  broken("403-is-refused", "client.refused-is-true", "gateway-403-json", readsAsRefused(403)),
  broken("404-is-refused", "client.refused-is-true", "gateway-404", readsAsRefused(404)),
  broken("422-is-refused", "client.refused-is-true", "gateway-422", readsAsRefused(422)),
  broken("any-200-is-paid", "client.paid-is-true", "calm", readsAs("paid", status(200))),
  broken(
    "page-is-paid",
    "client.paid-is-true",
    "gateway-200",
    readsAs("paid", (reply) => reply.status === 200 && reply.body === undefined),
  ),
  broken(
    "empty-is-paid",
    "client.paid-is-true",
    "empty-200",
    readsAs("paid", (reply) => reply.status === 200 && reply.text === ""),
  ),
  broken("204-is-paid", "client.paid-is-true", "no-content", readsAs("paid", status(204))),
  broken(
    "wrapped-error-is-paid",
    "client.paid-is-true",
    "error-within-200",
    readsAs("paid", (reply) => reply.status === 200 && dataOf(reply) === undefined),
  ),
  broken("any-record-is-mine", "client.paid-is-true", "somebody-elses only-a-status", {
    read(job, reply) {
      const outcome = reply?.status === 200 ? outcomeOf(dataOf(reply)?.status) : undefined;
      return outcome ? done(outcome) : good.read(job, reply);
    },
  }),
  broken("any-read-is-mine", "client.paid-is-true", "reads-of-somebody", {
    async resolve(job, location) {
      const reply = await job.client.send(job, "GET", job.client.recordUrl(job, location)!);
      return outcomeOf(reply && dataOf(reply)?.status) ?? "unknown";
    },
  }),
  broken("searches-text", "client.paid-is-true", "somebody-elses", {
    read(job, reply) {
      const found = outcomeOf(/"status":"(\w+)"/.exec(reply?.text ?? "")?.[1]);
      return found ? done(found) : good.read(job, reply);
    },
  }),
  broken(
    "pending-is-paid",
    "client.paid-is-true",
    "calm",
    reports((job, outcome) => good.report(job, outcome === "pending" ? "paid" : outcome)),
  ),
  broken(
    "failed-is-refused",
    "client.refused-is-true",
    "calm",
    reports((job, outcome) => good.report(job, outcome === "failed" ? "refused" : outcome)),
  ),
  broken(
    "all-pending",
    "client.pending-is-true",
    "calm",
    reports((job) => good.report(job, "pending")),
  ),
  broken(
    "refused-is-failed",
    "client.failed-is-true",
    "refused",
    reports((job, outcome) => good.report(job, outcome === "refused" ? "failed" : outcome)),
  ),
  broken("reset-is-not-sent", "client.refused-is-true", "reset", {
    onError({ host, entry }, error) {
      const { cause } = error as { cause?: { code?: string } };
      // The service may have closed the connection after it had recorded the payout.
      if (cause?.code === "ECONNRESET") host.files.set(`${entry.reference} was not sent`, "");
    },
    refusedInDoubt: async (job) =>
      job.host.files.has(`${job.entry.reference} was not sent`) ? "refused" : good.refusedInDoubt(job),
  }),
  broken(
    "any-503-is-unrecorded",
    "client.refused-is-true",
    "failure-503",
    reads((_job, reply) => (reply?.status === 503 && isFromService(reply) ? { kind: "later" } : undefined)),
  ),
  broken("refusal-after-loss", "client.refused-is-true", "recorded-late then-422", {
    refusedInDoubt: async () => "refused",
  }),
  broken("doubt-ends-with-a-refused-key", "client.refused-is-true", "then-401", readsAsRefusedWithDoubt(401)),
  broken("doubt-ends-with-a-404", "client.refused-is-true", "then-404", readsAsRefusedWithDoubt(404)),
  broken("doubt-ends-with-a-limit", "client.refused-is-true", "recorded-then-429", readsAsRefusedWithDoubt(429)),
  broken("framework-is-the-service", "client.refused-is-true", "gateway-401-framework gateway-404-framework", {
    ...reads((_job, reply) =>
      reply && [401, 403, 404].includes(reply.status) && isFromService(reply) ? { kind: "refused" } : undefined,
    ),
  }),
  broken(
    "text-is-success",
    "client.paid-is-true",
    "data-text",
    readsAs("paid", (reply) => typeof dataOf(reply) === "string"),
  ),
  broken(
    "added-status-is-failed",
    "client.failed-is-true",
    "status-added",
    readsAs("failed", (reply) => typeof dataOf(reply)?.status === "string" && !outcomeOf(dataOf(reply)?.status)),
  ),
  broken("missing-field-differs", "client.refused-is-true", "list-incomplete", {
    async resolve(job, location) {
      const found = await job.client.find(job, location);
      if (!found) return "unknown";
      return job.client.isSame(job, found) ? (outcomeOf(found.status) ?? "unknown") : "refused";
    },
  }),
  broken("first-in-the-list", "client.refused-is-true", "list-reordered", {
    async resolve(job) {
      const { items } = (await listOf(job)) ?? {};
      return items?.[0] && good.isSame(job, items[0]) ? "pending" : "refused";
    },
  }),
  broken("empty-list-is-refused", "client.refused-is-true", "recorded-late", {
    async refusedInDoubt(job) {
      const found = await job.client.look(job);
      return found === "none" ? "refused" : good.refusedInDoubt(job);
    },
  }),
];

const conflicts: readonly BrokenClient[] = [
  broken("conflict-is-refused", "client.refused-is-true", "dropped sent-twice", {
    resolve: async () => "refused",
  }),
  broken("conflict-is-failed", "client.failed-is-true", "dropped", { resolve: async () => "failed" }),
  broken("conflict-is-paid", "client.paid-is-true", "exists", { resolve: async () => "paid" }),
  broken("conflict-is-pending", "client.pending-is-true", "exists", { resolve: async () => "pending" }),
  broken("conflict-is-unknown", "client.finds-out", "dropped", { resolve: async () => "unknown" }),
  broken("first-conflict-is-refused", "client.refused-is-true", "sent-twice exists", {
    resolve: async (job, location, isInDoubt) => (isInDoubt ? good.resolve(job, location, isInDoubt) : "refused"),
  }),
  broken("compares-nothing", "client.paid-is-true", "exists", { isSame: () => true }),
  broken("compares-amount", "client.paid-is-true", "exists", {
    isSame: ({ entry }, { amount }) => amount === entry.amount,
  }),
  broken("compares-recipient", "client.paid-is-true", "exists", {
    isSame: ({ entry }, { customer }) => customer?.phoneNumber === entry.phoneNumber,
  }),
  broken("compares-national-number", "client.paid-is-true", "exists", {
    isSame(job, found) {
      const isLike = String(found.customer?.phoneNumber).slice(-9) === job.entry.phoneNumber.slice(-9);
      return isLike && good.isSame(job, { ...found, customer: { phoneNumber: job.entry.phoneNumber } });
    },
  }),
  broken("404-proves-absence", "client.refused-is-true", "replica-lag", {
    async resolve(job, location) {
      const reply = await job.client.send(job, "GET", job.client.recordUrl(job, location)!);
      return reply?.status === 404 ? "refused" : good.resolve(job, location, true);
    },
  }),
  broken("one-read", "client.finds-out", "reads-fail replica-lag", {
    async find(job, location) {
      const reply = await job.client.send(job, "GET", job.client.recordUrl(job, location)!);
      return reply?.status === 200 ? dataOf(reply) : undefined;
    },
  }),
  broken("reads-by-own-reference", "client.finds-out", "dropped", {
    recordUrl: ({ host, entry }) => `${host.environment.BASE_URL}/v1/disbursements/${entry.reference}`,
    look: async () => "none",
    attempts: 3,
  }),
  broken("goes-where-told", "client.key-stays", "location-foreign", {
    recordUrl: ({ host }, location) =>
      location === null ? undefined : new URL(location, host.environment.BASE_URL).href,
  }),
  broken("goes-where-told-without-scheme", "client.key-stays", "location-protocol-relative", {
    recordUrl: ({ host }, location) =>
      location?.startsWith("/") ? new URL(location, host.environment.BASE_URL).href : undefined,
  }),
  broken("believes-userinfo", "client.key-stays", "location-userinfo", {
    // The part before the @ looks like the service's host.
    recordUrl: (_job, location) => location?.replace(/^http:\/\/127\.0\.0\.1@/, "http://"),
  }),
  broken("follows-dots", "client.no-redirect", "location-dots", {
    recordUrl: ({ host }, location) => `${host.environment.BASE_URL}${location}`,
  }),
  broken("follows-redirects", "client.no-redirect", "redirect-302 redirect-307-near", { redirect: "follow" }),
  broken("follows-redirects-with-key", "client.key-stays", "redirect-307", { redirect: "follow" }),
  broken("follows-redirects-of-reads", "client.no-redirect", "reads-redirected", {
    send(job, method, url, text) {
      const redirect = method === "GET" ? "follow" : "manual";
      return good.send({ ...job, client: { ...job.client, redirect } }, method, url, text);
    },
  }),
];

const output: readonly BrokenClient[] = [
  broken("forgets-the-last", "client.reports-all", "calm", {
    report(job, outcome) {
      if (job.entry !== job.host.entries.at(-1)) good.report(job, outcome);
    },
  }),
  broken("reports-twice", "client.reports-all", "calm", {
    report(job, outcome) {
      good.report(job, "pending");
      good.report(job, outcome);
    },
  }),
  broken("logs-to-stdout", "client.reports-all", "calm", {
    onReply: ({ host }, reply) => host.print(`received ${reply?.status}`),
  }),
  broken("words-of-its-own", "client.reports-all", "calm", {
    report: ({ host, entry }) => host.print(JSON.stringify({ reference: entry.reference, outcome: "ok" })),
  }),
  broken("reports-trimmed", "client.reports-all", "references", {
    report: ({ host, entry }, outcome) => host.print(JSON.stringify({ reference: entry.reference.trim(), outcome })),
  }),
  run("exits-with-1", "client.reports-all", "calm", async (host) => {
    await programOf()(host);
    throw new Error("done");
  }),
  broken("crashes-on-pages", "client.reports-all", "gateway-502", {
    parse: JSON.parse,
    onError: (_job, error) => {
      throw error;
    },
  }),
  broken("crashes-on-null", "client.reports-all", "json-null", {
    read(job, reply) {
      if (reply?.body === null) throw new TypeError("Cannot read properties of null");
      return good.read(job, reply);
    },
  }),
  run("does-nothing", "client.pays-once", "calm", async () => undefined),
  broken("logs-the-key", "client.key-hidden", "calm", {
    onReply: (job) => job.host.log(JSON.stringify(job.client.headersOf(job))),
  }),
  broken("logs-the-key-on-loss", "client.key-hidden", "dropped", {
    onError: (job) => job.host.log(`failed with ${job.host.environment.API_KEY}`),
  }),
  broken("logs-requests", "client.phone-hidden", "calm", {
    onReply: ({ host, entry }) => host.log(JSON.stringify(entry)),
  }),
  broken("logs-records", "client.phone-hidden", "dropped", {
    isSame(job, found) {
      job.host.log(JSON.stringify(found));
      return good.isSame(job, found);
    },
  }),
];

const limits: readonly BrokenClient[] = [
  broken("gives-up-late", "client.bounded-requests", "failure-for-ever", { attempts: 60, delayOf: () => 1 }),
  broken("never-ends", "client.bounded-time", "failure-for-ever", { attempts: Infinity }),
  broken("retries-at-once", "client.backs-off", "failure-for-ever", { attempts: 30, delayOf: () => 0 }),
  broken("no-time-limit", "client.bounded-time", "silence", { limitOf: () => undefined }),
  broken("limits-headers-only", "client.bounded-time", "drip", {
    async textOf(response) {
      return new Response(await response.clone().blob()).text();
    },
    limitOf: () => undefined,
  }),
  broken("ignores-retry-after", "client.waits-as-told", "limited", { waitOf: () => 0 }),
  broken("ignores-dates", "client.waits-as-told", "limited limited", {
    waitOf: (reply) => Number(reply?.headers.get("retry-after") ?? 0) * 1000 || 0,
  }),
  broken("reads-ms", "client.waits-as-told", "limited", {
    waitOf: (reply) => Number(reply?.headers.get("retry-after") ?? 0) || 0,
  }),
  broken("waits-a-day", "client.bounded-time", "limited-too-long", { longestWait: Infinity }),
];

const restarts: readonly BrokenClient[] = [
  broken("notes-before-sending", "client.paid-is-true", "killed-first-received killed-third-recorded", {
    remembered: ({ host, entry }) => (host.files.has(entry.reference) ? "paid" : undefined),
  }),
  broken("lock-stays", "client.reports-all", "killed", {
    async payAll(client, host) {
      if (host.files.has("lock")) throw new Error("another run is in progress");
      host.files.set("lock", "");
      await good.payAll(client, host);
      host.files.delete("lock");
    },
  }),
  broken("asks-once", "client.finds-out", "killed-third-recorded started-elsewhere", {
    resolve: async (job, location, isInDoubt) => (isInDoubt ? good.resolve(job, location, isInDoubt) : "unknown"),
    remembered: () => undefined,
  }),
];

/** Pays the entries of the input one after the other, and says whether an entry is repeated. */
const payEach = (pay: (job: Job, isRepeated: boolean) => Promise<Outcome>): Partial<Client> => ({
  async payAll(client, host) {
    const seen = new Set<string>();
    for (const entry of host.entries) {
      const job = { client, host, entry };
      client.report(job, await pay(job, seen.has(entry.reference)));
      seen.add(entry.reference);
    }
  },
});

const laterCalls: readonly BrokenClient[] = [
  ...[400, 403, 405, 413, 415, 422].map((code) =>
    broken(`doubt-ends-with-${code}`, "client.refused-is-true", `then-${code}`, readsAsRefusedWithDoubt(code)),
  ),
  broken("forgets-a-killed-run", "client.refused-is-true", "killed", {
    remembered(job) {
      const known = good.remembered(job);
      return known === "sent" ? undefined : known;
    },
  }),
  broken("sure-without-state", "client.refused-is-true", "again-without-state", { mayBeSent: () => false }),
  broken("believes-a-list-that-is-missing", "client.refused-is-true", "again-without-state", {
    refusedInDoubt: async (job) => ((await job.client.look(job)) === "none" ? "refused" : "unknown"),
  }),
  broken("sure-without-looking", "client.refused-is-true", "again-without-state-listed", {
    refusedInDoubt: async () => "refused",
  }),
  broken("gives-up-for-good", "client.loses-nothing", "again-after-blackout unrecorded", {
    attempts: 1,
    remembered: (job) => (good.remembered(job) === undefined ? undefined : "unknown"),
  }),
  broken(
    "repeat-is-refused",
    "client.refused-is-true",
    "repeated repeated-lost",
    payEach(async (job, isRepeated) => (isRepeated ? "refused" : good.payOne(job))),
  ),
  broken(
    "repeat-is-another-payment",
    "client.pays-once",
    "repeated repeated-lost",
    payEach((job, isRepeated) => {
      const referenceOf: Client["referenceOf"] = ({ entry }) => `${entry.reference}${isRepeated ? "-2" : ""}`;
      return good.payOne({ ...job, client: { ...job.client, referenceOf, remembered: () => undefined } });
    }),
  ),
  broken("raise-is-paid", "client.paid-is-true", "exists", {
    isSame: (job, found) => good.isSame(job, { ...found, amount: job.entry.amount }),
  }),
  broken("listed-reference-is-paid", "client.paid-is-true", "location-missing", {
    async resolve(job) {
      const { items } = (await listOf(job)) ?? {};
      return items?.[0] ? "paid" : "unknown";
    },
  }),
];

/** Returns true for a response that says nothing about the payout, or nothing that a client may believe. */
const isLost = (job: Job, reply: Reply) => good.read(job, reply).kind === "lost";

/** Compares a record with its entry, except for one field. */
const comparesAllBut = (field: "currency" | "country"): Partial<Client> => ({
  isSame: (job, found) => good.isSame(job, { ...found, [field]: job.entry[field] }),
});

/** Faults that show only if a loss, a kill, a refusal and certain contents of the record come together. */
export const meetings: readonly BrokenClient[] = [
  ...[429, 503].map((code) =>
    broken(`doubt-ends-with-${code}`, "client.refused-is-true", `then-${code}`, {
      // Such a response says that its own request recorded nothing. It says nothing about an earlier request.
      onReply({ host, entry }, reply) {
        const isOwn = reply?.status === code && typeof (reply.body as { code?: unknown } | null)?.code === "string";
        if (isOwn) host.files.set(`${entry.reference} is not recorded`, "");
      },
      refusedInDoubt: async (job) =>
        job.host.files.has(`${job.entry.reference} is not recorded`) ? "refused" : good.refusedInDoubt(job),
      atTheEnd: async (job, isInDoubt) => (isInDoubt ? good.refusedInDoubt(job) : "refused"),
    }),
  ),
  broken("added-status-is-paid", "client.paid-is-true", "added", {
    async resolve(job, location) {
      const found = await job.client.find(job, location);
      if (!found?.customer?.phoneNumber) return "unknown";
      return job.client.isSame(job, found) ? (outcomeOf(found.status) ?? "paid") : "refused";
    },
  }),
  broken(
    "doubt-only-without-response",
    "client.refused-is-true",
    "gateway-502 gateway-403-json empty-200 somebody-elses failure",
    reads((job, reply) => (reply && isLost(job, reply) ? { kind: "later" } : undefined)),
  ),
  broken("conflict-after-restart-is-mine", "client.paid-is-true", "killed killed-in-retry", {
    async resolve(job, location, isInDoubt) {
      const wasSent = good.remembered(job) === "sent" && job.host.files.has("earlier");
      const found = wasSent && (await good.find(job, location));
      return found ? (outcomeOf(found.status) ?? "unknown") : good.resolve(job, location, isInDoubt);
    },
    async payAll(client, host) {
      if (host.files.size > 0) host.files.set("earlier", "");
      await good.payAll(client, host);
    },
  }),
  broken("pays-refused-entries-later", "client.refused-is-true", "refused-until-the-end", {
    report(job, outcome) {
      good.report(job, outcome);
      const { BASE_URL } = job.host.environment;
      // A worker that continues after the program has ended.
      const payLater = () => {
        const headers = good.headersOf(job);
        return fetch(`${BASE_URL}/v1/disbursements`, { method: "POST", headers, body: JSON.stringify(job.entry) });
      };
      if (outcome === "refused") setTimeout(() => void payLater().catch(() => undefined), 500);
    },
  }),
  broken("compares-no-currency", "client.paid-is-true", "other-currency", comparesAllBut("currency")),
  broken("compares-no-country", "client.paid-is-true", "other-country", comparesAllBut("country")),
  broken("equal-amount-is-mine", "client.paid-is-true", "somebody-elses", {
    read(job, reply) {
      const data = reply?.status === 200 ? dataOf(reply) : undefined;
      const outcome = data?.amount === job.entry.amount ? outcomeOf(data.status) : undefined;
      return outcome ? done(outcome) : good.read(job, reply);
    },
  }),
  broken("equal-record-is-mine", "client.paid-is-true", "reads-of-somebody", {
    async find(job, location) {
      const url = good.recordUrl(job, location);
      const reply = url === undefined ? undefined : await good.send(job, "GET", url);
      return reply?.status === 200 ? dataOf(reply) : good.find(job, location);
    },
  }),
];

export const brokenClients: readonly BrokenClient[] = [
  ...references,
  ...requests,
  ...failures,
  ...conflicts,
  ...output,
  ...limits,
  ...restarts,
  ...laterCalls,
  ...meetings,
];
