import { DatabaseSync } from "node:sqlite";
import { eventOf } from "../../domain/events.ts";
import type { ApiKey } from "../../domain/keys.ts";
import type { Attempt, Delivery } from "../../domain/deliveries.ts";
import type { Checkout } from "../../domain/checkouts.ts";
import type { Disbursement } from "../../domain/disbursements.ts";
import { readMigrations } from "../../storage/migrations.ts";
import { DAY, HOUR, MINUTE, SECOND, START } from "./fixtures.ts";

/** The contents of a database of schema version 2, in every state, with and without each optional field. */

export const ADA = "merchant-ada";
const KOFI = "merchant-kofi";
/** How far Kofi's clock was moved. */
const OFFSET = 3 * DAY + 123;

export const MERCHANTS = [
  {
    id: ADA,
    name: 'Été "№1" \\ 🧵 </script>\u2028\u007f\t',
    createdAt: START - DAY,
    clockOffset: 0,
    secrets: { current: "whsec_ada", previous: [] },
  },
  {
    id: KOFI,
    name: "Kofi & Söhne's",
    createdAt: START - HOUR,
    clockOffset: OFFSET,
    secrets: { current: "whsec_kofi", previous: [{ secret: "whsec_before", expiresAt: START + OFFSET + HOUR }] },
  },
];

export const KEYS: ApiKey[] = [
  { id: "key-1", merchantId: ADA, hash: "01".repeat(32), hint: "abcd", createdAt: START - HOUR },
  {
    id: "key-2",
    merchantId: KOFI,
    hash: "02".repeat(32),
    hint: "wxyz",
    createdAt: START,
    revokedAt: START + 1,
  },
];

interface Progress extends Pick<Delivery, "status" | "step" | "nextAttemptAt"> {
  host: string;
  /** The end of the lease in real time. Set if a process died during an attempt. */
  claimedUntil?: number;
}

interface Stored {
  record: Disbursement | Checkout;
  /** Set for final records with an address. */
  delivery?: Progress;
}

const offsetOf = (merchantId: string) => MERCHANTS.find(({ id }) => id === merchantId)!.clockOffset;
const customer = { id: "customer-1", phoneNumber: "2257038102473" };
const webhookURL = "https://merchant.example:8443/hook?a=%20b&c='é'";
const pendingFor = (ms: number, merchantId: string, host = "merchant.example:8443"): Progress => ({
  status: "pending",
  step: 1,
  nextAttemptAt: START + offsetOf(merchantId) + ms,
  host,
});
const ended = (status: Delivery["status"], step: number): Progress => ({ status, step, host: "merchant.example:8443" });

let made = 0;
function shared(merchantId: string, prefix: string) {
  made += 1;
  // Every millisecond must survive the conversion to text.
  const createdAt = START + offsetOf(merchantId) - 10_000 + made * 37;
  return {
    id: `019aa0c5-0000-7000-8000-${String(made).padStart(12, "0")}`,
    merchantId,
    reference: `${prefix}${made}`,
    merchantsReference: `"Été" ${made} 👩‍👩‍👧\\ pe\u0301age`,
    amount: made % 2 === 0 ? Number.MAX_SAFE_INTEGER : 10_000,
    fee: made % 3,
    country: "CI",
    currency: "XOF",
    createdAt,
    updatedAt: createdAt,
  };
}
const disbursement = (merchantId: string, changes: Partial<Disbursement>): Disbursement => ({
  ...shared(merchantId, "DSB"),
  status: "pending",
  customer,
  ...changes,
});
const checkout = (merchantId: string, changes: Partial<Checkout>): Checkout => ({
  ...shared(merchantId, "CHK"),
  status: "pending",
  locale: "en",
  ...changes,
});
const later = (merchantId: string, ms: number) => START + offsetOf(merchantId) + ms;

function recordsOf(merchant: string): Stored[] {
  const updatedAt = later(merchant, -1);
  const redirectURL = "https://merchant.example/done?step=1";
  return [
    { record: disbursement(merchant, { due: { at: later(merchant, 2 * SECOND), status: "success" } }) },
    { record: disbursement(merchant, { webhookURL, due: { at: later(merchant, MINUTE), status: "failed" } }) },
    { record: disbursement(merchant, {}) },
    { record: disbursement(merchant, { status: "success" }) },
    { record: disbursement(merchant, { status: "failed", webhookURL, updatedAt }), delivery: ended("delivered", 1) },
    { record: disbursement(merchant, { status: "success", webhookURL }), delivery: pendingFor(0, merchant) },
    {
      record: disbursement(merchant, { status: "success", webhookURL: "mailto:ada@merchant.example" }),
      delivery: pendingFor(5 * SECOND, merchant, ""),
    },
    {
      record: disbursement(merchant, { status: "success", webhookURL }),
      delivery: { ...pendingFor(5 * SECOND, merchant), claimedUntil: START + DAY },
    },
    { record: checkout(merchant, { due: { at: later(merchant, HOUR), status: "cancelled" } }) },
    { record: checkout(merchant, { customer, due: { at: later(merchant, 2 * SECOND), status: "success" } }) },
    { record: checkout(merchant, { customer, locale: "fr" }) },
    {
      record: checkout(merchant, { status: "success", customer, redirectURL, webhookURL, updatedAt }),
      delivery: pendingFor(HOUR, merchant),
    },
    { record: checkout(merchant, { status: "failed", customer, webhookURL }), delivery: ended("exhausted", 10) },
    { record: checkout(merchant, { status: "cancelled", redirectURL, webhookURL }), delivery: ended("ended", 2) },
    { record: checkout(merchant, { status: "cancelled" }) },
  ];
}

export const RECORDS: Stored[] = [...recordsOf(ADA), ...recordsOf(KOFI)];

const eventOfStored = ({ record }: Stored) => eventOf(record, "");

/** Two attempts of each delivery: one attempt with every optional field, one attempt without optional fields. */
export const ATTEMPTS: (Attempt & { eventId: string })[] = RECORDS.filter(({ delivery }) => delivery).flatMap(
  (each) => {
    const base = { eventId: eventOfStored(each).id, at: each.record.updatedAt, sentAt: START, latencyMs: 12 };
    return [
      { ...base, number: 1, httpStatus: 500, responseBody: "Döner 🥙", error: "The receiver responded with 500." },
      { ...base, number: 2 },
    ];
  },
);

type Values = Record<string, string | number | Uint8Array | null | undefined>;

/** Writes the database as a server with schema version 2 left it. */
export function writeVersion2(path: string): void {
  const db = new DatabaseSync(path);
  db.exec("PRAGMA journal_mode = WAL");
  const migrations = readMigrations(new URL("../../storage/sqlite/migrations/", import.meta.url));
  for (const { sql } of migrations.slice(0, 2)) db.exec(sql);
  db.exec("PRAGMA user_version = 2");
  const insert = (table: string, values: Values) => {
    const columns = Object.keys(values);
    const places = columns.map(() => "?").join(", ");
    const row = columns.map((column) => values[column] ?? null);
    db.prepare(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${places})`).run(...row);
  };
  writeMerchants(insert);
  for (const stored of RECORDS) writeRecord(insert, stored);
  for (const { eventId, number, at, sentAt, latencyMs, httpStatus, responseBody, error } of ATTEMPTS) {
    const result = { http_status: httpStatus, response_body: responseBody, error };
    insert("attempts", { event_id: eventId, number, at, sent_at: sentAt, latency_ms: latencyMs, ...result });
  }
  db.close();
}

type Insert = (table: string, values: Values) => void;

function writeMerchants(insert: Insert): void {
  for (const { id, name, createdAt, clockOffset, secrets } of MERCHANTS) {
    const [before] = secrets.previous;
    insert("merchants", {
      id,
      name,
      created_at: createdAt,
      clock_offset: clockOffset,
      webhook_secret: secrets.current,
      previous_webhook_secret: before?.secret,
      previous_webhook_secret_expires_at: before?.expiresAt,
    });
    insert("customers", { id: customer.id, merchant_id: id, phone_number: customer.phoneNumber });
    insert("refused_tries", { merchant_id: id, merchants_reference: "Pâques 🐣", tries: 2 });
  }
  for (const { id, merchantId, hash, hint, createdAt, revokedAt } of KEYS) {
    const bytes = Buffer.from(hash, "hex");
    insert("api_keys", {
      id,
      merchant_id: merchantId,
      hash: bytes,
      hint,
      created_at: createdAt,
      revoked_at: revokedAt,
    });
  }
}

function writeRecord(insert: Insert, stored: Stored): void {
  const { record, delivery } = stored;
  const { id, merchantId, reference, merchantsReference, amount, fee, country, currency, status } = record;
  insert("locale" in record ? "checkouts" : "disbursements", {
    id,
    merchant_id: merchantId,
    reference,
    merchants_reference: merchantsReference,
    customer_id: record.customer?.id,
    phone_number: record.customer?.phoneNumber,
    amount,
    fee,
    country,
    currency,
    webhook_url: record.webhookURL,
    status,
    created_at: record.createdAt,
    updated_at: record.updatedAt,
    due_at: record.due?.at,
    due_status: record.due?.status,
    ...("locale" in record ? { locale: record.locale, redirect_url: record.redirectURL } : {}),
  });
  if (status === "pending") return;
  const event = eventOfStored(stored);
  insert("events", {
    id: event.id,
    merchant_id: merchantId,
    type: event.type,
    reference,
    created_at: event.createdAt,
    url: record.webhookURL,
    host: delivery?.host,
    status: delivery?.status,
    step: delivery?.step ?? 0,
    next_attempt_at: delivery?.nextAttemptAt,
    claimed_until: delivery?.claimedUntil,
  });
}
