-- Columns named …_real, merchants.created_at and the times of api_keys are real time. All other times are the
-- merchant's sandbox time. Times are milliseconds since 1970. Amounts are in the lowest denomination of the currency.
--
-- Every key starts with the merchant, so that a distributed database can keep the rows of a merchant together. There
-- are no sequences, triggers, extensions or foreign keys, because several distributed databases lack them. Text that is
-- compared or sorted has the collation "C", which compares bytes: other collations may treat different references as
-- equal, and differ between operating systems.

CREATE TABLE merchants (
  id text COLLATE "C" PRIMARY KEY,
  name text NOT NULL,
  created_at bigint NOT NULL,
  webhook_secret text NOT NULL,
  -- The default address for webhooks (D40).
  webhook_url text,
  clock_offset bigint NOT NULL DEFAULT 0,
  moved_to bigint NOT NULL DEFAULT 0,
  -- The number of resets. Rows of earlier epochs are invisible and are deleted step by step.
  epoch bigint NOT NULL DEFAULT 0,
  -- The number of events written, which is the position of the last one. A reset does not change it.
  last_event bigint NOT NULL DEFAULT 0,
  -- Set while the due_real of pending rows is being recomputed after the clock was moved. After this time another
  -- process finishes the work.
  rebasing_until_real bigint
);

CREATE TABLE api_keys (
  merchant_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  hash bytea NOT NULL,
  hint text NOT NULL,
  created_at bigint NOT NULL,
  revoked_at bigint,
  PRIMARY KEY (merchant_id, id)
);
CREATE UNIQUE INDEX api_keys_by_hash ON api_keys (hash);
CREATE UNIQUE INDEX api_keys_by_id ON api_keys (id);

CREATE TABLE previous_webhook_secrets (
  merchant_id text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  secret text NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (merchant_id, number)
);

CREATE TABLE customers (
  merchant_id text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
  phone_number text COLLATE "C" NOT NULL,
  id text NOT NULL,
  PRIMARY KEY (merchant_id, epoch, phone_number)
);

CREATE TABLE disbursements (
  merchant_id text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
  merchants_reference text COLLATE "C" NOT NULL,
  reference text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  customer_id text NOT NULL,
  phone_number text NOT NULL,
  amount bigint NOT NULL CHECK (amount >= 1),
  fee bigint NOT NULL CHECK (fee >= 0),
  country text NOT NULL,
  currency text NOT NULL,
  webhook_url text,
  status text NOT NULL CHECK (status IN ('pending', 'success', 'failed')),
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  due_at bigint,
  due_real bigint,
  due_status text,
  PRIMARY KEY (merchant_id, epoch, merchants_reference),
  CHECK (status = 'pending' OR due_at IS NULL),
  CHECK ((due_at IS NULL) = (due_real IS NULL))
);
CREATE UNIQUE INDEX disbursements_by_reference ON disbursements (merchant_id, reference);
CREATE INDEX disbursements_due ON disbursements (due_real) WHERE due_real IS NOT NULL;
CREATE INDEX disbursements_due_of_merchant ON disbursements (merchant_id, epoch, due_at, reference)
  WHERE due_at IS NOT NULL;
CREATE INDEX disbursements_by_status ON disbursements (merchant_id, epoch, status, created_at, id);

CREATE TABLE checkouts (
  merchant_id text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
  merchants_reference text COLLATE "C" NOT NULL,
  reference text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  customer_id text,
  phone_number text,
  amount bigint NOT NULL CHECK (amount >= 1),
  fee bigint NOT NULL CHECK (fee >= 0),
  country text NOT NULL,
  currency text NOT NULL,
  locale text NOT NULL,
  webhook_url text,
  redirect_url text,
  status text NOT NULL CHECK (status IN ('pending', 'success', 'failed', 'cancelled')),
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  due_at bigint,
  due_real bigint,
  due_status text,
  PRIMARY KEY (merchant_id, epoch, merchants_reference),
  CHECK (status = 'pending' OR due_at IS NULL),
  CHECK ((due_at IS NULL) = (due_real IS NULL))
);
CREATE UNIQUE INDEX checkouts_by_reference ON checkouts (merchant_id, reference);
-- The public page of a checkout is found by the reference alone (D19).
CREATE INDEX checkouts_public ON checkouts (reference);
CREATE INDEX checkouts_due ON checkouts (due_real) WHERE due_real IS NOT NULL;
CREATE INDEX checkouts_due_of_merchant ON checkouts (merchant_id, epoch, due_at, reference) WHERE due_at IS NOT NULL;
CREATE INDEX checkouts_by_status ON checkouts (merchant_id, epoch, status, created_at, id);

CREATE TABLE refusals (
  merchant_id text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
  merchants_reference text COLLATE "C" NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (merchant_id, epoch, merchants_reference)
);

-- Each row is an event, and also its delivery and its queue entry (D30). Without an address, url and host are null. A
-- waiting delivery becomes ready at due_real. A ready delivery has no due_real. While it is claimed, claimed is true and
-- due_real is the end of the lease. claim_token counts the claims. The result of an attempt with an older token is only
-- logged. seq is the position of the event among those of the merchant, in the order of commits.
CREATE TABLE events (
  merchant_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
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
  due_real bigint,
  ready boolean NOT NULL DEFAULT false,
  claimed boolean NOT NULL DEFAULT false,
  claim_token bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (merchant_id, id),
  CHECK ((url IS NULL) = (host IS NULL)),
  CHECK ((url IS NULL) = (status IS NULL)),
  CHECK (NOT ready OR (due_real IS NULL AND NOT claimed AND url IS NOT NULL)),
  CHECK (NOT claimed OR due_real IS NOT NULL)
);
CREATE UNIQUE INDEX events_of_merchant ON events (merchant_id, epoch, seq);
CREATE INDEX events_of_record ON events (merchant_id, epoch, reference, seq);
CREATE INDEX events_due ON events (due_real) WHERE due_real IS NOT NULL;
CREATE INDEX events_due_of_merchant ON events (merchant_id, epoch, next_attempt_at, id)
  WHERE next_attempt_at IS NOT NULL;
CREATE INDEX events_ready ON events (merchant_id, host, next_attempt_at, seq) WHERE ready;
CREATE INDEX deliveries_of_merchant ON events (merchant_id, epoch, seq) WHERE url IS NOT NULL;
CREATE INDEX deliveries_by_status ON events (merchant_id, epoch, status, seq) WHERE url IS NOT NULL;
CREATE INDEX deliveries_failed ON events (merchant_id, epoch, seq) WHERE status IN ('ended', 'exhausted');

CREATE TABLE attempts (
  merchant_id text COLLATE "C" NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  at bigint NOT NULL,
  sent_real bigint NOT NULL,
  latency_ms bigint NOT NULL,
  http_status bigint,
  response_body text,
  error text,
  PRIMARY KEY (merchant_id, event_id, number)
);

-- The requests of a merchant in the current window, for rate limits. time_window is its number since 1970.
CREATE TABLE request_counts (
  merchant_id text COLLATE "C" PRIMARY KEY,
  time_window bigint NOT NULL,
  count bigint NOT NULL
);

CREATE TABLE discarded_epochs (
  merchant_id text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
  PRIMARY KEY (merchant_id, epoch)
);

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

-- One row about the service as a whole. latest_real is the latest time that a process has recorded.
CREATE TABLE service (
  id bigint PRIMARY KEY CHECK (id = 1),
  latest_real bigint NOT NULL
);
INSERT INTO service (id, latest_real) VALUES (1, 0);
