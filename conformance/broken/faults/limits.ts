// D7a, D15: servers that are careless with addresses and limits.
import { fault, type How } from "../fault.ts";
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
const address = (fits: (text: string) => boolean): How =>
  accepts(
    payments,
    "webhookURL",
    (value) => isText(value) && fits(value),
    () => undefined,
  );
const kept = (change: (text: string) => unknown): How =>
  data(verifyDisbursement, (record) =>
    isText(record["webhookURL"]) ? { ...record, webhookURL: change(record["webhookURL"]) } : record,
  );
const length = (text: unknown) => (isText(text) ? [...text].length : 0);
/** References are compared after this change, and kept as they came. */
function alike(plain: (text: string) => string): How {
  return () => {
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
  };
}

const addresses = [
  fault(
    "address-ftp",
    "An ftp address is accepted.",
    "addresses.refused",
    address((text) => text.startsWith("ftp:")),
  ),
  fault(
    "address-with-user",
    "An address with a user is accepted.",
    "addresses.refused",
    address((text) => text.includes("@") && !text.includes("mailto")),
  ),
  fault(
    "address-without-scheme",
    "An address without a scheme is accepted.",
    "addresses.refused",
    address((text) => text.startsWith("//")),
  ),
  fault(
    "address-long",
    "An address of any length is accepted.",
    "limits.address-length",
    address((text) => text.length > 2048),
  ),
  fault(
    "address-tidied",
    "Addresses are tidied up.",
    "addresses.kept",
    kept((text) => new URL(text).href),
  ),
  fault(
    "address-cut",
    "Addresses are cut at 1,024 characters.",
    "addresses.kept",
    kept((text) => text.slice(0, 1024)),
  ),
  fault(
    "address-without-fragment",
    "Addresses lose their fragment.",
    "addresses.kept",
    kept((text) => text.replace(/#.*/, "")),
  ),
  fault(
    "address-null",
    "An address that was not given is null.",
    "addresses.left-out",
    data(verifyDisbursement, (record) => ({ ...record, webhookURL: record["webhookURL"] ?? null })),
  ),
  fault(
    "address-empty",
    "An address that was not given is an empty text.",
    "addresses.left-out",
    data(verifyDisbursement, (record) => ({ ...record, webhookURL: record["webhookURL"] ?? "" })),
  ),
];

const limits = [
  fault(
    "reference-empty",
    "An empty reference is accepted.",
    "limits.reference-length",
    accepts(
      createDisbursement,
      "reference",
      (value) => value === "",
      () => crypto.randomUUID(),
    ),
  ),
  fault(
    "reference-cut",
    "A long reference is cut.",
    "limits.reference-length",
    accepts(
      createDisbursement,
      "reference",
      (value) => length(value) > 64,
      (value) => [...String(value)].slice(1, 60).join("") + "c",
    ),
  ),
  fault(
    "reference-in-units",
    "A reference's length is counted in UTF-16 units.",
    "limits.reference-length",
    instead(
      createDisbursement,
      ({ reference }) => isText(reference) && reference.length > 64,
      () => refusal(422),
    ),
  ),
  fault(
    "reference-in-bytes",
    "A reference's length is counted in bytes.",
    "limits.reference-length",
    instead(
      createDisbursement,
      ({ reference }) => isText(reference) && Buffer.byteLength(reference) > 64,
      () => refusal(422),
    ),
  ),
  ...(["\0", "\n", "\t", "\u007f", "\u0085"] as const).map((character, index) =>
    fault(
      `reference-control-${index}`,
      `A reference with ${JSON.stringify(character)} in it is accepted.`,
      "limits.reference-characters",
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
    "References that differ by case are one.",
    "limits.reference-as-sent",
    alike((text) => text.toLowerCase()),
  ),
  fault(
    "reference-space-blind",
    "References that differ by a space at the end are one.",
    "limits.reference-as-sent",
    alike((text) => text.trimEnd()),
  ),
  fault(
    "reference-start-blind",
    "References that differ by a space at the start are one.",
    "limits.reference-as-sent",
    alike((text) => text.trimStart()),
  ),
  fault(
    "reference-form-blind",
    "References that differ in Unicode form are one.",
    "limits.reference-as-sent",
    alike((text) => text.normalize("NFC")),
  ),
  fault("body-any-size", "A body of any size is read.", "limits.body-size", {
    handle: (call, ask) =>
      ask(call.body.length > 16_384 && fieldsOf(call.body) ? withFields(call, fieldsOf(call.body)) : call),
  }),
  fault("body-too-soon", "A body of 16 KiB is refused.", "limits.body-size", {
    handle: async (call, ask) => (call.body.length === 16_384 ? refusal(413) : ask(call)),
  }),
  fault(
    "body-400",
    "A body that is too large is a 400.",
    "limits.body-size",
    responses(createDisbursement, (reply) => (reply.status === 413 ? withStatus(reply, 400) : reply)),
  ),
  fault(
    "amount-over",
    "An amount above the largest is rounded and paid.",
    "limits.amount-maximum",
    accepts(
      payments,
      "amount",
      (value) => Number(value) > Number.MAX_SAFE_INTEGER,
      () => 1,
    ),
  ),
  fault(
    "amount-over-400",
    "An amount above the largest is a 400.",
    "limits.amount-maximum",
    responses(payments, (reply, call) =>
      reply.status === 422 && Number(fieldsOf(call.body)?.["amount"]) > 2 ** 53 - 1 ? withStatus(reply, 400) : reply,
    ),
  ),
  fault(
    "amount-32-bits",
    "A checkout's amount has 32 bits.",
    "limits.amount-maximum-kept",
    data(createCheckout, (made) => ({ ...made, amount: Number(made["amount"]) | 0 })),
  ),
  fault(
    "amount-exponent",
    "A large amount is written as 9.007e15.",
    "limits.amount-maximum-kept",
    responses(createCheckout, (reply) => ({
      ...reply,
      text: reply.text.replace("9007199254740991", "9.007199254740991e15"),
    })),
  ),
];

export const limitFaults = [...addresses, ...limits];
