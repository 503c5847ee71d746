-- When something is due (due_at, next_attempt_at), columns named …_real, merchants.created_at and the times of api_keys
-- are real time. All other times are the merchant's sandbox time. Times are milliseconds since 1970. Amounts are in the
-- lowest denomination of the currency.
--
-- Checks of more than two values use OR: for IN, SQLite would fill a temporary table each time that it checks a row.

CREATE TABLE merchants (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  clock_offset INTEGER NOT NULL DEFAULT 0,
  -- The current secret and those that it has replaced, as JSON, which may be encrypted (D12).
  webhook_secrets TEXT NOT NULL,
  -- 1 while a reset of the sandbox deletes the merchant's rows.
  resetting INTEGER NOT NULL DEFAULT 0 CHECK (resetting IN (0, 1)),
  -- The default address for webhooks (D40).
  webhook_url TEXT,
  -- What the chaos switch of the sandbox does, as JSON; NULL while it is off (D17).
  chaos TEXT,
  -- Whether the merchant is suspended or closed (D88). NULL: neither.
  merchant_state TEXT CHECK (merchant_state IN ('suspended', 'closed')),
  -- Limits of payouts (D92), as JSON; NULL: none.
  limits TEXT,
  -- The ids of customers are derived from their phone numbers with this secret.
  customer_secret TEXT NOT NULL,
  -- What an operator has agreed with the merchant, as JSON (D14); NULL: as the settings of the server say.
  terms TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX merchants_resetting ON merchants (id) WHERE resetting = 1;

CREATE TABLE api_keys (
  id TEXT PRIMARY KEY,
  merchant_id TEXT NOT NULL REFERENCES merchants (id),
  hash BLOB NOT NULL UNIQUE,
  hint TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  revoked_at INTEGER,
  -- NULL: created by a command without a name.
  name TEXT,
  -- The time of the last use, to about a minute.
  used_real INTEGER,
  -- What the key may do (D88), such as read,disburse. NULL: everything.
  scopes TEXT,
  -- Limits of payouts (D92), as JSON; NULL: none.
  limits TEXT,
  -- Who created the key: this person cannot approve payouts of the key.
  created_by TEXT
) STRICT, WITHOUT ROWID;
-- Lists and counts the keys of one merchant.
CREATE INDEX api_keys_active ON api_keys (merchant_id, created_at, id) WHERE revoked_at IS NULL;
CREATE INDEX api_keys_revoked ON api_keys (merchant_id, revoked_at, id) WHERE revoked_at IS NOT NULL;

CREATE TABLE disbursements (
  id TEXT NOT NULL,
  merchant_id TEXT NOT NULL,
  reference TEXT NOT NULL UNIQUE,
  merchants_reference TEXT NOT NULL,
  customer_id TEXT NOT NULL,
  phone_number TEXT NOT NULL,
  amount INTEGER NOT NULL CHECK (amount >= 1),
  fee INTEGER NOT NULL CHECK (fee >= 0),
  currency TEXT NOT NULL,
  -- What is only stored and shown, as JSON: the other fields of domain/records.ts.
  details TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status = 'pending' OR status = 'success' OR status = 'failed'),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  due_at INTEGER,
  due_status TEXT,
  -- Why the payment fails, as JSON (D75). It can be known before the record is final.
  failure TEXT,
  -- What a payout waits for that needs approval (D93), as JSON; NULL: no approval.
  approval TEXT,
  PRIMARY KEY (merchant_id, merchants_reference),
  CHECK (status = 'pending' OR due_at IS NULL)
) STRICT;
CREATE INDEX disbursements_due ON disbursements (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX disbursements_due_of_merchant ON disbursements (merchant_id, due_at) WHERE due_at IS NOT NULL;
-- Lists of records, newest first. A list of one status reads one range of the index; a list of all records merges one
-- range per status. The rowid, which ends every index, orders records that were created in the same millisecond.
CREATE INDEX disbursements_by_status ON disbursements (merchant_id, status, created_at);
CREATE INDEX disbursements_waiting ON disbursements (merchant_id, created_at)
  WHERE approval IS NOT NULL AND status = 'pending';

CREATE TABLE checkouts (
  id TEXT NOT NULL,
  merchant_id TEXT NOT NULL,
  reference TEXT NOT NULL UNIQUE,
  merchants_reference TEXT NOT NULL,
  customer_id TEXT,
  phone_number TEXT,
  amount INTEGER NOT NULL CHECK (amount >= 1),
  fee INTEGER NOT NULL CHECK (fee >= 0),
  currency TEXT NOT NULL,
  details TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status = 'pending' OR status = 'success' OR status = 'failed' OR status = 'cancelled'),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  due_at INTEGER,
  due_status TEXT,
  failure TEXT,
  PRIMARY KEY (merchant_id, merchants_reference),
  CHECK (status = 'pending' OR due_at IS NULL)
) STRICT;
CREATE INDEX checkouts_due ON checkouts (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX checkouts_due_of_merchant ON checkouts (merchant_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX checkouts_by_status ON checkouts (merchant_id, status, created_at);
-- The dashboard finds records by phone number. The day (UTC) is first, so that creates change only pages of their day.
CREATE INDEX disbursements_by_phone
  ON disbursements (created_at / 86400000, phone_number, merchant_id, created_at);
CREATE INDEX checkouts_by_phone ON checkouts (created_at / 86400000, phone_number, merchant_id, created_at)
  WHERE phone_number IS NOT NULL;

CREATE TABLE refusals (
  merchant_id TEXT NOT NULL,
  merchants_reference TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (merchant_id, merchants_reference)
) STRICT, WITHOUT ROWID;

-- Each row is an event, and also its delivery and its queue entry (D11). Without an address, url and host are null.
-- A waiting delivery becomes ready at next_attempt_at. While it is claimed, leased_until is the end of the lease, on the
-- counter of leases. claim_token counts the claims. The result of an attempt with an older token is only logged.
CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  merchant_id TEXT NOT NULL,
  type TEXT NOT NULL,
  reference TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  body TEXT NOT NULL,
  url TEXT,
  host TEXT CHECK (host <> ''),
  status TEXT CHECK (status = 'pending' OR status = 'delivered' OR status = 'ended' OR status = 'exhausted'),
  step INTEGER NOT NULL DEFAULT 0,
  next_attempt_at INTEGER,
  leased_until INTEGER,
  ready INTEGER NOT NULL DEFAULT 0 CHECK (ready IN (0, 1)),
  claim_token INTEGER NOT NULL DEFAULT 0,
  -- The last attempts, as JSON, and when the latest was sent, or a replay was asked for.
  attempts TEXT NOT NULL DEFAULT '[]',
  attempted_real INTEGER,
  CHECK ((url IS NULL) = (host IS NULL)),
  CHECK ((url IS NULL) = (status IS NULL)),
  CHECK (ready = 0 OR (leased_until IS NULL AND url IS NOT NULL))
) STRICT;
CREATE INDEX events_due ON events (next_attempt_at)
  WHERE next_attempt_at IS NOT NULL AND ready = 0 AND leased_until IS NULL;
CREATE INDEX events_leased ON events (leased_until) WHERE leased_until IS NOT NULL;
CREATE INDEX events_due_of_merchant ON events (merchant_id, next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX events_ready ON events (merchant_id, host, next_attempt_at) WHERE ready = 1;
CREATE INDEX events_of_merchant ON events (merchant_id, seq);
CREATE INDEX events_of_record ON events (merchant_id, reference, seq);
CREATE INDEX deliveries_by_status ON events (merchant_id, status, seq) WHERE url IS NOT NULL;
-- Lists what an operator may want to replay: deliveries that the server has given up.
CREATE INDEX deliveries_failed ON events (merchant_id, seq) WHERE status IN ('ended', 'exhausted');
-- The deliveries that wait for a retry, by receiver, and not those that wait for a replay.
CREATE INDEX deliveries_waiting ON events (merchant_id, host, next_attempt_at)
  WHERE next_attempt_at IS NOT NULL AND ready = 0 AND leased_until IS NULL AND step > 0;

CREATE TABLE server (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  -- Filled and emptied to find out whether a full disk has room again.
  room BLOB
) STRICT;
INSERT INTO server (id) VALUES (1);

-- The audit trail (D41): who did what, and when. A reset of a merchant's sandbox keeps it. Details are JSON without
-- secrets.
CREATE TABLE audit (
  merchant_id TEXT NOT NULL,
  at_real INTEGER NOT NULL,
  id TEXT NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  details TEXT NOT NULL,
  PRIMARY KEY (merchant_id, at_real, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_by_time ON audit (at_real, id);

-- Sign-in to the dashboard. Only the SHA-256 of a token is stored. merchant_id is empty for operators, who may see all
-- merchants. access_chain has the name of the person, then the name of who let this person in, and so on, between line
-- feeds. role is what the person may do. All times are real time.
CREATE TABLE dashboard_access (
  merchant_id TEXT NOT NULL,
  id TEXT NOT NULL,
  hash BLOB NOT NULL UNIQUE,
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  access_chain TEXT NOT NULL,
  created_real INTEGER NOT NULL,
  -- The time of the last use of a session, to about a minute. NULL: a link that nobody has used yet.
  used_real INTEGER,
  expires_real INTEGER NOT NULL,
  PRIMARY KEY (merchant_id, id)
) STRICT, WITHOUT ROWID;

-- The log of requests that a merchant sees (D72). It has no secret, and of phone numbers the last three digits. Only the
-- newest of each merchant are kept, for a day. Times are real time. number orders what a process has logged in the same
-- millisecond.
CREATE TABLE request_log (
  merchant_id TEXT NOT NULL,
  at_real INTEGER NOT NULL,
  number INTEGER NOT NULL,
  request_id TEXT NOT NULL,
  operation TEXT NOT NULL,
  status INTEGER,
  reference TEXT,
  merchants_reference TEXT,
  -- The whole request, as JSON.
  request TEXT NOT NULL,
  PRIMARY KEY (merchant_id, at_real, number, request_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX request_log_by_time ON request_log (at_real);

-- Whether the database belongs to a sandbox or to a live service, as the first server that opened it was told (D80).
CREATE TABLE mode (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  name TEXT NOT NULL CHECK (name IN ('sandbox', 'live'))
) STRICT;

-- The way of each payment of a live service over its rail (D73), also its queue entry, like a row of events. id is the
-- service's reference of the payment. next_attempt_at, ready, leased_until and claim_token mean what they mean in events.
-- asked_leased is the doubt: until when, on the counter of leases, the rail may have been asked to pay without a known
-- result. It changes when a result is recorded, and when a claim ends without one. attention_real is since when the payment
-- needs a person, or will if nothing more becomes known. exchanges are the last requests to the rail and their responses,
-- the latest at exchanged_real. conflict, proposal and exchanges are JSON.
CREATE TABLE handovers (
  merchant_id TEXT NOT NULL,
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('disbursement', 'checkout')),
  rail TEXT NOT NULL CHECK (rail <> ''),
  state TEXT NOT NULL CHECK (state = 'waiting' OR state = 'accepted' OR state = 'closed'),
  created_real INTEGER NOT NULL,
  step INTEGER NOT NULL DEFAULT 0,
  next_attempt_at INTEGER,
  leased_until INTEGER,
  ready INTEGER NOT NULL DEFAULT 0 CHECK (ready IN (0, 1)),
  claim_token INTEGER NOT NULL DEFAULT 0,
  asked_leased INTEGER,
  attention_real INTEGER,
  rail_reference TEXT,
  rail_fee INTEGER,
  url TEXT,
  conflict TEXT,
  proposal TEXT,
  exchanges TEXT NOT NULL DEFAULT '[]',
  exchanged_real INTEGER,
  PRIMARY KEY (merchant_id, id),
  CHECK (ready = 0 OR leased_until IS NULL)
) STRICT;
CREATE INDEX handovers_ready ON handovers (merchant_id, rail, next_attempt_at, id) WHERE ready = 1;
CREATE INDEX handovers_due ON handovers (next_attempt_at)
  WHERE next_attempt_at IS NOT NULL AND ready = 0 AND leased_until IS NULL;
CREATE INDEX handovers_leased ON handovers (leased_until) WHERE leased_until IS NOT NULL;
CREATE INDEX handovers_attention ON handovers (attention_real, id) WHERE attention_real IS NOT NULL;
CREATE INDEX handovers_attention_of_merchant ON handovers (merchant_id, attention_real, id)
  WHERE attention_real IS NOT NULL;
CREATE INDEX handovers_open ON handovers (rail, state) WHERE state <> 'closed';
CREATE INDEX handovers_of_rail ON handovers (rail, created_real, id);

CREATE TABLE rail_pauses (
  rail TEXT PRIMARY KEY,
  at_real INTEGER NOT NULL,
  paused_by TEXT NOT NULL,
  reason TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The books (D87). A merchant has four accounts in each currency: what is available, what pending payouts reserve, the
-- fees, and what has left the service or come into it. An entry changes them by amounts whose sum is zero. reference is
-- the service's reference of the payment, and at is in sandbox time. Each account numbers its entries, and an entry keeps
-- the balance after it. Times of an account's entries never decrease, so that a statement which was read does not change.
CREATE TABLE entries (
  merchant_id TEXT NOT NULL,
  reference TEXT NOT NULL,
  kind TEXT NOT NULL,
  currency TEXT NOT NULL,
  at INTEGER NOT NULL,
  available INTEGER NOT NULL,
  reserved INTEGER NOT NULL,
  fees INTEGER NOT NULL,
  outside INTEGER NOT NULL,
  number INTEGER NOT NULL DEFAULT 0,
  balance TEXT NOT NULL DEFAULT '0',
  PRIMARY KEY (merchant_id, reference, kind),
  CHECK (available + reserved + fees + outside = 0)
) STRICT, WITHOUT ROWID;
CREATE INDEX entries_of_statement ON entries (merchant_id, at, currency, number);

-- The sums of the entries, as text because they can exceed an integer.
CREATE TABLE accounts (
  merchant_id TEXT NOT NULL,
  currency TEXT NOT NULL,
  available TEXT NOT NULL,
  reserved TEXT NOT NULL,
  entries INTEGER NOT NULL DEFAULT 0,
  at INTEGER NOT NULL DEFAULT 0,
  -- Whether the balance must cover payouts although the server only tracks balances (D87).
  enforced INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (merchant_id, currency)
) STRICT, WITHOUT ROWID;

-- What has been paid out on a day (UTC, real time) with a key that has a daily limit or, with an empty key_id, by a
-- merchant that has one.
CREATE TABLE daily_sums (
  merchant_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  day TEXT NOT NULL,
  currency TEXT NOT NULL,
  amount INTEGER NOT NULL,
  PRIMARY KEY (merchant_id, key_id, day, currency)
) STRICT, WITHOUT ROWID;

-- Where the erasure of phone numbers has come to, among a merchant's records in the order of their creation (D102).
CREATE TABLE erasures (
  merchant_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('disbursements', 'checkouts')),
  next_created_at INTEGER NOT NULL,
  PRIMARY KEY (merchant_id, kind)
) STRICT, WITHOUT ROWID;
-- Records before that place whose phone number is still needed, because they became final too recently, or are not final.
CREATE TABLE erasures_waiting (
  merchant_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('disbursements', 'checkouts')),
  merchants_reference TEXT NOT NULL,
  PRIMARY KEY (merchant_id, kind, merchants_reference)
) STRICT, WITHOUT ROWID;

-- Changes of balances that a second person must approve (D93).
CREATE TABLE adjustments (
  merchant_id TEXT NOT NULL,
  id TEXT NOT NULL,
  currency TEXT NOT NULL,
  amount INTEGER NOT NULL,
  reason TEXT NOT NULL,
  proposed_by TEXT NOT NULL,
  proposed_real INTEGER NOT NULL,
  PRIMARY KEY (merchant_id, id)
) STRICT, WITHOUT ROWID;
