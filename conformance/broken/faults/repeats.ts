// Servers that compare more than the reference when they look for duplicates (§2.1, §7).
import { type Fault, caughtOnlyBy, fault, type Hooks, type How, quickFault } from "../fault.ts";
import { signed } from "../messages.ts";
import {
  createDisbursement,
  dataOf,
  fieldsOf,
  isAccepted,
  isOf,
  requests,
  responses,
  verifyDisbursement,
  withBody,
  withFields,
  type Fields,
} from "../ways.ts";

const others = ["amount", "phoneNumber", "country", "currency", "webhookURL"];
const differing = (now: Fields, before: Fields) => others.filter((name) => now[name] !== before[name]);

/**
 * Pays a duplicate if it differs from the first request with its reference in exactly these fields. The responses and
 * webhooks have the reference of the request, so that only the second payment is wrong.
 */
const paysIfDifferent = (...names: string[]): Hooks => {
  const first = new Map<unknown, Fields>();
  const again: unknown[] = [];
  const asSent = (text: string) => text.replaceAll(/"again-(\d+)"/g, (_, place) => JSON.stringify(again[place]));
  const { handle } = requests(createDisbursement, (fields) => {
    const before = first.get(fields["reference"]);
    if (!before) first.set(fields["reference"], fields);
    const paid = before && differing(fields, before).join() === names.join();
    return paid ? { ...fields, reference: `again-${again.push(fields["reference"]) - 1}` } : fields;
  });
  return {
    async handle(call, ask) {
      const reply = await handle?.(call, ask);
      return reply && { ...reply, text: asSent(reply.text) };
    },
    webhook: (message, deliver) => deliver(signed({ ...message, body: asSent(message.body) })),
  };
};

/**
 * Compares reference and another field while a request with the same reference is under way, and pays if that field
 * differs.
 */
const racesOn = (...names: string[]): Hooks => {
  const underWay = new Map<unknown, Fields>();
  let count = 0;
  return {
    async handle(call, ask) {
      const fields = isOf(call, createDisbursement) ? fieldsOf(call.body) : undefined;
      const reference = fields?.["reference"];
      if (!fields || typeof reference !== "string") return ask(call);
      const first = underWay.get(reference);
      if (first && names.every((name) => differing(fields, first).includes(name)))
        return ask(withFields(call, { ...fields, reference: `raced-${(count += 1)}` }));
      underWay.set(reference, first ?? fields);
      const reply = await ask(call);
      underWay.delete(reference);
      return reply;
    },
  };
};

/**
 * Responds correctly to a race, but records the values of the last request instead of the values of the accepted
 * request.
 */
const lastWriterWins: How = () => {
  const last = new Map<unknown, Fields>();
  const underWay = new Map<unknown, number>();
  return {
    async handle(call, ask) {
      const fields = isOf(call, createDisbursement) ? fieldsOf(call.body) : undefined;
      if (fields && typeof fields["reference"] === "string") {
        const { reference } = fields;
        const before = underWay.get(reference) ?? 0;
        underWay.set(reference, before + 1);
        if (before > 0) last.set(reference, fields);
        const reply = await ask(call);
        underWay.set(reference, (underWay.get(reference) ?? 1) - 1);
        return reply;
      }
      const reply = await ask(call);
      if (!reply || !isOf(call, verifyDisbursement) || !isAccepted(reply)) return reply;
      const record = dataOf(reply);
      const winner = last.get(record["merchantsReference"]);
      return winner ? withBody(reply, { statusCode: 200, data: { ...record, amount: winner["amount"] } }) : reply;
    },
  };
};

export const faults: readonly Fault[] = [
  fault(
    "repeat-to-other-number-paid",
    "A duplicate reference with another phone number is paid again.",
    "create.duplicate-any-field",
    () => paysIfDifferent("phoneNumber"),
  ),
  fault(
    "repeat-in-other-currency-paid",
    "A duplicate reference with another currency is paid again.",
    "create.duplicate-any-field",
    () => paysIfDifferent("currency"),
  ),
  caughtOnlyBy(
    "create.duplicate-any-field",
    fault(
      "repeat-in-other-country-paid",
      "A duplicate reference with only another country is paid again.",
      "create.duplicate-any-field",
      () => paysIfDifferent("country"),
    ),
  ),
  fault(
    "repeat-with-other-address-paid",
    "A duplicate reference with another webhookURL is paid again.",
    "create.duplicate-any-field",
    () => paysIfDifferent("webhookURL"),
  ),
  fault(
    "repeat-with-all-different-paid",
    "A duplicate reference is paid again if every other field differs.",
    "create.duplicate-any-field",
    () => paysIfDifferent(...others),
  ),
  fault(
    "race-to-other-numbers-paid",
    "Concurrent requests with the same reference are all paid if they differ in phone number and amount.",
    "create.duplicate-race-any-field",
    () => racesOn("amount", "phoneNumber"),
  ),
  fault(
    "race-in-other-currencies-paid",
    "Concurrent requests with the same reference are all paid if they differ in currency.",
    "create.duplicate-race-any-field",
    () => racesOn("currency"),
  ),
  fault(
    "race-with-other-addresses-paid",
    "Concurrent requests with the same reference are all paid if they differ in webhookURL.",
    "create.duplicate-race-any-field",
    () => racesOn("webhookURL"),
  ),
  fault(
    "race-last-writer-wins",
    "After concurrent requests with the same reference, the record has the amount of the last request.",
    "create.duplicate-race-any-field",
    lastWriterWins,
  ),
  quickFault(
    "repeat-listed",
    "A refused duplicate appears in the list, as a second record.",
    "uniqueness.one-record",
    () => {
      const repeated = new Set<unknown>();
      return {
        async handle(call, ask) {
          const reply = await ask(call);
          if (isOf(call, createDisbursement) && reply?.status === 409) repeated.add(fieldsOf(call.body)?.["reference"]);
          if (!reply || !isOf(call, "listDisbursements") || !isAccepted(reply)) return reply;
          const data = dataOf(reply) as { items: Fields[] };
          const more = data.items.filter((item) => repeated.has(item["merchantsReference"]));
          return withBody(reply, { statusCode: 200, data: { ...data, items: [...data.items, ...more] } });
        },
      };
    },
  ),
  fault(
    "repeat-replaces-listed",
    "A refused duplicate replaces the first record in the list.",
    "uniqueness.one-record",
    () => {
      const repeated = new Set<unknown>();
      return responses([createDisbursement, "listDisbursements"], (reply, call) => {
        if (isOf(call, createDisbursement)) {
          if (reply.status === 409) repeated.add(fieldsOf(call.body)?.["reference"]);
          return reply;
        }
        if (!isAccepted(reply)) return reply;
        const data = dataOf(reply) as { items: Fields[] };
        const items = data.items.map((item) =>
          repeated.has(item["merchantsReference"]) ? { ...item, reference: "DSB0000000000000000000000" } : item,
        );
        return withBody(reply, { statusCode: 200, data: { ...data, items } });
      });
    },
  ),
];
