// The broken clients. Each is the sound client with a single fault, under the requirement that the fault breaks.
import { randomUUID } from "node:crypto";
import type { Entry } from "../../programs/client/entries.ts";
import type { Outcome } from "../../programs/client/protocol.ts";
import {
  dataOf,
  good,
  isFromService,
  jobOf,
  outcomeOf,
  programOf,
  withParts,
  type Client,
  type Found,
  type Job,
  type Reading,
  type Reply,
} from "./good.ts";
import type { Program } from "./host.ts";

type BrokenClient = {
  id: string;
  /** The requirement that must fail, or warn if its level is `should`. */
  breaks: string;
  /** At least one of these scenarios must catch the fault. */
  scenarios: string[];
  program: Program;
};

type Fault = Omit<BrokenClient, "id">;

/**
 * A fault that breaks a requirement, which is named without `client.`.
 * @param scenarios separated by spaces
 * @param change the parts that differ from the sound client
 */
const breaks = (requirement: string, scenarios: string, change: Partial<Client>): Fault => ({
  breaks: `client.${requirement}`,
  scenarios: scenarios.split(" "),
  program: programOf(change),
});

/** Reads responses that `when` selects as `reading`, and others as the good client does. */
const readsAs = (
  requirement: string,
  scenarios: string,
  reading: Reading,
  when: (reply: Reply, job: Job) => boolean,
): Fault =>
  breaks(requirement, scenarios, {
    read: (job, reply) => (reply && when(reply, job) ? reading : good.read(job, reply)),
  });

const status = (code: number) => (reply: Reply | undefined) => reply?.status === code;

/** Treats a response that `when` selects as proof that no earlier request recorded the entry. */
const endsDoubt = (requirement: string, scenarios: string, when: (reply: Reply | undefined) => boolean) =>
  breaks(requirement, scenarios, {
    onReply(job, reply) {
      if (when(reply)) job.isInDoubt = false;
    },
  });

const body = (requirement: string, scenarios: string, change: (entry: Entry) => Record<string, unknown>) =>
  breaks(requirement, scenarios, {
    bodyOf: ({ entry }, reference) => JSON.stringify({ ...entry, reference, ...change(entry) }),
  });

/** Makes a reference of its own from an entry's reference. */
const reference = (requirement: string, scenarios: string, change: (text: string, job: Job) => string) =>
  breaks(requirement, scenarios, {
    payOne: (job) => good.payOne({ ...job, entry: { ...job.entry, reference: change(job.entry.reference, job) } }),
  });

/** Uses a new reference for each attempt. */
const referencePerAttempt: Partial<Client> = {
  referenceOf: ({ entry }, attempt) => (attempt === 1 ? entry.reference : `${entry.reference}-${attempt}`),
};

/** Reports one outcome as another. */
const reports = (requirement: string, scenarios: string, actual: Outcome, reported: Outcome) =>
  breaks(requirement, scenarios, {
    report: (job, outcome) => good.report(job, outcome === actual ? reported : outcome),
  });

/** Judges a 409 by the record that the client finds. If `judge` returns undefined, the good client decides. */
const resolves = (requirement: string, scenarios: string, judge: (job: Job, found: Found) => Outcome | undefined) =>
  breaks(requirement, scenarios, {
    async resolve(job, location) {
      const found = await good.find(job, location);
      return (found && judge(job, found)) ?? good.resolve(job, location);
    },
  });

const faults: Readonly<Record<string, Fault>> = {
  "new-reference-on-retry": breaks("pays-once", "dropped", referencePerAttempt),
  "new-reference-after-409": breaks("pays-once", "sent-twice", {
    ...referencePerAttempt,
    read: (job, reply) => (reply?.status === 409 ? "later" : good.read(job, reply)),
  }),
  "reference-per-start": breaks("pays-once", "killed-third-recorded", {
    payAll(client, host) {
      const start = randomUUID();
      return good.payAll(withParts(client, { referenceOf: ({ entry }) => `${entry.reference}-${start}` }), host);
    },
    remembered: () => undefined,
  }),
  "reference-per-worker": reference(
    "pays-once",
    "workers",
    (text, { host }) => `${text}-${host.environment.STATE_DIR.slice(-1)}`,
  ),
  "does-nothing": breaks("pays-once", "calm", { payAll: async () => undefined }),
  "repeat-is-another-payment": breaks("pays-once", "repeated repeated-lost", {
    async payAll(client, host) {
      for (const [index, entry] of host.entries.entries()) {
        const isFirst = host.entries.findIndex(({ reference: text }) => text === entry.reference) === index;
        const job = jobOf(client, host, isFirst ? entry : { ...entry, reference: `${entry.reference}-2` });
        good.report({ ...job, entry }, await good.payOne(job));
      }
    },
  }),
  "reference-normalised": reference("same-reference", "references", (text) => text.normalize("NFC")),
  "reference-by-position": reference(
    "same-reference",
    "started-elsewhere",
    (_text, { host, entry }) => `payment-${host.entries.indexOf(entry)}`,
  ),
  "drops-twins": breaks("loses-nothing", "twins", {
    async payOne(job) {
      const first = job.host.entries.find(({ phoneNumber }) => phoneNumber === job.entry.phoneNumber)!;
      return first === job.entry ? good.payOne(job) : "refused";
    },
  }),
  "one-attempt": breaks("loses-nothing", "unrecorded", { attempts: 1 }),
  "no-retry-after-500": readsAs("loses-nothing", "failure", "refused", status(500)),
  "gives-up-for-good": breaks("loses-nothing", "again-after-blackout unrecorded", {
    attempts: 1,
    remembered: (job) => (good.remembered(job) === undefined ? undefined : "unknown"),
  }),
  "amount-as-float": body("exact-request", "amounts", ({ amount }) => ({ amount: Math.fround(amount) })),
  "phone-without-zero": body("contract", "places", ({ phoneNumber }) => ({
    phoneNumber: phoneNumber.replace(/^0+/, ""),
  })),
  "without-key": breaks("contract", "calm", { headersOf: () => ({ "content-type": "application/json" }) }),
  "key-in-url": breaks("contract", "calm", {
    pathOf: ({ host }) => `/v1/disbursements?key=${host.environment.API_KEY}`,
  }),
  "made-up-filter": breaks("contract", "location-missing", {
    async look(job) {
      await good.send(job, "GET", `/v1/disbursements?reference=${job.entry.amount}`);
      return good.look(job);
    },
  }),
  "loss-is-failed": breaks("failed-is-true", "dropped", { onLost: () => "failed" }),
  "refused-is-failed": reports("failed-is-true", "refused", "refused", "failed"),
  "added-status-is-failed": readsAs("failed-is-true", "status-added", "failed", (reply) => {
    const found = dataOf(reply)?.status;
    return typeof found === "string" && !outcomeOf(found);
  }),
  "404-is-refused": readsAs("refused-is-true", "gateway-404", "refused", status(404)),
  "doubt-ends-with-422": endsDoubt("refused-is-true", "then-422", status(422)),
  "failed-is-refused": reports("refused-is-true", "calm", "failed", "refused"),
  "doubt-ends-with-a-limit": endsDoubt("refused-is-true", "recorded-then-429", status(429)),
  "framework-is-the-service": readsAs(
    "refused-is-true",
    "gateway-401-framework gateway-404-framework",
    "refused",
    (reply) => [401, 403, 404].includes(reply.status) && isFromService(reply),
  ),
  "missing-field-differs": resolves("refused-is-true", "list-incomplete", (job, found) =>
    good.isSame(job, found) ? undefined : "refused",
  ),
  "first-in-the-list": breaks("refused-is-true", "list-reordered", {
    async resolve(job) {
      const { reference: wanted } = job.entry;
      const query = new URLSearchParams({ merchantsReference: wanted });
      const [first] = dataOf(await good.send(job, "GET", `/v1/disbursements?${query}`))?.items ?? [];
      return first && good.isSame(job, first) ? "pending" : "refused";
    },
  }),
  "empty-list-is-refused": breaks("refused-is-true", "recorded-late again-without-state", {
    refusedInDoubt: async (job) => ((await good.look(job)) === "none" ? "refused" : good.refusedInDoubt(job)),
  }),
  "404-proves-absence": breaks("refused-is-true", "replica-lag", {
    async resolve(job, location) {
      const reply = await good.send(job, "GET", good.pathTo(job, location)!);
      return reply?.status === 404 ? "refused" : good.resolve(job, location);
    },
  }),
  "forgets-a-killed-run": breaks("refused-is-true", "killed", {
    remembered(job) {
      const known = good.remembered(job);
      return known === "sent" ? undefined : known;
    },
  }),
  "sure-without-state": breaks("refused-is-true", "again-without-state", { mayBeSent: () => false }),
  "sure-without-looking": breaks("refused-is-true", "again-without-state-listed recorded-late then-422", {
    refusedInDoubt: async () => "refused",
  }),
  "doubt-only-without-response": readsAs(
    "refused-is-true",
    "gateway-502 gateway-403-json empty-200 somebody-elses failure",
    "later",
    (reply, job) => good.read(job, reply) === "lost",
  ),
  "pays-refused-entries-later": breaks("refused-is-true", "refused-until-the-end", {
    report(job, outcome) {
      good.report(job, outcome);
      // A worker that continues after the program has ended.
      const url = `${job.host.environment.BASE_URL}/v1/disbursements`;
      const payLater = () =>
        fetch(url, { method: "POST", headers: good.headersOf(job), body: JSON.stringify(job.entry) });
      if (outcome === "refused") setTimeout(() => void payLater().catch(() => undefined), 500);
    },
  }),
  "200-is-paid": readsAs("paid-is-true", "calm", "paid", status(200)),
  "200-without-a-record-is-paid": readsAs(
    "paid-is-true",
    "error-within-200",
    "paid",
    (reply) => reply.status === 200 && !dataOf(reply),
  ),
  "pending-is-paid": reports("paid-is-true", "calm", "pending", "paid"),
  "compares-nothing": breaks("paid-is-true", "exists", { isSame: () => true }),
  "compares-no-currency": breaks("paid-is-true", "other-currency", {
    isSame: (job, found) => good.isSame(job, { ...found, currency: job.entry.currency }),
  }),
  "notes-before-sending": breaks("paid-is-true", "killed-first-received killed-third-recorded", {
    remembered: ({ host, entry }) => (host.files.has(entry.reference) ? "paid" : undefined),
  }),
  "added-status-is-paid": resolves("paid-is-true", "added", (job, found) =>
    good.isSame(job, found) ? (outcomeOf(found.status) ?? "paid") : undefined,
  ),
  "equal-amount-is-mine": readsAs("paid-is-true", "somebody-elses", "paid", (reply, { entry }) => {
    const data = dataOf(reply);
    return data?.amount === entry.amount && data.status === "success";
  }),
  "loss-is-pending": breaks("pending-is-true", "unrecorded", { onLost: () => "pending" }),
  "all-pending": breaks("pending-is-true", "calm", { report: (job) => good.report(job, "pending") }),
  "loss-is-unknown": breaks("finds-out", "dropped", { onLost: () => "unknown" }),
  "one-read": breaks("finds-out", "reads-fail replica-lag", {
    async find(job, location) {
      const reply = await good.send(job, "GET", good.pathTo(job, location)!);
      return reply?.status === 200 ? dataOf(reply) : undefined;
    },
  }),
  "resolves-only-in-doubt": breaks("finds-out", "killed-third-recorded started-elsewhere", {
    resolve: async (job, location) => (job.isInDoubt ? good.resolve(job, location) : "unknown"),
    remembered: () => undefined,
  }),
  "goes-where-told": breaks("key-stays", "location-foreign", { pathTo: (_job, location) => location ?? undefined }),
  "follows-redirects-with-key": breaks("key-stays", "redirect-307", { redirect: "follow" }),
  "follows-dots": breaks("no-redirect", "location-dots", { pathTo: (_job, location) => location ?? undefined }),
  "follows-redirects": breaks("no-redirect", "redirect-302 redirect-307-near", { redirect: "follow" }),
  "forgets-the-last": breaks("reports-all", "calm", {
    report: (job, outcome) => void (job.entry !== job.host.entries.at(-1) && good.report(job, outcome)),
  }),
  "logs-to-stdout": breaks("reports-all", "calm", {
    onReply: ({ host }, reply) => host.print(`received ${reply?.status}`),
  }),
  "reports-trimmed": breaks("reports-all", "references", {
    report: (job, outcome) =>
      good.report({ ...job, entry: { ...job.entry, reference: job.entry.reference.trim() } }, outcome),
  }),
  "lock-stays": breaks("reports-all", "killed", {
    async payAll(client, host) {
      if (host.files.has("lock")) throw new Error("another run is in progress");
      host.files.set("lock", "");
      await good.payAll(client, host);
      host.files.delete("lock");
    },
  }),
  "logs-the-key": breaks("key-hidden", "calm", {
    onReply: (job) => job.host.log(JSON.stringify(job.client.headersOf(job))),
  }),
  "logs-requests": breaks("phone-hidden", "calm", { onReply: ({ host, entry }) => host.log(JSON.stringify(entry)) }),
  "gives-up-late": breaks("bounded-requests", "failure-for-ever", { attempts: 60, delayOf: () => 1 }),
  "never-ends": breaks("bounded-time", "failure-for-ever", { attempts: Infinity }),
  "no-time-limit": breaks("bounded-time", "silence drip", { limitOf: () => undefined }),
  "waits-a-day": breaks("bounded-time", "limited-too-long", { longestWait: Infinity }),
  "retries-at-once": breaks("backs-off", "failure-for-ever", { attempts: 30, delayOf: () => 0 }),
  "ignores-retry-after": breaks("waits-as-told", "limited", { waitOf: () => 0 }),
  "ignores-dates": breaks("waits-as-told", "limited", {
    waitOf: (reply) => Number(reply?.headers.get("retry-after") ?? 0) * 1000 || 0,
  }),
};

export const brokenClients: readonly BrokenClient[] = Object.entries(faults).map(([id, fault]) => ({ id, ...fault }));
