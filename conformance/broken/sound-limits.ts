// Sound servers with limits that §8 leaves open (D45). Each server must be certified, with its `declared` limits or, if
// it has no such limits, without a declaration.
import type { Declaration } from "../allowances/declaration.ts";
import type { Call, Hooks, Reply } from "./fault.ts";
import { liveAfter } from "./live.ts";
import { sound, type SoundServer } from "./sound-server.ts";
import {
  createCheckout,
  createDisbursement,
  dataOf,
  fieldsOf,
  isAccepted,
  isOf,
  lastPart,
  refusal,
  verifyDisbursement,
  type Fields,
} from "./ways.ts";

const creates = [createDisbursement, createCheckout];

/** Refuses a request with a key and valid fields if one of its values is outside a limit. */
const limits = (operations: readonly string[], exceeds: (fields: Fields) => boolean, status = 422): Hooks => ({
  async handle(call, ask) {
    const fields = isOf(call, operations) ? fieldsOf(call.body) : undefined;
    if (!fields || !exceeds(fields)) return ask(call);
    return (await refusedKey(call, ask, fields)) ?? refusal(status, "The value is outside what this service accepts.");
  },
});

/** Returns the sound server's refusal if the key is the reason. The request lacks an amount, so it cannot pay. */
async function refusedKey(call: Call, ask: (call: Call) => Promise<Reply | undefined>, fields: Fields) {
  const { amount: _, ...rest } = fields;
  const reply = await ask({ ...call, body: Buffer.from(JSON.stringify(rest)) });
  return reply?.status === 401 ? reply : undefined;
}

const references = (pattern: RegExp) =>
  limits([createDisbursement], ({ reference }) => typeof reference === "string" && !pattern.test(reference));
const served = (countries: readonly string[]) =>
  limits(creates, ({ country }) => /^[A-Z]{2}$/.test(String(country)) && !countries.includes(String(country)));

/** Refuses payouts beyond a number in a period, for each recipient or for the merchant. */
const velocity = (payouts: number, periodMs: number, status: number, whom: (fields: Fields) => string): Hooks => {
  const seen = new Map<string, number[]>();
  return {
    async handle(call, ask) {
      if (!isOf(call, createDisbursement)) return ask(call);
      const fields = fieldsOf(call.body) ?? {};
      const name = whom(fields);
      const now = performance.now();
      const recent = (seen.get(name) ?? []).filter((time) => time > now - periodMs);
      seen.set(name, recent);
      if (recent.length >= payouts) {
        const unknown = await refusedKey(call, ask, fields);
        const reply = refusal(status, "Too many payouts.");
        const headers = status === 429 ? { ...reply.headers, "retry-after": "1" } : reply.headers;
        return unknown ?? { ...reply, headers };
      }
      recent.push(now);
      const reply = await ask(call);
      if (reply && !isAccepted(reply))
        seen.set(
          name,
          seen.get(name)!.filter((time) => time !== now),
        );
      return reply;
    },
  };
};

/** Hides each new record from verify for a time. */
const readsLate = (ms: number): Hooks => {
  const hidden = new Map<string, number>();
  return {
    async handle(call, ask) {
      const reply = await ask(call);
      if (!reply || !isAccepted(reply)) return reply;
      if (isOf(call, createDisbursement)) hidden.set(String(dataOf(reply)["reference"]), performance.now() + ms);
      const until = isOf(call, verifyDisbursement) ? (hidden.get(lastPart(call)) ?? 0) : 0;
      return performance.now() < until ? refusal(404, "There is no such disbursement.") : reply;
    },
  };
};

/** Serves every second verify from a replica that lags behind by this time, so that a status may seem to go back. */
const replicas = (ms: number): Hooks => {
  const records = new Map<string, { now?: Reply; before: Reply; until: number }>();
  let count = 0;
  return {
    async handle(call, ask) {
      const reply = await ask(call);
      if (!reply || !isAccepted(reply)) return reply;
      const until = performance.now() + ms;
      if (isOf(call, createDisbursement))
        records.set(String(dataOf(reply)["reference"]), { before: refusal(404), until });
      const record = isOf(call, verifyDisbursement) ? records.get(lastPart(call)) : undefined;
      if (!record) return reply;
      if (record.now && dataOf(record.now)["status"] !== dataOf(reply)["status"])
        Object.assign(record, { before: record.now, until });
      record.now = reply;
      return (count += 1) % 2 === 0 && performance.now() < record.until ? record.before : reply;
    },
  };
};

/** A live server that sends each webhook after a time. */
const notifiesAfter =
  (ms: number): SoundServer["how"] =>
  ({ sleep }) => ({
    ...liveAfter(0),
    async webhook(message, deliver) {
      // The server counts the webhook as delivered at once, so that its limit of concurrent deliveries delays no other
      // webhook.
      void sleep(ms).then(() => deliver(message).catch(() => undefined));
      return { status: 204, headers: {}, text: "" };
    },
  });

const everySecond: Declaration = { velocity: [{ payouts: 10, seconds: 1, per: "recipient" }] };

export const limitedServers: readonly SoundServer[] = [
  sound("amounts-to-a-million", "Amounts above 1,000,000 are refused.", () =>
    limits(creates, ({ amount }) => Number(amount) > 1_000_000),
  ),
  sound("amounts-to-an-odd-limit", "Amounts above 123,456 are refused with 400.", () =>
    limits(creates, ({ amount }) => Number(amount) > 123_456, 400),
  ),
  sound("amounts-by-currency", "Amounts above 1,000,000 are refused in KES only.", () =>
    limits(creates, ({ amount, currency }) => currency === "KES" && Number(amount) > 1_000_000),
  ),
  sound("checkouts-to-500000", "Checkouts above 500,000 are refused, payouts are not.", () =>
    limits([createCheckout], ({ amount }) => Number(amount) > 500_000),
  ),
  sound("references-of-40-bytes", "References of more than 40 bytes are refused.", () =>
    limits([createDisbursement], ({ reference }) => Buffer.byteLength(String(reference)) > 40),
  ),
  sound("references-without-outer-signs", "References may not begin or end with a space or a sign.", () =>
    limits(
      [createDisbursement],
      ({ reference }) => typeof reference === "string" && !/^([\p{L}\p{N}](.*[\p{L}\p{N}])?)?$/su.test(reference),
    ),
  ),
  sound("references-of-20", "References of more than 20 characters are refused.", () => references(/^.{0,20}$/su)),
  sound("references-plain", "References may contain only letters, digits, hyphens and underscores.", () =>
    references(/^[A-Za-z0-9_-]*$/),
  ),
  sound("references-short-and-plain", "References have at most 32 letters, digits and hyphens.", () =>
    references(/^[A-Za-z0-9-]{0,32}$/),
  ),
  sound("one-country", "Only Ivory Coast and its currency are served.", () => served(["CI"])),
  sound("two-countries", "Only Ivory Coast and Ghana are served.", () => served(["CI", "GH"])),
  {
    ...sound("https-webhooks", "A webhookURL must be an https address.", () =>
      limits(creates, ({ webhookURL }) => /^http:/i.test(String(webhookURL))),
    ),
    // The receiver of the self-test has an http address, so nothing about webhooks can be judged.
    verdict: "passed-partially",
  },
  sound("velocity-429", "More than 30 payouts per second are refused with 429.", () =>
    velocity(30, 1000, 429, () => "merchant"),
  ),
  {
    ...sound("velocity-422", "More than 10 payouts per second to one recipient are refused with 422.", () =>
      velocity(10, 1000, 422, ({ phoneNumber }) => String(phoneNumber)),
    ),
    declared: everySecond,
  },
  sound("reads-late", "Verify finds a new disbursement after 300 ms.", () => readsLate(300)),
  {
    ...sound("reads-late-declared", "Verify finds a new disbursement after 300 ms, as declared.", () => readsLate(300)),
    declared: { readAfterWriteMs: 350 },
  },
  {
    ...sound("replicas-declared", "Every second verify shows the record as it was 300 ms ago, as declared.", () =>
      replicas(300),
    ),
    declared: { readAfterWriteMs: 500, replicas: true },
  },
  sound("notifies-late", "The server is live and webhooks come after twelve seconds.", notifiesAfter(12_000)),
  {
    ...sound(
      "notifies-late-declared",
      "The server is live and webhooks come after ten seconds, as declared.",
      notifiesAfter(10_000),
    ),
    declared: { notificationSeconds: 20 },
  },
  {
    ...sound("settles-slowly", "The server is live and payouts stay pending for nine seconds, as declared.", () =>
      liveAfter(9_000),
    ),
    declared: { settlementSeconds: 20 },
  },
  sound("phone-ranges", "Only phone numbers that start with 2257038 are served.", () =>
    limits(
      [createDisbursement],
      ({ phoneNumber }) => /^[0-9]{10,15}$/.test(String(phoneNumber)) && !String(phoneNumber).startsWith("2257038"),
    ),
  ),
  {
    ...sound(
      "phone-ranges-declared",
      "Only phone numbers of 13 digits that start with 225703 are served, as declared.",
      () =>
        limits(
          [createDisbursement],
          ({ phoneNumber }) =>
            /^[0-9]{10,15}$/.test(String(phoneNumber)) && !/^225(703\d{7}|000000\d{4})$/.test(String(phoneNumber)),
        ),
    ),
    declared: { numberRanges: ["225703xxxxxxx", "225000000xxxx"] },
  },
];
