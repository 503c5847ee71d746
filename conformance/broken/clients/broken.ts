// The broken clients. Each is the sound client with a single fault, under the requirement that the fault breaks.
import { randomUUID } from "node:crypto";
import type { Entry } from "../../programs/client/entries.ts";
import type { Outcome } from "../../programs/client/protocol.ts";
import {
  dataOf,
  good,
  hasCode,
  isFromService,
  jobOf,
  outcomeOf,
  programOf,
  type Client,
  type Found,
  type Job,
  type Reading,
  type Reply,
} from "./good.ts";
import type { Host } from "./host.ts";

/** The scenarios that show the fault, separated by spaces, and the parts that differ from the sound client. */
type Fault = readonly [scenarios: string, change: Partial<Client>];

/** The same fault for several statuses. `{status}` in the name of a scenario is the status. */
const forEach = (
  id: string,
  statuses: readonly number[],
  scenario: string,
  change: (code: number) => Partial<Client>,
) =>
  Object.fromEntries(
    statuses.map((code): [string, Fault] => [
      id.replace("{status}", String(code)),
      [scenario.replace("{status}", String(code)), change(code)],
    ]),
  );

/** Reads responses that `when` selects in its own way, and others as the good client does. */
const readsAs = (reading: Reading, when: (reply: Reply, job: Job) => boolean): Partial<Client> => ({
  read: (job, reply) => (reply && when(reply, job) ? reading : good.read(job, reply)),
});

const status =
  (...statuses: number[]) =>
  (reply: Reply | undefined) =>
    statuses.includes(reply?.status ?? 0);

/** Takes a response that `when` selects for a proof that no earlier request recorded the entry. */
const endsDoubt = (when: (reply: Reply | undefined, job: Job) => boolean): Partial<Client> => ({
  onReply(job, reply) {
    if (when(reply, job)) job.isInDoubt = false;
  },
});

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

/** Reports one outcome as another. */
const reports = (actual: Outcome, reported: Outcome): Partial<Client> => ({
  report: (job, outcome) => good.report(job, outcome === actual ? reported : outcome),
});

/** Pays the entries of the input one after the other, and says whether an entry is repeated. */
const payEach = (pay: (job: Job, isRepeated: boolean) => Promise<Outcome>): Partial<Client> => ({
  async payAll(client, host) {
    const seen = new Set<string>();
    for (const entry of host.entries) {
      const job = jobOf(client, host, entry);
      client.report(job, await pay(job, seen.has(entry.reference)));
      seen.add(entry.reference);
    }
  },
});

/** Resolves a 409 by the record that it finds. `judge` may return nothing, and the good client then decides. */
const resolves = (judge: (job: Job, found: Found) => Outcome | undefined): Partial<Client> => ({
  async resolve(job, location) {
    const found = await good.find(job, location);
    return (found && judge(job, found)) ?? good.resolve(job, location);
  },
});

/** Calls `work` with the number of earlier starts on this machine. */
const countingStarts = (work: (client: Client, host: Host, earlier: number) => Promise<void>): Partial<Client> => ({
  payAll(client, host) {
    const earlier = Number(host.files.get("starts") ?? 0);
    host.files.set("starts", String(earlier + 1));
    return work(client, host, earlier);
  },
});

const faults: Readonly<Record<string, Readonly<Record<string, Fault>>>> = {
  "client.pays-once": {
    "new-reference-on-retry": [
      "dropped",
      { referenceOf: ({ entry }, attempt) => (attempt === 1 ? entry.reference : `${entry.reference}-${attempt}`) },
    ],
    ...forEach("new-reference-after-{status}", [503, 504], "unavailable-recorded gateway-504", (code) =>
      newReferenceAfter(status(code)),
    ),
    "new-reference-after-loss": ["cut-body", newReferenceAfter((reply) => reply === undefined)],
    "new-reference-after-409": ["sent-twice", { ...newReferenceAfter(status(409)), ...readsAs("later", status(409)) }],
    "reference-per-start": [
      "killed-third-recorded",
      {
        ...countingStarts((client, host, earlier) => {
          const referenceOf: Client["referenceOf"] = ({ entry }) => `${entry.reference}-${earlier}`;
          return good.payAll({ ...client, referenceOf }, host);
        }),
        remembered: () => undefined,
      },
    ],
    "reference-per-worker": [
      "workers",
      reference((text, { host }) => `${text}-${host.environment.STATE_DIR.slice(-1)}`),
    ],
    "reference-only-in-the-database": [
      "started-elsewhere",
      reference((text, { host }) => {
        const own = host.files.get(`reference of ${text}`) ?? randomUUID();
        host.files.set(`reference of ${text}`, own);
        return own;
      }),
    ],
    "does-nothing": ["calm", { payAll: async () => undefined }],
    "repeat-is-another-payment": [
      "repeated repeated-lost",
      payEach((job, isRepeated) => {
        const referenceOf: Client["referenceOf"] = ({ entry }) => `${entry.reference}${isRepeated ? "-2" : ""}`;
        return good.payOne({ ...job, client: { ...job.client, referenceOf, remembered: () => undefined } });
      }),
    ],
  },
  "client.same-reference": {
    "reference-lower-case": ["references", reference((text) => text.toLowerCase())],
    "reference-normalised": ["references", reference((text) => text.normalize("NFC"))],
    "reference-cut": ["references", reference((text) => text.slice(0, 20))],
    "reference-by-position": [
      "started-elsewhere",
      reference((_text, { host, entry }) => `payment-${host.entries.indexOf(entry)}`),
    ],
  },
  "client.loses-nothing": {
    "drops-twins": [
      "twins",
      {
        async payOne(job) {
          const first = job.host.entries.find(({ phoneNumber }) => phoneNumber === job.entry.phoneNumber)!;
          return first === job.entry ? good.payOne(job) : "refused";
        },
      },
    ],
    "one-attempt": ["unrecorded", { attempts: 1 }],
    "no-retry-after-500": ["failure", readsAs("refused", status(500))],
    "no-retry-after-503": ["limited", readsAs("unknown", status(503))],
    "gives-up-for-good": [
      "again-after-blackout unrecorded",
      { attempts: 1, remembered: (job) => (good.remembered(job) === undefined ? undefined : "unknown") },
    ],
  },
  "client.exact-request": {
    "amount-as-float": ["amounts", body(({ amount }) => ({ amount: Math.fround(amount) }))],
    "amount-in-units": ["calm", body(({ amount }) => ({ amount: Math.ceil(amount / 100) }))],
    "country-of-its-own": ["calm", body(() => ({ country: "CI", currency: "XOF" }))],
  },
  "client.contract": {
    "amount-as-int32": ["amounts", body(({ amount }) => ({ amount: Math.trunc(amount) | 0 }))],
    "phone-with-plus": ["calm", body(({ phoneNumber }) => ({ phoneNumber: `+${phoneNumber}` }))],
    "phone-without-zero": ["places", body(({ phoneNumber }) => ({ phoneNumber: phoneNumber.replace(/^0+/, "") }))],
    "no-currency": ["calm", body(() => ({ currency: undefined }))],
    "key-as-bearer": [
      "calm",
      {
        headersOf: ({ host }) => ({
          authorization: `Bearer ${host.environment.API_KEY}`,
          "content-type": "application/json",
        }),
      },
    ],
    "key-in-url": ["calm", { pathOf: ({ host }) => `/v1/disbursements?key=${host.environment.API_KEY}` }],
    "no-content-type": ["calm", { headersOf: ({ host }) => ({ "x-api-key": host.environment.API_KEY }) }],
    "wrong-path": ["calm", { pathOf: () => "/v1/disbursement" }],
    "made-up-filter": [
      "location-missing",
      {
        async look(job) {
          await good.send(job, "GET", `/v1/disbursements?reference=${job.entry.amount}`);
          return good.look(job);
        },
      },
    ],
  },
  "client.failed-is-true": {
    "loss-is-failed": ["dropped", { onLost: () => "failed" }],
    "refused-is-failed": ["refused", reports("refused", "failed")],
    "added-status-is-failed": [
      "status-added",
      readsAs("failed", (reply) => {
        const found = dataOf(reply)?.status;
        return typeof found === "string" && !outcomeOf(found);
      }),
    ],
  },
  "client.refused-is-true": {
    ...forEach("{status}-is-refused", [401, 404, 422], "gateway-{status}", (code) => readsAs("refused", status(code))),
    ...forEach("doubt-ends-with-{status}", [400, 401, 403, 404, 405, 413, 415, 422], "then-{status}", (code) =>
      endsDoubt(status(code)),
    ),
    ...forEach("doubt-ends-with-{status}", [429, 503], "then-{status}", (code) =>
      endsDoubt((reply) => reply?.status === code && hasCode(reply)),
    ),
    "failed-is-refused": ["calm", reports("failed", "refused")],
    "reset-is-not-sent": [
      "reset",
      // The service may have closed the connection after it had recorded the payout.
      endsDoubt((_reply, { error }) => (error as { cause?: { code?: string } })?.cause?.code === "ECONNRESET"),
    ],
    "any-503-is-unrecorded": ["failure-503", readsAs("later", (reply) => reply.status === 503 && isFromService(reply))],
    "doubt-ends-with-a-limit": ["recorded-then-429", { ...readsAs("refused", status(429)), ...endsDoubt(status(429)) }],
    "framework-is-the-service": [
      "gateway-401-framework gateway-404-framework",
      readsAs("refused", (reply) => [401, 403, 404].includes(reply.status) && isFromService(reply)),
    ],
    "missing-field-differs": [
      "list-incomplete",
      resolves((job, found) => (good.isSame(job, found) ? undefined : "refused")),
    ],
    "first-in-the-list": [
      "list-reordered",
      {
        async resolve(job) {
          const { reference: wanted } = job.entry;
          const query = new URLSearchParams({ merchantsReference: wanted });
          const [first] = dataOf(await good.send(job, "GET", `/v1/disbursements?${query}`))?.items ?? [];
          return first && good.isSame(job, first) ? "pending" : "refused";
        },
      },
    ],
    "empty-list-is-refused": [
      "recorded-late again-without-state",
      { refusedInDoubt: async (job) => ((await good.look(job)) === "none" ? "refused" : good.refusedInDoubt(job)) },
    ],
    "404-proves-absence": [
      "replica-lag",
      {
        async resolve(job, location) {
          const reply = await good.send(job, "GET", good.pathTo(job, location)!);
          return reply?.status === 404 ? "refused" : good.resolve(job, location);
        },
      },
    ],
    "forgets-a-killed-run": [
      "killed",
      {
        remembered(job) {
          const known = good.remembered(job);
          return known === "sent" ? undefined : known;
        },
      },
    ],
    "sure-without-state": ["again-without-state", { mayBeSent: () => false }],
    "sure-without-looking": [
      "again-without-state-listed recorded-late then-422",
      { refusedInDoubt: async () => "refused" },
    ],
    "repeat-is-refused": [
      "repeated repeated-lost",
      payEach(async (job, isRepeated) => (isRepeated ? "refused" : good.payOne(job))),
    ],
    "doubt-only-without-response": [
      "gateway-502 gateway-403-json empty-200 somebody-elses failure",
      readsAs("later", (reply, job) => good.read(job, reply) === "lost"),
    ],
    "pays-refused-entries-later": [
      "refused-until-the-end",
      {
        report(job, outcome) {
          good.report(job, outcome);
          // A worker that continues after the program has ended.
          const url = `${job.host.environment.BASE_URL}/v1/disbursements`;
          const payLater = () =>
            fetch(url, { method: "POST", headers: good.headersOf(job), body: JSON.stringify(job.entry) });
          if (outcome === "refused") setTimeout(() => void payLater().catch(() => undefined), 500);
        },
      },
    ],
  },
  "client.paid-is-true": {
    "any-200-is-paid": ["calm", readsAs("paid", status(200))],
    "page-is-paid": ["gateway-200", readsAs("paid", (reply) => reply.status === 200 && reply.body === undefined)],
    "204-is-paid": ["no-content", readsAs("paid", status(204))],
    "wrapped-error-is-paid": [
      "error-within-200",
      readsAs("paid", (reply) => reply.status === 200 && dataOf(reply) === undefined),
    ],
    "pending-is-paid": ["calm", reports("pending", "paid")],
    "conflict-is-paid": ["exists", { resolve: async () => "paid" }],
    "compares-nothing": ["exists", { isSame: () => true }],
    "compares-national-number": [
      "exists",
      {
        isSame(job, found) {
          const isLike = String(found.customer?.phoneNumber).slice(-9) === job.entry.phoneNumber.slice(-9);
          return isLike && good.isSame(job, { ...found, customer: { phoneNumber: job.entry.phoneNumber } });
        },
      },
    ],
    ...Object.fromEntries(
      (["currency", "country"] as const).map((field): [string, Fault] => [
        `compares-no-${field}`,
        [`other-${field}`, { isSame: (job, found) => good.isSame(job, { ...found, [field]: job.entry[field] }) }],
      ]),
    ),
    "notes-before-sending": [
      "killed-first-received killed-third-recorded",
      { remembered: ({ host, entry }) => (host.files.has(entry.reference) ? "paid" : undefined) },
    ],
    "added-status-is-paid": [
      "added",
      resolves((job, found) => (good.isSame(job, found) ? (outcomeOf(found.status) ?? "paid") : undefined)),
    ],
    "conflict-after-restart-is-mine": [
      "killed killed-in-retry",
      countingStarts((client, host, earlier) => {
        const { resolve } = resolves((_job, found) => outcomeOf(found.status));
        return good.payAll(earlier > 0 ? { ...client, resolve: resolve! } : client, host);
      }),
    ],
    "equal-amount-is-mine": [
      "somebody-elses",
      readsAs("paid", (reply, { entry }) => {
        const data = dataOf(reply);
        return data?.amount === entry.amount && data.status === "success";
      }),
    ],
    "any-read-is-mine": [
      "reads-of-somebody",
      {
        async find(job, location) {
          const path = good.pathTo(job, location);
          const reply = path === undefined ? undefined : await good.send(job, "GET", path);
          return reply?.status === 200 ? dataOf(reply) : good.find(job, location);
        },
      },
    ],
  },
  "client.pending-is-true": {
    "loss-is-pending": ["unrecorded", { onLost: () => "pending" }],
    "all-pending": ["calm", { report: (job) => good.report(job, "pending") }],
  },
  "client.finds-out": {
    "loss-is-unknown": ["dropped", { onLost: () => "unknown" }],
    "one-read": [
      "reads-fail replica-lag",
      {
        async find(job, location) {
          const reply = await good.send(job, "GET", good.pathTo(job, location)!);
          return reply?.status === 200 ? dataOf(reply) : undefined;
        },
      },
    ],
    "reads-by-own-reference": [
      "dropped",
      { pathTo: ({ entry }) => `/v1/disbursements/${entry.reference}`, look: async () => "none", attempts: 3 },
    ],
    "asks-once": [
      "killed-third-recorded started-elsewhere",
      {
        resolve: async (job, location) => (job.isInDoubt ? good.resolve(job, location) : "unknown"),
        remembered: () => undefined,
      },
    ],
  },
  "client.key-stays": {
    "goes-where-told": ["location-foreign", { pathTo: (_job, location) => location ?? undefined }],
    "goes-where-told-without-scheme": [
      "location-protocol-relative",
      { pathTo: (_job, location) => (location?.startsWith("/") ? location : undefined) },
    ],
    "believes-userinfo": [
      "location-userinfo",
      // The part before the @ looks like the service's host.
      { pathTo: (_job, location) => location?.replace(/^http:\/\/127\.0\.0\.1@/, "http://") },
    ],
    "follows-redirects-with-key": ["redirect-307", { redirect: "follow" }],
  },
  "client.no-redirect": {
    "follows-dots": ["location-dots", { pathTo: (_job, location) => location ?? undefined }],
    "follows-redirects": ["redirect-302 redirect-307-near", { redirect: "follow" }],
    "follows-redirects-of-reads": [
      "reads-redirected",
      {
        send(job, method, path, text) {
          const redirect = method === "GET" ? "follow" : "manual";
          return good.send({ ...job, client: { ...job.client, redirect } }, method, path, text);
        },
      },
    ],
  },
  "client.reports-all": {
    "forgets-the-last": [
      "calm",
      { report: (job, outcome) => void (job.entry !== job.host.entries.at(-1) && good.report(job, outcome)) },
    ],
    "reports-twice": [
      "calm",
      {
        report(job, outcome) {
          good.report(job, "pending");
          good.report(job, outcome);
        },
      },
    ],
    "logs-to-stdout": ["calm", { onReply: ({ host }, reply) => host.print(`received ${reply?.status}`) }],
    "reports-trimmed": [
      "references",
      {
        report: (job, outcome) =>
          good.report({ ...job, entry: { ...job.entry, reference: job.entry.reference.trim() } }, outcome),
      },
    ],
    "exits-with-1": [
      "calm",
      {
        async payAll(client, host) {
          await good.payAll(client, host);
          throw new Error("done");
        },
      },
    ],
    "crashes-on-pages": ["gateway-502", { onReply: (_job, reply) => void (reply && JSON.parse(reply.text)) }],
    "crashes-on-null": [
      "json-null",
      { onReply: (_job, reply) => void (reply?.body !== undefined && reply.body!.data) },
    ],
    "lock-stays": [
      "killed",
      {
        async payAll(client, host) {
          if (host.files.has("lock")) throw new Error("another run is in progress");
          host.files.set("lock", "");
          await good.payAll(client, host);
          host.files.delete("lock");
        },
      },
    ],
  },
  "client.key-hidden": {
    "logs-the-key": ["calm", { onReply: (job) => job.host.log(JSON.stringify(job.client.headersOf(job))) }],
  },
  "client.phone-hidden": {
    "logs-requests": ["calm", { onReply: ({ host, entry }) => host.log(JSON.stringify(entry)) }],
    "logs-records": [
      "dropped",
      {
        isSame(job, found) {
          job.host.log(JSON.stringify(found));
          return good.isSame(job, found);
        },
      },
    ],
  },
  "client.bounded-requests": {
    "gives-up-late": ["failure-for-ever", { attempts: 60, delayOf: () => 1 }],
  },
  "client.bounded-time": {
    "never-ends": ["failure-for-ever", { attempts: Infinity }],
    "no-time-limit": ["silence drip", { limitOf: () => undefined }],
    "waits-a-day": ["limited-too-long", { longestWait: Infinity }],
  },
  "client.backs-off": {
    "retries-at-once": ["failure-for-ever", { attempts: 30, delayOf: () => 0 }],
  },
  "client.waits-as-told": {
    "ignores-retry-after": ["limited", { waitOf: () => 0 }],
    "ignores-dates": ["limited", { waitOf: (reply) => Number(reply?.headers.get("retry-after") ?? 0) * 1000 || 0 }],
  },
};

export const brokenClients = Object.entries(faults).flatMap(([breaks, group]) =>
  Object.entries(group).map(([id, [scenarios, change]]) => ({
    id,
    /** The requirement that must fail; a should must warn. */
    breaks,
    /** At least one of these scenarios must catch the fault. */
    scenarios: scenarios.split(" "),
    program: programOf(change),
  })),
);
