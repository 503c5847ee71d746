// Servers on which a used reference becomes free again (§2.1, D15).
import { type Fault, caughtOnlyBy, fault, type Hooks, type How } from "../fault.ts";
import {
  createDisbursement,
  dataOf,
  fieldsOf,
  isAccepted,
  isOf,
  refusal,
  requests,
  withBody,
  type Fields,
} from "../ways.ts";
import { ageing, kept } from "./life.ts";

/** Makes the reference of a repeated request free if `fits` returns true for the first and the repeated request. */
const frees =
  (fits: (first: Fields, again: Fields, isOld: boolean) => boolean): How =>
  (world) => {
    const used = new Map<unknown, Fields>();
    const isOld = ageing(world);
    let count = 0;
    return requests(createDisbursement, (fields) => {
      const { reference } = fields;
      if (typeof reference !== "string") return fields;
      const first = used.get(reference);
      if (!first) {
        used.set(reference, fields);
        isOld(reference);
        return fields;
      }
      return fits(first, fields, isOld(reference)) ? { ...fields, reference: `freed-${(count += 1)}` } : fields;
    });
  };

const spelled = (fits: (reference: string) => boolean): How =>
  frees((_, again) => typeof again["reference"] === "string" && fits(again["reference"]));

const changed = (field: string): How => frees((first, again, isOld) => isOld && first[field] !== again[field]);

const folded = (text: string) => text.normalize("NFC").trim().toLowerCase();

/** Treats references that differ only in case, Unicode form or outer spaces as one reference. */
const folding = (found: (original: string) => ReturnType<typeof refusal>): Hooks => {
  const used = new Map<string, [reference: unknown, text: string]>();
  return {
    async handle(call, ask) {
      const { reference } = fieldsOf(call.body) ?? {};
      if (!isOf(call, createDisbursement) || typeof reference !== "string") return ask(call);
      const [original, text = ""] = used.get(folded(reference)) ?? [];
      if (original !== undefined && original !== reference) return found(text);
      const reply = await ask(call);
      if (reply && isAccepted(reply)) used.set(folded(reference), [reference, reply.text]);
      return reply;
    },
  };
};

export const faults: readonly Fault[] = [
  caughtOnlyBy(
    "life.references-used life.spellings-used",
    fault(
      "life-reference-expires",
      "A reference is free again after two seconds.",
      "life.references-used",
      frees((_, __, isOld) => isOld),
      kept,
    ),
  ),
  caughtOnlyBy(
    "life.references-used",
    fault(
      "life-reference-freed-by-failure",
      "The reference of a failed payout is free again after two seconds.",
      "life.references-used",
      frees(({ phoneNumber }, _, isOld) => isOld && String(phoneNumber).endsWith("089")),
      kept,
    ),
  ),
  caughtOnlyBy(
    "life.references-used life.spellings-used",
    fault(
      "life-reference-freed-by-success",
      "The reference of a successful payout is free again after two seconds.",
      "life.references-used",
      frees(({ phoneNumber }, _, isOld) => isOld && !String(phoneNumber).endsWith("089")),
      kept,
    ),
  ),
  ...["amount", "phoneNumber", "country", "currency"].map((field) => {
    const reused = fault(
      `life-reference-with-${field}`,
      `After two seconds, references are unique only together with ${field}.`,
      "life.references-used",
      changed(field),
      "records.as-requested",
    );
    return field === "amount" || field === "phoneNumber" ? caughtOnlyBy("life.references-used", reused) : reused;
  }),
  caughtOnlyBy(
    "life.spellings-used",
    fault(
      "life-reference-upper-case",
      "A reference in upper case can be used again.",
      "life.spellings-used",
      spelled((text) => text === text.toUpperCase() && /[A-Z]/.test(text)),
      kept,
    ),
  ),
  caughtOnlyBy(
    "life.spellings-used life.references-used",
    fault(
      "life-reference-composed",
      "A reference with a composed accent can be used again.",
      "life.spellings-used",
      spelled((text) => text !== text.normalize("NFD")),
      kept,
    ),
  ),
  fault(
    "life-reference-combining",
    "A reference with a combining accent can be used again.",
    "life.spellings-used",
    spelled((text) => text !== text.normalize("NFC")),
    kept,
  ),
  caughtOnlyBy(
    "life.spellings-used",
    fault(
      "life-reference-spaces",
      "A reference with a space at its start or end can be used again.",
      "life.spellings-used",
      spelled((text) => text !== text.trim()),
      kept,
    ),
  ),
  fault(
    "life-spelling-returns-original",
    "Another spelling of a used reference returns the first payout with 200.",
    "life.spellings-used",
    () => folding((text) => ({ ...refusal(200), text })),
    kept,
  ),
  fault(
    "life-spelling-refused",
    "Another spelling of a used reference is refused with 409.",
    "life.other-spellings life.spellings-distinct",
    () => folding(() => refusal(409)),
    kept,
  ),
  fault(
    "life-spelling-rewritten",
    "The service stores references in lower case and without outer spaces in the responses to repeated spellings.",
    "life.spellings-used",
    () => ({
      async handle(call, ask) {
        const reply = await ask(call);
        if (!reply || !isOf(call, createDisbursement) || !isAccepted(reply)) return reply;
        const made = dataOf(reply);
        const text = String(made["merchantsReference"]);
        return text === text.trim() && text === text.toUpperCase() && /[A-Z]/.test(text)
          ? withBody(reply, { statusCode: 200, data: { ...made, merchantsReference: text.toLowerCase() } })
          : reply;
      },
    }),
    kept,
  ),
];
