// Servers that mishandle addresses and limits (D7a, D15).
import { type Fault, fault, type Hooks, quickFault } from "../fault.ts";
import {
  accepts,
  responses,
  createCheckout,
  createDisbursement,
  data,
  fieldsOf,
  instead,
  refusal,
  verifyDisbursement,
  withFields,
  withStatus,
} from "../ways.ts";

const payments = [createDisbursement, createCheckout];
const isText = (value: unknown): value is string => typeof value === "string";
const address = (fits: (text: string) => boolean): Hooks =>
  accepts(
    payments,
    "webhookURL",
    (value) => isText(value) && fits(value),
    () => undefined,
  );
const kept = (change: (text: string) => unknown): Hooks =>
  data(verifyDisbursement, (record) =>
    isText(record["webhookURL"]) ? { ...record, webhookURL: change(record["webhookURL"]) } : record,
  );
const length = (text: unknown) => (isText(text) ? [...text].length : 0);
/** Refuses a reference as a duplicate if it equals an earlier reference after `plain` has normalised both. */
function alike(plain: (text: string) => string): Hooks {
  const used = new Set<string>();
  return instead(
    createDisbursement,
    ({ reference }) => {
      const text = plain(String(reference));
      const known = used.has(text);
      used.add(text);
      return known;
    },
    () => refusal(409),
  );
}

const addresses = [
  quickFault("address-ftp", "A webhookURL with the scheme ftp is accepted.", "addresses.refused", () =>
    address((text) => text.startsWith("ftp:")),
  ),
  fault("address-with-user", "A webhookURL with a user name is accepted.", "addresses.refused", () =>
    address((text) => text.includes("@") && !text.includes("mailto")),
  ),
  fault("address-without-scheme", "A webhookURL without a scheme is accepted.", "addresses.refused", () =>
    address((text) => text.startsWith("//")),
  ),
  fault("address-long", "A webhookURL of any length is accepted.", "limits.address-length", () =>
    address((text) => text.length > 2048),
  ),
  fault("address-normalised", "A webhookURL is normalised.", "addresses.kept", () =>
    kept((text) => new URL(text).href),
  ),
  fault("address-truncated", "A webhookURL is truncated to 1,024 characters.", "addresses.kept", () =>
    kept((text) => text.slice(0, 1024)),
  ),
  fault("address-without-fragment", "A webhookURL loses its fragment.", "addresses.kept", () =>
    kept((text) => text.replace(/#.*/, "")),
  ),
  fault("address-null", "A webhookURL that was not given is null.", "addresses.left-out", () =>
    data(verifyDisbursement, (record) => ({ ...record, webhookURL: record["webhookURL"] ?? null })),
  ),
  fault("address-empty", "A webhookURL that was not given is an empty string.", "addresses.left-out", () =>
    data(verifyDisbursement, (record) => ({ ...record, webhookURL: record["webhookURL"] ?? "" })),
  ),
];

const limits = [
  fault("reference-empty", "An empty reference is accepted.", "limits.reference-length", () =>
    accepts(
      createDisbursement,
      "reference",
      (value) => value === "",
      () => crypto.randomUUID(),
    ),
  ),
  fault("reference-truncated", "A reference that is too long is truncated.", "limits.reference-length", () =>
    accepts(
      createDisbursement,
      "reference",
      (value) => length(value) > 64,
      (value) => [...String(value)].slice(1, 60).join("") + "c",
    ),
  ),
  fault(
    "reference-in-units",
    "The length of a reference is counted in UTF-16 code units.",
    "limits.reference-length",
    () =>
      instead(
        createDisbursement,
        ({ reference }) => isText(reference) && reference.length > 64,
        () => refusal(422),
      ),
  ),
  fault("reference-in-bytes", "The length of a reference is counted in bytes.", "limits.reference-length", () =>
    instead(
      createDisbursement,
      ({ reference }) => isText(reference) && Buffer.byteLength(reference) > 64,
      () => refusal(422),
    ),
  ),
  ...(["\0", "\n", "\t", "\u007f", "\u0085"] as const).map((character, index) =>
    fault(
      `reference-control-${index}`,
      `A reference that contains ${JSON.stringify(character)} is accepted.`,
      "limits.reference-characters",
      () =>
        accepts(
          createDisbursement,
          "reference",
          (value) => isText(value) && value.includes(character),
          (value) => String(value).replaceAll(character, "_"),
        ),
    ),
  ),
  fault(
    "reference-case-blind",
    "References that differ only in case are treated as duplicates.",
    "create.references-apart limits.reference-as-sent",
    () => alike((text) => text.toLowerCase()),
  ),
  fault(
    "reference-space-blind",
    "References that differ only in a trailing space are treated as duplicates.",
    "create.references-apart limits.reference-as-sent",
    () => alike((text) => text.trimEnd()),
  ),
  fault(
    "reference-start-blind",
    "References that differ only in a leading space are treated as duplicates.",
    "create.references-apart limits.reference-as-sent",
    () => alike((text) => text.trimStart()),
  ),
  fault(
    "reference-form-blind",
    "References that differ only in Unicode normalisation are treated as duplicates.",
    "create.references-apart limits.reference-as-sent",
    () => alike((text) => text.normalize("NFC")),
  ),
  fault("body-any-size", "A body of any size is accepted.", "limits.body-size", () => ({
    handle: (call, ask) =>
      ask(call.body.length > 16_384 && fieldsOf(call.body) ? withFields(call, fieldsOf(call.body)) : call),
  })),
  fault("body-limit-low", "A body of exactly 16 KiB is refused.", "limits.body-size", () => ({
    handle: async (call, ask) => (call.body.length === 16_384 ? refusal(413) : ask(call)),
  })),
  fault("body-400", "An oversized body returns 400.", "limits.body-size", () =>
    responses(createDisbursement, (reply) => (reply.status === 413 ? withStatus(reply, 400) : reply)),
  ),
  fault("amount-over", "An amount above the maximum is replaced and paid.", "limits.amount-maximum", () =>
    accepts(
      payments,
      "amount",
      (value) => Number(value) > Number.MAX_SAFE_INTEGER,
      () => 1,
    ),
  ),
  fault("amount-over-400", "An amount above the maximum returns 400.", "limits.amount-maximum", () =>
    responses(payments, (reply, call) =>
      reply.status === 422 && Number(fieldsOf(call.body)?.["amount"]) > 2 ** 53 - 1 ? withStatus(reply, 400) : reply,
    ),
  ),
  fault("amount-32-bits", "A checkout's amount overflows at 32 bits.", "limits.amount-maximum-kept", () =>
    data(createCheckout, (created) => ({ ...created, amount: Number(created["amount"]) | 0 })),
  ),
  fault("amount-exponent", "A large amount is written in exponential notation.", "limits.amount-maximum-kept", () =>
    responses(createCheckout, (reply) => ({
      ...reply,
      text: reply.text.replace("9007199254740991", "9.007199254740991e15"),
    })),
  ),
];

export const faults: readonly Fault[] = [...addresses, ...limits];
