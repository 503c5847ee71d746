// Sound clients that differ from the good client. No sound client may raise an alarm.
import { createHash } from "node:crypto";
import { good, outcomeOf, programOf, type Client } from "./good.ts";
import type { Program } from "./host.ts";

export type SoundClient = { id: string; program: Program };

const sound = (id: string, change: Partial<Client>): SoundClient => ({ id, program: programOf(change) });

/** Writes every character beyond ASCII as an escape. */
const escaped = (text: string) =>
  text.replaceAll(/[^ -~]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);

const digestOf = (text: string) => `pay-${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;

export const soundClients: readonly SoundClient[] = [
  sound("good", {}),
  sound("one-at-a-time", { concurrency: 1 }),
  sound("all-at-once", { concurrency: 100 }),
  sound("few-attempts", { attempts: 6 }),
  sound("many-attempts", { attempts: 11 }),
  sound("asks-again", {
    // Stores which entries were sent, and no outcome.
    remembered: (job) => (good.remembered(job) === undefined ? undefined : "sent"),
  }),
  sound("reports-repeats", {
    async payAll(client, host) {
      for (const entry of host.entries)
        client.report({ client, host, entry }, await client.payOne({ client, host, entry }));
    },
  }),
  sound("without-lists", { look: async () => "none" }),
  sound("lists-first", {
    async find(job, location) {
      const listed = await job.client.look(job);
      return listed && listed !== "none" ? listed : good.find(job, location);
    },
  }),
  sound("looks-before-it-pays", {
    async payOne(job) {
      const found = await job.client.look(job);
      // A later list without the record would prove nothing.
      if (!found || found === "none") return good.payOne(job);
      return job.client.isSame(job, found) ? (outcomeOf(found.status) ?? "unknown") : "refused";
    },
  }),
  sound("own-references", {
    payOne: (job) => good.payOne({ ...job, entry: { ...job.entry, reference: digestOf(job.entry.reference) } }),
  }),
  sound("new-connections", {
    headersOf: (job) => ({ ...good.headersOf(job), connection: "close" }),
  }),
  sound("other-notation", {
    headersOf: (job) => ({
      ...good.headersOf(job),
      "content-type": "application/json; charset=utf-8",
      "user-agent": "x",
    }),
    bodyOf: ({ entry }, reference) =>
      escaped(JSON.stringify(Object.fromEntries(Object.entries({ ...entry, reference }).toReversed()))),
  }),
  sound("even-delays", {
    delayOf: ({ client }, _attempt, reply) => client.waitOf(reply) + 150,
  }),
  sound("takes-negative-for-hours", {
    // PHP's strtotime reads -5 as a time zone.
    waitOf: (reply) => (reply?.headers.get("retry-after")?.startsWith("-") ? 18_000_000 : good.waitOf(reply)),
  }),
  sound("careful-with-pending", {
    // Reads a pending payout once more before reporting it.
    async payOne(job) {
      const outcome = await good.payOne(job);
      const found = outcome === "pending" ? await job.client.look(job) : undefined;
      return found && found !== "none" ? (outcomeOf(found.status) ?? outcome) : outcome;
    },
  }),
];
