// The broken clients. Each is the sound client with a single fault, under the requirement that the fault breaks.
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

type Fault = Pick<BrokenClient, "scenarios" | "program">;

/** A fault of the whole program, and the scenarios that show it, separated by spaces. */
const program = (scenarios: string, faulty: Program): Fault => ({ scenarios: scenarios.split(" "), program: faulty });

/** The sound client with other parts, and the scenarios that show the fault. */
const shownIn = (scenarios: string) => (change: Partial<Client>) => program(scenarios, programOf(change));

/** The same fault for several statuses. `{status}` in the name of a scenario is the status. */
const forEach = (
  id: string,
  statuses: readonly number[],
  scenario: string,
  change: (code: number) => Partial<Client>,
) =>
  Object.fromEntries(
    statuses.map((code) => [
      id.replace("{status}", String(code)),
      shownIn(scenario.replace("{status}", String(code)))(change(code)),
    ]),
  );

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

/** Returns true for a response that says nothing about the payout, or nothing that a client may believe. */
const isLost = (job: Job, reply: Reply) => good.read(job, reply).kind === "lost";

/** Compares a record with its entry, except for one field. */
const comparesAllBut = (field: "currency" | "country"): Partial<Client> => ({
  isSame: (job, found) => good.isSame(job, { ...found, [field]: job.entry[field] }),
});

/** Takes a response with this status, which says that its own request recorded nothing, for one about earlier requests. */
const endsDoubtWith = (code: number): Partial<Client> => ({
  onReply({ host, entry }, reply) {
    const isOwn = reply?.status === code && typeof (reply.body as { code?: unknown } | null)?.code === "string";
    if (isOwn) host.files.set(`${entry.reference} is not recorded`, "");
  },
  refusedInDoubt: async (job) =>
    job.host.files.has(`${job.entry.reference} is not recorded`) ? "refused" : good.refusedInDoubt(job),
  atTheEnd: async (job, isInDoubt) => (isInDoubt ? good.refusedInDoubt(job) : "refused"),
});

const faults: Readonly<Record<string, Readonly<Record<string, Fault>>>> = {
  "client.pays-once": {
    ...forEach("new-reference-after-{status}", [503, 504], "unavailable-recorded gateway-504", (code) =>
      newReferenceAfter(status(code)),
    ),
    "new-reference-on-retry": shownIn("dropped")({
      referenceOf: ({ entry }, attempt) => (attempt === 1 ? entry.reference : `${entry.reference}-${attempt}`),
    }),
    "new-reference-after-loss": shownIn("cut-body")(newReferenceAfter((reply) => reply === undefined)),
    "new-reference-after-page": shownIn("gateway-200")(newReferenceAfter((reply) => reply?.body === undefined)),
    "new-reference-after-409": shownIn("sent-twice")({
      ...newReferenceAfter(status(409)),
      read: (job, reply) => (reply?.status === 409 ? { kind: "later" } : good.read(job, reply)),
    }),
    "reference-per-start": shownIn("killed-third-recorded")({
      ...reference((text, { host }) => `${text}${host.files.get("suffix")}`),
      async payAll(client, host) {
        const starts = Number(host.files.get("starts") ?? 0);
        host.files.set("starts", String(starts + 1));
        host.files.set("suffix", starts === 0 ? "" : `-${starts}`);
        await good.payAll(client, host);
      },
      remembered: () => undefined,
    }),
    "reference-per-worker": shownIn("workers")(
      reference((text, { host }) => `${text}-${host.environment.STATE_DIR.slice(-1)}`),
    ),
    "reference-only-in-the-database": shownIn("started-elsewhere")({
      payOne(job) {
        const name = `reference of ${job.entry.reference}`;
        const own = job.host.files.get(name) ?? randomUUID();
        job.host.files.set(name, own);
        return good.payOne({ ...job, entry: { ...job.entry, reference: own } });
      },
    }),
    "does-nothing": program("calm", async () => undefined),
    "repeat-is-another-payment": shownIn("repeated repeated-lost")(
      payEach((job, isRepeated) => {
        const referenceOf: Client["referenceOf"] = ({ entry }) => `${entry.reference}${isRepeated ? "-2" : ""}`;
        return good.payOne({ ...job, client: { ...job.client, referenceOf, remembered: () => undefined } });
      }),
    ),
  },
  "client.same-reference": {
    "reference-lower-case": shownIn("references")(reference((text) => text.toLowerCase())),
    "reference-normalised": shownIn("references")(reference((text) => text.normalize("NFC"))),
    "reference-cut": shownIn("references")(reference((text) => text.slice(0, 20))),
    "reference-by-position": shownIn("started-elsewhere")(
      reference((_text, { host, entry }) => `payment-${host.entries.indexOf(entry)}`),
    ),
  },
  "client.loses-nothing": {
    "reference-ascii": shownIn("references")(reference((text) => text.replaceAll(/[^ -~]/g, "?"))),
    "reference-shared": shownIn("twins")({
      referenceOf: ({ host, entry }) =>
        host.entries.find(({ phoneNumber }) => phoneNumber === entry.phoneNumber)!.reference,
    }),
    "drops-twins": shownIn("twins")({
      async payOne(job) {
        const first = job.host.entries.find(({ phoneNumber }) => phoneNumber === job.entry.phoneNumber)!;
        return first === job.entry ? good.payOne(job) : "refused";
      },
    }),
    "one-attempt": shownIn("unrecorded")({ attempts: 1 }),
    "no-retry-after-500": shownIn("failure")(readsAs("refused", status(500))),
    "no-retry-after-503": shownIn("limited")(readsAs("unknown", status(503))),
    "gives-up-for-good": shownIn("again-after-blackout unrecorded")({
      attempts: 1,
      remembered: (job) => (good.remembered(job) === undefined ? undefined : "unknown"),
    }),
  },
  "client.exact-request": {
    "amount-as-float": shownIn("amounts")(body(({ amount }) => ({ amount: Math.fround(amount) }))),
    "amount-in-units": shownIn("calm")(body(({ amount }) => ({ amount: Math.ceil(amount / 100) }))),
    "country-of-its-own": shownIn("calm")(body(() => ({ country: "CI", currency: "XOF" }))),
  },
  "client.contract": {
    "amount-as-int32": shownIn("amounts")(body(({ amount }) => ({ amount: Math.trunc(amount) | 0 }))),
    "amount-as-text": shownIn("calm")(body(({ amount }) => ({ amount: String(amount) }))),
    "phone-with-plus": shownIn("calm")(body(({ phoneNumber }) => ({ phoneNumber: `+${phoneNumber}` }))),
    "phone-as-number": shownIn("calm")(body(({ phoneNumber }) => ({ phoneNumber: Number(phoneNumber) }))),
    "phone-without-zero": shownIn("places")(
      body(({ phoneNumber }) => ({ phoneNumber: phoneNumber.replace(/^0+/, "") })),
    ),
    "no-currency": shownIn("calm")(body(() => ({ currency: undefined }))),
    "key-as-bearer": shownIn("calm")({
      headersOf: ({ host }) => ({
        authorization: `Bearer ${host.environment.API_KEY}`,
        "content-type": "application/json",
      }),
    }),
    "key-in-url": shownIn("calm")({
      pathOf: ({ host }) => `/v1/disbursements?key=${host.environment.API_KEY}`,
    }),
    "no-content-type": shownIn("calm")({
      headersOf: ({ host }) => ({ "x-api-key": host.environment.API_KEY }),
    }),
    "form-body": shownIn("calm")({
      bodyOf: ({ entry }) => new URLSearchParams({ ...entry, amount: String(entry.amount) }).toString(),
    }),
    "wrong-path": shownIn("calm")({ pathOf: () => "/v1/disbursement" }),
    "made-up-filter": shownIn("location-missing")({
      async look(job) {
        const { BASE_URL } = job.host.environment;
        await job.client.send(job, "GET", `${BASE_URL}/v1/disbursements?reference=${job.entry.amount}`);
        return good.look(job);
      },
    }),
  },
  "client.failed-is-true": {
    "loss-is-failed": shownIn("dropped")({ onLost: () => "failed" }),
    "504-is-failed": shownIn("gateway-504")(readsAs("failed", status(504))),
    "refused-is-failed": shownIn("refused")(
      reports((job, outcome) => good.report(job, outcome === "refused" ? "failed" : outcome)),
    ),
    "added-status-is-failed": shownIn("status-added")(
      readsAs("failed", (reply) => typeof dataOf(reply)?.status === "string" && !outcomeOf(dataOf(reply)?.status)),
    ),
    "conflict-is-failed": shownIn("dropped")({ resolve: async () => "failed" }),
  },
  "client.refused-is-true": {
    ...forEach("{status}-is-refused", [401, 404, 422], "gateway-{status}", readsAsRefused),
    ...forEach(
      "doubt-ends-with-{status}",
      [400, 401, 403, 404, 405, 413, 415, 422],
      "then-{status}",
      readsAsRefusedWithDoubt,
    ),
    ...forEach("doubt-ends-with-{status}", [429, 503], "then-{status}", endsDoubtWith),
    "loss-is-refused": shownIn("dropped")({ onLost: () => "refused" }),
    "500-is-refused": shownIn("failure")(readsAs("refused", status(500))),
    "failed-is-refused": shownIn("calm")(
      reports((job, outcome) => good.report(job, outcome === "failed" ? "refused" : outcome)),
    ),
    "reset-is-not-sent": shownIn("reset")({
      onError({ host, entry }, error) {
        const { cause } = error as { cause?: { code?: string } };
        // The service may have closed the connection after it had recorded the payout.
        if (cause?.code === "ECONNRESET") host.files.set(`${entry.reference} was not sent`, "");
      },
      refusedInDoubt: async (job) =>
        job.host.files.has(`${job.entry.reference} was not sent`) ? "refused" : good.refusedInDoubt(job),
    }),
    "any-503-is-unrecorded": shownIn("failure-503")(
      reads((_job, reply) => (reply?.status === 503 && isFromService(reply) ? { kind: "later" } : undefined)),
    ),
    "refusal-after-loss": shownIn("recorded-late then-422")({
      refusedInDoubt: async () => "refused",
    }),
    "doubt-ends-with-a-limit": shownIn("recorded-then-429")(readsAsRefusedWithDoubt(429)),
    "framework-is-the-service": shownIn("gateway-401-framework gateway-404-framework")(
      reads((_job, reply) =>
        reply && [401, 403, 404].includes(reply.status) && isFromService(reply) ? { kind: "refused" } : undefined,
      ),
    ),
    "missing-field-differs": shownIn("list-incomplete")({
      async resolve(job, location) {
        const found = await job.client.find(job, location);
        if (!found) return "unknown";
        return job.client.isSame(job, found) ? (outcomeOf(found.status) ?? "unknown") : "refused";
      },
    }),
    "first-in-the-list": shownIn("list-reordered")({
      async resolve(job) {
        const { items } = (await listOf(job)) ?? {};
        return items?.[0] && good.isSame(job, items[0]) ? "pending" : "refused";
      },
    }),
    "empty-list-is-refused": shownIn("recorded-late")({
      async refusedInDoubt(job) {
        const found = await job.client.look(job);
        return found === "none" ? "refused" : good.refusedInDoubt(job);
      },
    }),
    "conflict-is-refused": shownIn("dropped sent-twice")({
      resolve: async () => "refused",
    }),
    "404-proves-absence": shownIn("replica-lag")({
      async resolve(job, location) {
        const reply = await job.client.send(job, "GET", job.client.recordUrl(job, location)!);
        return reply?.status === 404 ? "refused" : good.resolve(job, location, true);
      },
    }),
    "forgets-a-killed-run": shownIn("killed")({
      remembered(job) {
        const known = good.remembered(job);
        return known === "sent" ? undefined : known;
      },
    }),
    "sure-without-state": shownIn("again-without-state")({ mayBeSent: () => false }),
    "believes-a-list-that-is-missing": shownIn("again-without-state")({
      refusedInDoubt: async (job) => ((await job.client.look(job)) === "none" ? "refused" : "unknown"),
    }),
    "sure-without-looking": shownIn("again-without-state-listed")({
      refusedInDoubt: async () => "refused",
    }),
    "repeat-is-refused": shownIn("repeated repeated-lost")(
      payEach(async (job, isRepeated) => (isRepeated ? "refused" : good.payOne(job))),
    ),
    "doubt-only-without-response": shownIn("gateway-502 gateway-403-json empty-200 somebody-elses failure")(
      reads((job, reply) => (reply && isLost(job, reply) ? { kind: "later" } : undefined)),
    ),
    "pays-refused-entries-later": shownIn("refused-until-the-end")({
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
  },
  "client.paid-is-true": {
    "loss-is-paid": shownIn("dropped")({ onLost: () => "paid" }),
    "any-200-is-paid": shownIn("calm")(readsAs("paid", status(200))),
    "page-is-paid": shownIn("gateway-200")(
      readsAs("paid", (reply) => reply.status === 200 && reply.body === undefined),
    ),
    "empty-is-paid": shownIn("empty-200")(readsAs("paid", (reply) => reply.status === 200 && reply.text === "")),
    "204-is-paid": shownIn("no-content")(readsAs("paid", status(204))),
    "wrapped-error-is-paid": shownIn("error-within-200")(
      readsAs("paid", (reply) => reply.status === 200 && dataOf(reply) === undefined),
    ),
    "any-read-is-mine": shownIn("reads-of-somebody")({
      async resolve(job, location) {
        const reply = await job.client.send(job, "GET", job.client.recordUrl(job, location)!);
        return outcomeOf(reply && dataOf(reply)?.status) ?? "unknown";
      },
    }),
    "pending-is-paid": shownIn("calm")(
      reports((job, outcome) => good.report(job, outcome === "pending" ? "paid" : outcome)),
    ),
    "conflict-is-paid": shownIn("exists")({ resolve: async () => "paid" }),
    "compares-nothing": shownIn("exists")({ isSame: () => true }),
    "compares-national-number": shownIn("exists")({
      isSame(job, found) {
        const isLike = String(found.customer?.phoneNumber).slice(-9) === job.entry.phoneNumber.slice(-9);
        return isLike && good.isSame(job, { ...found, customer: { phoneNumber: job.entry.phoneNumber } });
      },
    }),
    "notes-before-sending": shownIn("killed-first-received killed-third-recorded")({
      remembered: ({ host, entry }) => (host.files.has(entry.reference) ? "paid" : undefined),
    }),
    "added-status-is-paid": shownIn("added")({
      async resolve(job, location) {
        const found = await job.client.find(job, location);
        if (!found?.customer?.phoneNumber) return "unknown";
        return job.client.isSame(job, found) ? (outcomeOf(found.status) ?? "paid") : "refused";
      },
    }),
    "conflict-after-restart-is-mine": shownIn("killed killed-in-retry")({
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
    "compares-no-currency": shownIn("other-currency")(comparesAllBut("currency")),
    "compares-no-country": shownIn("other-country")(comparesAllBut("country")),
    "equal-amount-is-mine": shownIn("somebody-elses")({
      read(job, reply) {
        const data = reply?.status === 200 ? dataOf(reply) : undefined;
        const outcome = data?.amount === job.entry.amount ? outcomeOf(data.status) : undefined;
        return outcome ? done(outcome) : good.read(job, reply);
      },
    }),
    "equal-record-is-mine": shownIn("reads-of-somebody")({
      async find(job, location) {
        const url = good.recordUrl(job, location);
        const reply = url === undefined ? undefined : await good.send(job, "GET", url);
        return reply?.status === 200 ? dataOf(reply) : good.find(job, location);
      },
    }),
  },
  "client.pending-is-true": {
    "loss-is-pending": shownIn("unrecorded")({ onLost: () => "pending" }),
    "all-pending": shownIn("calm")(reports((job) => good.report(job, "pending"))),
    "conflict-is-pending": shownIn("exists")({ resolve: async () => "pending" }),
  },
  "client.finds-out": {
    "loss-is-unknown": shownIn("dropped")({ onLost: () => "unknown" }),
    "conflict-is-unknown": shownIn("dropped")({ resolve: async () => "unknown" }),
    "one-read": shownIn("reads-fail replica-lag")({
      async find(job, location) {
        const reply = await job.client.send(job, "GET", job.client.recordUrl(job, location)!);
        return reply?.status === 200 ? dataOf(reply) : undefined;
      },
    }),
    "reads-by-own-reference": shownIn("dropped")({
      recordUrl: ({ host, entry }) => `${host.environment.BASE_URL}/v1/disbursements/${entry.reference}`,
      look: async () => "none",
      attempts: 3,
    }),
    "asks-once": shownIn("killed-third-recorded started-elsewhere")({
      resolve: async (job, location, isInDoubt) => (isInDoubt ? good.resolve(job, location, isInDoubt) : "unknown"),
      remembered: () => undefined,
    }),
  },
  "client.key-stays": {
    "goes-where-told": shownIn("location-foreign")({
      recordUrl: ({ host }, location) =>
        location === null ? undefined : new URL(location, host.environment.BASE_URL).href,
    }),
    "goes-where-told-without-scheme": shownIn("location-protocol-relative")({
      recordUrl: ({ host }, location) =>
        location?.startsWith("/") ? new URL(location, host.environment.BASE_URL).href : undefined,
    }),
    "believes-userinfo": shownIn("location-userinfo")({
      // The part before the @ looks like the service's host.
      recordUrl: (_job, location) => location?.replace(/^http:\/\/127\.0\.0\.1@/, "http://"),
    }),
    "follows-redirects-with-key": shownIn("redirect-307")({ redirect: "follow" }),
  },
  "client.no-redirect": {
    "follows-dots": shownIn("location-dots")({
      recordUrl: ({ host }, location) => `${host.environment.BASE_URL}${location}`,
    }),
    "follows-redirects": shownIn("redirect-302 redirect-307-near")({ redirect: "follow" }),
    "follows-redirects-of-reads": shownIn("reads-redirected")({
      send(job, method, url, text) {
        const redirect = method === "GET" ? "follow" : "manual";
        return good.send({ ...job, client: { ...job.client, redirect } }, method, url, text);
      },
    }),
  },
  "client.reports-all": {
    "forgets-the-last": shownIn("calm")({
      report(job, outcome) {
        if (job.entry !== job.host.entries.at(-1)) good.report(job, outcome);
      },
    }),
    "reports-twice": shownIn("calm")({
      report(job, outcome) {
        good.report(job, "pending");
        good.report(job, outcome);
      },
    }),
    "logs-to-stdout": shownIn("calm")({
      onReply: ({ host }, reply) => host.print(`received ${reply?.status}`),
    }),
    "words-of-its-own": shownIn("calm")({
      report: ({ host, entry }) => host.print(JSON.stringify({ reference: entry.reference, outcome: "ok" })),
    }),
    "reports-trimmed": shownIn("references")({
      report: ({ host, entry }, outcome) => host.print(JSON.stringify({ reference: entry.reference.trim(), outcome })),
    }),
    "exits-with-1": program("calm", async (host) => {
      await programOf()(host);
      throw new Error("done");
    }),
    "crashes-on-pages": shownIn("gateway-502")({
      parse: JSON.parse,
      onError: (_job, error) => {
        throw error;
      },
    }),
    "crashes-on-null": shownIn("json-null")({
      read(job, reply) {
        if (reply?.body === null) throw new TypeError("Cannot read properties of null");
        return good.read(job, reply);
      },
    }),
    "lock-stays": shownIn("killed")({
      async payAll(client, host) {
        if (host.files.has("lock")) throw new Error("another run is in progress");
        host.files.set("lock", "");
        await good.payAll(client, host);
        host.files.delete("lock");
      },
    }),
  },
  "client.key-hidden": {
    "logs-the-key": shownIn("calm")({
      onReply: (job) => job.host.log(JSON.stringify(job.client.headersOf(job))),
    }),
  },
  "client.phone-hidden": {
    "logs-requests": shownIn("calm")({
      onReply: ({ host, entry }) => host.log(JSON.stringify(entry)),
    }),
    "logs-records": shownIn("dropped")({
      isSame(job, found) {
        job.host.log(JSON.stringify(found));
        return good.isSame(job, found);
      },
    }),
  },
  "client.bounded-requests": {
    "gives-up-late": shownIn("failure-for-ever")({ attempts: 60, delayOf: () => 1 }),
  },
  "client.bounded-time": {
    "never-ends": shownIn("failure-for-ever")({ attempts: Infinity }),
    "no-time-limit": shownIn("silence")({ limitOf: () => undefined }),
    "limits-headers-only": shownIn("drip")({
      async textOf(response) {
        return new Response(await response.clone().blob()).text();
      },
      limitOf: () => undefined,
    }),
    "waits-a-day": shownIn("limited-too-long")({ longestWait: Infinity }),
  },
  "client.backs-off": {
    "retries-at-once": shownIn("failure-for-ever")({ attempts: 30, delayOf: () => 0 }),
  },
  "client.waits-as-told": {
    "ignores-retry-after": shownIn("limited")({ waitOf: () => 0 }),
    "ignores-dates": shownIn("limited limited")({
      waitOf: (reply) => Number(reply?.headers.get("retry-after") ?? 0) * 1000 || 0,
    }),
  },
};

export const brokenClients: readonly BrokenClient[] = Object.entries(faults).flatMap(([breaks, group]) =>
  Object.entries(group).map(([id, fault]) => ({ id, breaks, ...fault })),
);
