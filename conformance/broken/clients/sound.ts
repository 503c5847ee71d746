// Sound clients that differ from the good client. No sound client may raise an alarm.
import { createHash } from "node:crypto";
import { good, jobOf, outcomeOf, programOf, type Client } from "./good.ts";

/** Writes every character beyond ASCII as an escape. */
const escaped = (text: string) =>
  text.replaceAll(/[^ -~]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);

const digestOf = (text: string) => `pay-${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;

const changes: Readonly<Record<string, Partial<Client>>> = {
  good: {},
  "one-at-a-time": { concurrency: 1 },
  "all-at-once": { concurrency: 100 },
  "few-attempts": { attempts: 6 },
  "many-attempts": { attempts: 11 },
  "asks-again": {
    // Stores which entries were sent, and no outcome.
    remembered: (job) => (good.remembered(job) === undefined ? undefined : "sent"),
  },
  "reports-repeats": {
    async payAll(client, host) {
      for (const entry of host.entries) {
        const job = jobOf(client, host, entry);
        client.report(job, await client.payOne(job));
      }
    },
  },
  "without-lists": { look: async () => "none" },
  "looks-before-it-pays": {
    async payOne(job) {
      const found = await good.look(job);
      // A list that lags behind may lack the record. The create is still safe: a duplicate gets 409.
      if (!found || found === "none") return good.payOne(job);
      return good.isSame(job, found) ? (outcomeOf(found.status) ?? "unknown") : "refused";
    },
  },
  "own-references": {
    payOne: (job) => good.payOne({ ...job, entry: { ...job.entry, reference: digestOf(job.entry.reference) } }),
  },
  "new-connections": { headersOf: (job) => ({ ...good.headersOf(job), connection: "close" }) },
  "other-notation": {
    headersOf: (job) => ({
      ...good.headersOf(job),
      "content-type": "application/json; charset=utf-8",
      "user-agent": "x",
    }),
    bodyOf: ({ entry }, reference) =>
      escaped(JSON.stringify(Object.fromEntries(Object.entries({ ...entry, reference }).toReversed()))),
  },
  "even-delays": { delayOf: ({ client }, _attempt, reply) => client.waitOf(reply) + 150 },
  "takes-negative-for-hours": {
    // PHP's strtotime reads -5 as a time zone.
    waitOf: (reply) => (reply?.headers.get("retry-after")?.startsWith("-") ? 18_000_000 : good.waitOf(reply)),
  },
};

export const soundClients = Object.entries(changes).map(([id, change]) => ({ id, program: programOf(change) }));
