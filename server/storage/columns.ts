/** The columns of a table, with their types in PostgreSQL. */
export type Columns = Readonly<Record<string, string>>;

export const MERCHANT_COLUMNS = {
  id: "text",
  name: "text",
  created_at: "bigint",
  webhook_secret: "text",
  webhook_url: "text",
  chaos: "text",
  clock_offset: "bigint",
  moved_to: "bigint",
  epoch: "bigint",
  merchant_state: "text",
  limits: "text",
  terms: "text",
  customer_secret: "text",
} as const;

export const KEY_COLUMNS = {
  merchant_id: "text",
  id: "text",
  hash: "bytea",
  hint: "text",
  name: "text",
  scopes: "text",
  limits: "text",
  created_by: "text",
  created_at: "bigint",
  used_real: "bigint",
  revoked_at: "bigint",
} as const;

export const PREVIOUS_SECRET_COLUMNS = {
  merchant_id: "text",
  number: "bigint",
  secret: "text",
  expires_at: "bigint",
} as const;

const PAYMENT_COLUMNS = {
  merchant_id: "text",
  epoch: "bigint",
  merchants_reference: "text",
  reference: "text",
  id: "uuid",
  customer_id: "text",
  phone_number: "text",
  amount: "bigint",
  fee: "bigint",
  country: "text",
  currency: "text",
  webhook_url: "text",
  status: "text",
  created_at: "bigint",
  updated_at: "bigint",
  due_at: "bigint",
  due_real: "bigint",
  due_status: "text",
  failure: "text",
  traceparent: "text",
} as const;
export const DISBURSEMENT_COLUMNS = { ...PAYMENT_COLUMNS, approval: "text" } as const;
export const CHECKOUT_COLUMNS = { ...PAYMENT_COLUMNS, locale: "text", redirect_url: "text" } as const;

export const ERASURE_COLUMNS = {
  merchant_id: "text",
  epoch: "bigint",
  kind: "text",
  next_created_at: "bigint",
} as const;
export const ERASURE_WAITING_COLUMNS = {
  merchant_id: "text",
  epoch: "bigint",
  kind: "text",
  merchants_reference: "text",
} as const;

export const REFUSAL_COLUMNS = {
  merchant_id: "text",
  epoch: "bigint",
  merchants_reference: "text",
  count: "bigint",
} as const;

/** The sums of amounts may exceed 64 bits: PostgreSQL uses `numeric`, and SQLite several entries. */
export const NEW_ENTRY_COLUMNS = {
  merchant_id: "text",
  epoch: "bigint",
  reference: "text",
  kind: "text",
  currency: "text",
  at: "bigint",
  available: "numeric",
  reserved: "numeric",
  fees: "numeric",
  outside: "numeric",
} as const;
export const ENTRY_COLUMNS = { ...NEW_ENTRY_COLUMNS, number: "bigint", balance: "numeric" } as const;
export const ACCOUNT_COLUMNS = {
  merchant_id: "text",
  epoch: "bigint",
  currency: "text",
  available: "numeric",
  reserved: "numeric",
  entries: "bigint",
  at: "bigint",
  enforced: "boolean",
} as const;

export const ADJUSTMENT_COLUMNS = {
  merchant_id: "text",
  id: "text",
  currency: "text",
  amount: "bigint",
  reason: "text",
  proposed_by: "text",
  proposed_real: "bigint",
} as const;

/** The payouts of a day of a key; if key_id is empty, of a merchant. */
export const DAILY_SUM_COLUMNS = {
  merchant_id: "text",
  epoch: "bigint",
  key_id: "text",
  day: "text",
  currency: "text",
  amount: "bigint",
} as const;

/** The columns of a hand-over to a rail that has just been written. */
export const NEW_HANDOVER_COLUMNS = {
  merchant_id: "text",
  epoch: "bigint",
  id: "text",
  kind: "text",
  rail: "text",
  state: "text",
  created_real: "bigint",
  next_attempt_at: "bigint",
  ready: "boolean",
} as const;
export const HANDOVER_COLUMNS = {
  ...NEW_HANDOVER_COLUMNS,
  step: "bigint",
  due_real: "bigint",
  claimed: "boolean",
  claim_token: "bigint",
  asked_leased: "bigint",
  attention_real: "bigint",
  rail_reference: "text",
  rail_fee: "bigint",
  url: "text",
  conflict: "text",
  proposal: "text",
} as const;

export const EXCHANGE_COLUMNS = {
  merchant_id: "text",
  handover_id: "text",
  number: "bigint",
  at_real: "bigint",
  latency_ms: "bigint",
  action: "text",
  result: "text",
  detail: "text",
} as const;

/** The columns of an event that has just been written. SQLite assigns the numbers of events. */
export const NEW_EVENT_COLUMNS = {
  merchant_id: "text",
  id: "text",
  epoch: "bigint",
  type: "text",
  reference: "text",
  created_at: "bigint",
  body: "text",
  url: "text",
  host: "text",
  status: "text",
  step: "bigint",
  next_attempt_at: "bigint",
  ready: "boolean",
  traceparent: "text",
} as const;
export const EVENT_COLUMNS = {
  ...NEW_EVENT_COLUMNS,
  seq: "bigint",
  due_real: "bigint",
  claimed: "boolean",
  claim_token: "bigint",
  replay: "text",
} as const;

/** In PostgreSQL, an attempt also has its merchant. */
export const ATTEMPT_COLUMNS = {
  event_id: "text",
  number: "bigint",
  at: "bigint",
  sent_real: "bigint",
  latency_ms: "bigint",
  http_status: "bigint",
  response_body: "text",
  error: "text",
  token: "bigint",
} as const;

export const REPLAY_COLUMNS = {
  merchant_id: "text",
  id: "text",
  filter: "text",
  pace: "bigint",
  expected: "bigint",
  started_real: "bigint",
  started_by: "text",
  seq: "bigint",
  last_seq: "bigint",
  replayed: "bigint",
  skipped: "bigint",
  state: "text",
  due_real: "bigint",
  ended_real: "bigint",
  stopped_by: "text",
} as const;

/** In addition, each database has a column of its own that orders the entries. */
export const AUDIT_COLUMNS = {
  merchant_id: "text",
  at_real: "bigint",
  actor: "text",
  action: "text",
  details: "text",
} as const;

export const REQUEST_COLUMNS = {
  merchant_id: "text",
  at_real: "bigint",
  number: "bigint",
  request_id: "text",
  operation: "text",
  method: "text",
  path: "text",
  status: "bigint",
  code: "text",
  duration_ms: "double precision",
  reference: "text",
  merchants_reference: "text",
  sent: "text",
  returned: "text",
  left_out: "bigint",
  program: "text",
  key_id: "text",
} as const;
