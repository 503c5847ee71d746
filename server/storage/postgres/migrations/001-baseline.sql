-- When something is due (due_at, next_attempt_at), columns named …_real, merchants.created_at and the times of api_keys
-- are real time. All other times are the merchant's sandbox time. Times are milliseconds since 1970. Amounts are in the
-- lowest denomination of the currency.
--
-- Every key starts with the merchant, so that a distributed database can keep the rows of a merchant together. There
-- are no sequences, triggers, extensions or foreign keys, because several distributed databases lack them. Text that is
-- compared or sorted has the collation "C", which compares bytes: other collations may treat different references as
-- equal, and differ between operating systems.
--
-- A payout and its event change soon after they were written. If a page has room for the new version of a row, PostgreSQL
-- logs only what is different: fillfactor keeps this room.

CREATE TABLE merchants (
  id text COLLATE "C" PRIMARY KEY,
  name text NOT NULL,
  created_at bigint NOT NULL,
  -- The current secret and those that it has replaced, as JSON, which may be encrypted (D12).
  webhook_secrets text NOT NULL,
  -- The default address for webhooks (D40).
  webhook_url text,
  clock_offset bigint NOT NULL DEFAULT 0,
  -- The number of events written, which is the position of the last one. A reset does not change it.
  last_event bigint NOT NULL DEFAULT 0,
  -- Whether a reset of the sandbox is deleting the merchant's rows.
  resetting boolean NOT NULL DEFAULT false,
  -- What the chaos switch of the sandbox does, as JSON; NULL while it is off (D17).
  chaos text,
  -- Whether the merchant is suspended or closed (D88). NULL: neither.
  merchant_state text CHECK (merchant_state IN ('suspended', 'closed')),
  -- Limits of payouts (D92), as JSON; NULL: none.
  limits text,
  -- The ids of customers are derived from their phone numbers with this secret.
  customer_secret text NOT NULL,
  -- What an operator has agreed with the merchant, as JSON (D14); NULL: as the settings of the server say.
  terms text
);
CREATE INDEX merchants_resetting ON merchants (id) WHERE resetting;

CREATE TABLE api_keys (
  merchant_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  hash bytea NOT NULL,
  hint text NOT NULL,
  created_at bigint NOT NULL,
  revoked_at bigint,
  -- NULL: created by a command without a name.
  name text,
  -- The time of the last use, to about a minute.
  used_real bigint,
  -- What the key may do (D88), such as read,disburse. NULL: everything.
  scopes text,
  -- Limits of payouts (D92), as JSON; NULL: none.
  limits text,
  -- Who created the key: this person cannot approve payouts of the key.
  created_by text,
  PRIMARY KEY (merchant_id, id)
);
CREATE UNIQUE INDEX api_keys_by_hash ON api_keys (hash);
CREATE UNIQUE INDEX api_keys_by_id ON api_keys (id);
-- Lists and counts the keys of one merchant.
CREATE INDEX api_keys_active ON api_keys (merchant_id, created_at, id) WHERE revoked_at IS NULL;
CREATE INDEX api_keys_revoked ON api_keys (merchant_id, revoked_at, id) WHERE revoked_at IS NOT NULL;

CREATE TABLE disbursements (
  merchant_id text COLLATE "C" NOT NULL,
  merchants_reference text COLLATE "C" NOT NULL,
  reference text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  customer_id text NOT NULL,
  phone_number text NOT NULL,
  amount bigint NOT NULL CHECK (amount >= 1),
  fee bigint NOT NULL CHECK (fee >= 0),
  currency text NOT NULL,
  -- What is only stored and shown, as JSON: the other fields of domain/records.ts.
  details text NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'success', 'failed')),
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  due_at bigint,
  due_status text,
  -- Why the payment fails, as JSON (D75). It can be known before the record is final.
  failure text,
  -- What a payout waits for that needs approval (D93), as JSON; NULL: no approval.
  approval text,
  PRIMARY KEY (merchant_id, merchants_reference),
  CHECK (status = 'pending' OR due_at IS NULL)
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX disbursements_by_reference ON disbursements (merchant_id, reference);
CREATE INDEX disbursements_due ON disbursements (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX disbursements_due_of_merchant ON disbursements (merchant_id, due_at, reference)
  WHERE due_at IS NOT NULL;
CREATE INDEX disbursements_by_status ON disbursements (merchant_id, status, created_at, id);
-- The dashboard finds records by phone number.
CREATE INDEX disbursements_by_phone ON disbursements (merchant_id, phone_number, created_at, id);
CREATE INDEX disbursements_waiting ON disbursements (merchant_id, created_at)
  WHERE approval IS NOT NULL AND status = 'pending';

CREATE TABLE checkouts (
  merchant_id text COLLATE "C" NOT NULL,
  merchants_reference text COLLATE "C" NOT NULL,
  reference text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  customer_id text,
  phone_number text,
  amount bigint NOT NULL CHECK (amount >= 1),
  fee bigint NOT NULL CHECK (fee >= 0),
  currency text NOT NULL,
  details text NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'success', 'failed', 'cancelled')),
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  due_at bigint,
  due_status text,
  failure text,
  PRIMARY KEY (merchant_id, merchants_reference),
  CHECK (status = 'pending' OR due_at IS NULL)
);
CREATE UNIQUE INDEX checkouts_by_reference ON checkouts (merchant_id, reference);
-- The public page of a checkout is found by the reference alone (D19).
CREATE INDEX checkouts_public ON checkouts (reference);
CREATE INDEX checkouts_due ON checkouts (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX checkouts_due_of_merchant ON checkouts (merchant_id, due_at, reference) WHERE due_at IS NOT NULL;
CREATE INDEX checkouts_by_status ON checkouts (merchant_id, status, created_at, id);
CREATE INDEX checkouts_by_phone ON checkouts (merchant_id, phone_number, created_at, id)
  WHERE phone_number IS NOT NULL;

CREATE TABLE refusals (
  merchant_id text COLLATE "C" NOT NULL,
  merchants_reference text COLLATE "C" NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (merchant_id, merchants_reference)
);

-- Each row is an event, and also its delivery and its queue entry (D11). Without an address, url and host are null. A
-- waiting delivery becomes ready at next_attempt_at. While it is claimed, leased_until is the end of the lease, on the
-- counter of leases. claim_token counts the claims. The result of an attempt with an older token is only logged. seq is
-- the position of the event among those of the merchant, in the order of commits.
CREATE TABLE events (
  merchant_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  type text NOT NULL,
  reference text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  body text NOT NULL,
  url text,
  host text COLLATE "C" CHECK (host <> ''),
  status text COLLATE "C" CHECK (status IN ('pending', 'delivered', 'ended', 'exhausted')),
  step bigint NOT NULL DEFAULT 0,
  next_attempt_at bigint,
  leased_until bigint,
  ready boolean NOT NULL DEFAULT false,
  claim_token bigint NOT NULL DEFAULT 0,
  -- The last attempts, as JSON, and when the latest was sent, or a replay was asked for.
  attempts text NOT NULL DEFAULT '[]',
  attempted_real bigint,
  PRIMARY KEY (merchant_id, id),
  CHECK ((url IS NULL) = (host IS NULL)),
  CHECK ((url IS NULL) = (status IS NULL)),
  CHECK (NOT ready OR (leased_until IS NULL AND url IS NOT NULL))
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX events_of_merchant ON events (merchant_id, seq);
CREATE INDEX events_of_record ON events (merchant_id, reference, seq);
CREATE INDEX events_due ON events (next_attempt_at)
  WHERE next_attempt_at IS NOT NULL AND NOT ready AND leased_until IS NULL;
CREATE INDEX events_leased ON events (leased_until) WHERE leased_until IS NOT NULL;
CREATE INDEX events_due_of_merchant ON events (merchant_id, next_attempt_at, id)
  WHERE next_attempt_at IS NOT NULL;
CREATE INDEX events_ready ON events (merchant_id, host, next_attempt_at, seq) WHERE ready;
CREATE INDEX deliveries_by_status ON events (merchant_id, status, seq) WHERE url IS NOT NULL;
-- Lists what an operator may want to replay: deliveries that the server has given up.
CREATE INDEX deliveries_failed ON events (merchant_id, seq) WHERE status IN ('ended', 'exhausted');
-- The deliveries that wait for a retry, by receiver, and not those that wait for a replay.
CREATE INDEX deliveries_waiting ON events (merchant_id, host, next_attempt_at)
  WHERE next_attempt_at IS NOT NULL AND NOT ready AND leased_until IS NULL AND step > 0;

-- The audit trail (D41): who did what, and when. A reset of a merchant's sandbox keeps it. Details are JSON without
-- secrets.
CREATE TABLE audit (
  merchant_id text COLLATE "C" NOT NULL,
  at_real bigint NOT NULL,
  id uuid NOT NULL,
  actor text NOT NULL,
  action text NOT NULL,
  details text NOT NULL,
  PRIMARY KEY (merchant_id, at_real, id)
);
CREATE INDEX audit_by_time ON audit (at_real, id);

-- One row about the service as a whole. Leases of claims are measured with leased, a counter of milliseconds that the
-- processes move on by their monotonic clocks. No wall clock affects it (D47). It begins with the current time,
-- so that the leases of a copied database have ended.
CREATE TABLE service (
  id bigint PRIMARY KEY CHECK (id = 1),
  leased bigint NOT NULL DEFAULT floor(extract(epoch FROM clock_timestamp()) * 1000)
);
INSERT INTO service (id) VALUES (1);

-- The rate limit of a merchant: a bucket that holds one second's requests. It is full again at full_at (ms of real time);
-- each request in it takes interval_ms to come back. granted is how many requests the last statement took from it.
CREATE TABLE request_rates (
  merchant_id text COLLATE "C" PRIMARY KEY,
  full_at double precision NOT NULL,
  interval_ms double precision NOT NULL,
  granted bigint NOT NULL
);

-- Sign-in to the dashboard. Only the SHA-256 of a token is stored. merchant_id is empty for operators, who may see all
-- merchants. access_chain has the name of the person, then the name of who let this person in, and so on, between line
-- feeds. role is what the person may do. All times are real time.
CREATE TABLE dashboard_access (
  merchant_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  hash bytea NOT NULL,
  name text NOT NULL,
  role text NOT NULL,
  access_chain text NOT NULL,
  created_real bigint NOT NULL,
  -- The time of the last use of a session, to about a minute. NULL: a link that nobody has used yet.
  used_real bigint,
  expires_real bigint NOT NULL,
  PRIMARY KEY (merchant_id, id)
);
-- A request has a token before its merchant is known.
CREATE INDEX dashboard_access_by_hash ON dashboard_access (hash);

-- The log of requests that a merchant sees (D72). It has no secret, and of phone numbers the last three digits. Only the
-- newest of each merchant are kept, for a day. Times are real time. number orders what a process has logged in the same
-- millisecond.
CREATE TABLE request_log (
  merchant_id text COLLATE "C" NOT NULL,
  at_real bigint NOT NULL,
  number bigint NOT NULL,
  request_id text COLLATE "C" NOT NULL,
  operation text NOT NULL,
  status bigint,
  reference text COLLATE "C",
  merchants_reference text COLLATE "C",
  -- The whole request, as JSON.
  request text NOT NULL,
  PRIMARY KEY (merchant_id, at_real, number, request_id)
);
CREATE INDEX request_log_by_time ON request_log (at_real);

-- Whether the database belongs to a sandbox or to a live service, as the first server that opened it was told (D80).
CREATE TABLE mode (
  id bigint PRIMARY KEY CHECK (id = 1),
  name text COLLATE "C" NOT NULL CHECK (name IN ('sandbox', 'live'))
);

-- The way of each payment of a live service over its rail (D73), also its queue entry, like a row of events. id is the
-- service's reference of the payment. next_attempt_at, ready, leased_until and claim_token mean what they mean in events.
-- asked_leased is the doubt: until when, on the counter of leases, the rail may have been asked to pay without a known
-- result. It changes when a result is recorded, and when a claim ends without one. attention_real is since when the payment
-- needs a person, or will if nothing more becomes known. exchanges are the last requests to the rail and their responses,
-- the latest at exchanged_real. conflict, proposal and exchanges are JSON.
CREATE TABLE handovers (
  merchant_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  kind text NOT NULL CHECK (kind IN ('disbursement', 'checkout')),
  rail text COLLATE "C" NOT NULL CHECK (rail <> ''),
  state text COLLATE "C" NOT NULL CHECK (state IN ('waiting', 'accepted', 'closed')),
  created_real bigint NOT NULL,
  step bigint NOT NULL DEFAULT 0,
  next_attempt_at bigint,
  leased_until bigint,
  ready boolean NOT NULL DEFAULT false,
  claim_token bigint NOT NULL DEFAULT 0,
  asked_leased bigint,
  attention_real bigint,
  rail_reference text,
  rail_fee bigint,
  url text,
  conflict text,
  proposal text,
  exchanges text NOT NULL DEFAULT '[]',
  exchanged_real bigint,
  PRIMARY KEY (merchant_id, id),
  CHECK (NOT ready OR leased_until IS NULL)
);
CREATE UNIQUE INDEX handovers_by_id ON handovers (id);
CREATE INDEX handovers_ready ON handovers (merchant_id, rail, next_attempt_at, id) WHERE ready;
CREATE INDEX handovers_due ON handovers (next_attempt_at)
  WHERE next_attempt_at IS NOT NULL AND NOT ready AND leased_until IS NULL;
CREATE INDEX handovers_leased ON handovers (leased_until) WHERE leased_until IS NOT NULL;
CREATE INDEX handovers_attention ON handovers (attention_real, id) WHERE attention_real IS NOT NULL;
CREATE INDEX handovers_attention_of_merchant ON handovers (merchant_id, attention_real, id)
  WHERE attention_real IS NOT NULL;
CREATE INDEX handovers_open ON handovers (rail, state) WHERE state <> 'closed';
CREATE INDEX handovers_of_rail ON handovers (rail, created_real, id);

CREATE TABLE rail_pauses (
  rail text COLLATE "C" PRIMARY KEY,
  at_real bigint NOT NULL,
  paused_by text NOT NULL,
  reason text NOT NULL
);

-- The books (D87). A merchant has four accounts in each currency: what is available, what pending payouts reserve, the
-- fees, and what has left the service or come into it. An entry changes them by amounts whose sum is zero. reference is
-- the service's reference of the payment, and at is in sandbox time. Each account numbers its entries, and an entry keeps
-- the balance after it. Times of an account's entries never decrease, so that a statement which was read does not change.
CREATE TABLE entries (
  merchant_id text COLLATE "C" NOT NULL,
  reference text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  available numeric NOT NULL,
  reserved numeric NOT NULL,
  fees numeric NOT NULL,
  outside numeric NOT NULL,
  number bigint NOT NULL DEFAULT 0,
  balance numeric NOT NULL DEFAULT 0,
  PRIMARY KEY (merchant_id, reference, kind),
  CHECK (available + reserved + fees + outside = 0)
);
CREATE INDEX entries_of_statement ON entries (merchant_id, at, currency, number);

-- The sums of the entries.
CREATE TABLE accounts (
  merchant_id text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  available numeric NOT NULL,
  reserved numeric NOT NULL,
  entries bigint NOT NULL DEFAULT 0,
  at bigint NOT NULL DEFAULT 0,
  -- Whether the balance must cover payouts although the server only tracks balances (D87).
  enforced boolean NOT NULL DEFAULT false,
  PRIMARY KEY (merchant_id, currency)
);

-- What has been paid out on a day (UTC, real time) with a key that has a daily limit or, with an empty key_id, by a
-- merchant that has one.
CREATE TABLE daily_sums (
  merchant_id text COLLATE "C" NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  day text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  amount bigint NOT NULL,
  PRIMARY KEY (merchant_id, key_id, day, currency)
);

-- Where the erasure of phone numbers has come to, among a merchant's records in the order of their creation (D102).
CREATE TABLE erasures (
  merchant_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('disbursements', 'checkouts')),
  next_created_at bigint NOT NULL,
  PRIMARY KEY (merchant_id, kind)
);
-- Records before that place whose phone number is still needed, because they became final too recently, or are not final.
CREATE TABLE erasures_waiting (
  merchant_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('disbursements', 'checkouts')),
  merchants_reference text COLLATE "C" NOT NULL,
  PRIMARY KEY (merchant_id, kind, merchants_reference)
);

-- Changes of balances that a second person must approve (D93).
CREATE TABLE adjustments (
  merchant_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  currency text NOT NULL,
  amount bigint NOT NULL,
  reason text NOT NULL,
  proposed_by text NOT NULL,
  proposed_real bigint NOT NULL,
  PRIMARY KEY (merchant_id, id)
);
