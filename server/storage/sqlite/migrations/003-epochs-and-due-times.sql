-- Columns named …_real, merchants.created_at and the times of api_keys are real time. All other times are the
-- merchant's sandbox time. A merchant's epoch counts its resets: rows of earlier epochs are invisible and are deleted
-- step by step.

CREATE TABLE clock (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  latest_real INTEGER NOT NULL
) STRICT;
INSERT INTO clock (id, latest_real) VALUES (1, 0);

CREATE TABLE discarded_epochs (
  merchant_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  PRIMARY KEY (merchant_id, epoch)
) STRICT, WITHOUT ROWID;

CREATE TABLE previous_webhook_secrets (
  merchant_id TEXT NOT NULL REFERENCES merchants (id),
  number INTEGER NOT NULL,
  secret TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (merchant_id, number)
) STRICT, WITHOUT ROWID;
INSERT INTO previous_webhook_secrets (merchant_id, number, secret, expires_at)
  SELECT id, 1, previous_webhook_secret, previous_webhook_secret_expires_at FROM merchants
  WHERE previous_webhook_secret IS NOT NULL;

ALTER TABLE merchants DROP COLUMN previous_webhook_secret;
ALTER TABLE merchants DROP COLUMN previous_webhook_secret_expires_at;
ALTER TABLE merchants ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE merchants ADD COLUMN moved_to INTEGER NOT NULL DEFAULT 0;
-- rebasing is 1 while the due_real of pending rows is being recomputed after the clock was moved.
ALTER TABLE merchants ADD COLUMN rebasing INTEGER NOT NULL DEFAULT 0;

ALTER TABLE customers RENAME TO customers_2;
CREATE TABLE customers (
  id TEXT NOT NULL,
  merchant_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  phone_number TEXT NOT NULL,
  PRIMARY KEY (merchant_id, epoch, phone_number)
) STRICT, WITHOUT ROWID;
INSERT INTO customers (id, merchant_id, epoch, phone_number) SELECT id, merchant_id, 0, phone_number FROM customers_2;
DROP TABLE customers_2;

ALTER TABLE disbursements RENAME TO disbursements_2;
DROP INDEX disbursements_due;
CREATE TABLE disbursements (
  id TEXT NOT NULL,
  merchant_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  reference TEXT NOT NULL UNIQUE,
  merchants_reference TEXT NOT NULL,
  customer_id TEXT NOT NULL,
  phone_number TEXT NOT NULL,
  amount INTEGER NOT NULL CHECK (amount >= 1),
  fee INTEGER NOT NULL CHECK (fee >= 0),
  country TEXT NOT NULL,
  currency TEXT NOT NULL,
  webhook_url TEXT,
  status TEXT NOT NULL CHECK (status IN ('pending', 'success', 'failed')),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  due_at INTEGER,
  due_real INTEGER,
  due_status TEXT,
  PRIMARY KEY (merchant_id, epoch, merchants_reference),
  CHECK (status = 'pending' OR due_at IS NULL),
  CHECK ((due_at IS NULL) = (due_real IS NULL))
) STRICT;
INSERT INTO disbursements (id, merchant_id, epoch, reference, merchants_reference, customer_id, phone_number, amount, fee,
    country, currency, webhook_url, status, created_at, updated_at, due_at, due_real, due_status)
  SELECT d.id, merchant_id, 0, reference, merchants_reference, customer_id, phone_number, amount, fee, country, currency,
    webhook_url, status, d.created_at, updated_at, due_at, due_at - m.clock_offset, due_status
  FROM disbursements_2 d JOIN merchants m ON m.id = d.merchant_id ORDER BY d.rowid;
DROP TABLE disbursements_2;
CREATE INDEX disbursements_due ON disbursements (due_real) WHERE due_real IS NOT NULL;
CREATE INDEX disbursements_due_of_merchant ON disbursements (merchant_id, epoch, due_at) WHERE due_at IS NOT NULL;

ALTER TABLE checkouts RENAME TO checkouts_2;
DROP INDEX checkouts_due;
CREATE TABLE checkouts (
  id TEXT NOT NULL,
  merchant_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  reference TEXT NOT NULL UNIQUE,
  merchants_reference TEXT NOT NULL,
  customer_id TEXT,
  phone_number TEXT,
  amount INTEGER NOT NULL CHECK (amount >= 1),
  fee INTEGER NOT NULL CHECK (fee >= 0),
  country TEXT NOT NULL,
  currency TEXT NOT NULL,
  locale TEXT NOT NULL,
  webhook_url TEXT,
  redirect_url TEXT,
  status TEXT NOT NULL CHECK (status IN ('pending', 'success', 'failed', 'cancelled')),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  due_at INTEGER,
  due_real INTEGER,
  due_status TEXT,
  PRIMARY KEY (merchant_id, epoch, merchants_reference),
  CHECK (status = 'pending' OR due_at IS NULL),
  CHECK ((due_at IS NULL) = (due_real IS NULL))
) STRICT;
INSERT INTO checkouts (id, merchant_id, epoch, reference, merchants_reference, customer_id, phone_number, amount, fee,
    country, currency, locale, webhook_url, redirect_url, status, created_at, updated_at, due_at, due_real, due_status)
  SELECT c.id, merchant_id, 0, reference, merchants_reference, customer_id, phone_number, amount, fee, country, currency,
    locale, webhook_url, redirect_url, status, c.created_at, updated_at, due_at, due_at - m.clock_offset, due_status
  FROM checkouts_2 c JOIN merchants m ON m.id = c.merchant_id ORDER BY c.rowid;
DROP TABLE checkouts_2;
CREATE INDEX checkouts_due ON checkouts (due_real) WHERE due_real IS NOT NULL;
CREATE INDEX checkouts_due_of_merchant ON checkouts (merchant_id, epoch, due_at) WHERE due_at IS NOT NULL;

ALTER TABLE refused_tries RENAME TO refusals_2;
CREATE TABLE refusals (
  merchant_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  merchants_reference TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (merchant_id, epoch, merchants_reference)
) STRICT, WITHOUT ROWID;
INSERT INTO refusals (merchant_id, epoch, merchants_reference, count)
  SELECT merchant_id, 0, merchants_reference, tries FROM refusals_2;
DROP TABLE refusals_2;

-- Each row is an event, and also its delivery and its queue entry (D30). Without an address, url and host are null.
-- A waiting delivery becomes ready at due_real. A ready delivery has no due_real. While it is claimed, claimed is 1 and
-- due_real is the end of the lease. claim_token counts the claims. The result of an attempt with an older token is only
-- logged.
CREATE TABLE events_3 (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  merchant_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  type TEXT NOT NULL,
  reference TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  body TEXT NOT NULL,
  url TEXT,
  host TEXT CHECK (host <> ''),
  status TEXT CHECK (status IN ('pending', 'delivered', 'ended', 'exhausted')),
  step INTEGER NOT NULL DEFAULT 0,
  next_attempt_at INTEGER,
  due_real INTEGER,
  ready INTEGER NOT NULL DEFAULT 0 CHECK (ready IN (0, 1)),
  claimed INTEGER NOT NULL DEFAULT 0 CHECK (claimed IN (0, 1)),
  claim_token INTEGER NOT NULL DEFAULT 0,
  CHECK ((url IS NULL) = (host IS NULL)),
  CHECK ((url IS NULL) = (status IS NULL)),
  CHECK (ready = 0 OR (due_real IS NULL AND claimed = 0 AND url IS NOT NULL)),
  CHECK (claimed = 0 OR due_real IS NOT NULL)
) STRICT;
INSERT INTO events_3 (seq, id, merchant_id, epoch, type, reference, created_at, body, url, host, status, step,
    next_attempt_at, due_real)
  SELECT seq, e.id, e.merchant_id, 0, type, e.reference, e.created_at,
    json_object('event', type, 'data', json_patch('{}', json_object(
      'id', r.id, 'userId', r.merchant_id, 'merchant', json_object('name', m.name), 'country', r.country,
      'currency', r.currency, 'amount', r.amount, 'fee', r.fee, 'webhookURL', r.webhook_url, 'reference', r.reference,
      'merchantsReference', r.merchants_reference,
      'createdAt', strftime('%Y-%m-%dT%H:%M:%fZ', r.created_at / 1000.0, 'unixepoch'),
      'updatedAt', strftime('%Y-%m-%dT%H:%M:%fZ', r.updated_at / 1000.0, 'unixepoch'),
      'customer', json(CASE WHEN r.customer_id IS NOT NULL THEN json_object('id', r.customer_id,
        'name', 'Customer ' || substr(r.phone_number, -4), 'phoneNumber', r.phone_number) END),
      'redirectURL', r.redirect_url, 'status', r.status))),
    url, CASE WHEN url IS NOT NULL THEN coalesce(nullif(host, ''), 'invalid') END, e.status, step, next_attempt_at,
    next_attempt_at - m.clock_offset
  FROM events e JOIN merchants m ON m.id = e.merchant_id JOIN (
    SELECT id, merchant_id, country, currency, amount, fee, webhook_url, reference, merchants_reference, created_at,
      updated_at, customer_id, phone_number, NULL AS redirect_url, status FROM disbursements
    UNION ALL SELECT id, merchant_id, country, currency, amount, fee, webhook_url, reference, merchants_reference,
      created_at, updated_at, customer_id, phone_number, redirect_url, status FROM checkouts
  ) r ON r.reference = e.reference
  ORDER BY seq;

CREATE TABLE attempts_3 (
  event_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  at INTEGER NOT NULL,
  sent_real INTEGER NOT NULL,
  latency_ms INTEGER NOT NULL,
  http_status INTEGER,
  response_body TEXT,
  error TEXT,
  PRIMARY KEY (event_id, number)
) STRICT, WITHOUT ROWID;
INSERT INTO attempts_3 (event_id, number, at, sent_real, latency_ms, http_status, response_body, error)
  SELECT event_id, number, at, sent_at, latency_ms, http_status, response_body, error FROM attempts;
DROP TABLE attempts;
DROP TABLE events;
ALTER TABLE events_3 RENAME TO events;
ALTER TABLE attempts_3 RENAME TO attempts;

CREATE INDEX events_due ON events (due_real) WHERE due_real IS NOT NULL;
CREATE INDEX events_due_of_merchant ON events (merchant_id, epoch, next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX events_ready ON events (merchant_id, host, next_attempt_at) WHERE ready = 1;
CREATE INDEX events_of_merchant ON events (merchant_id, epoch, seq);
CREATE INDEX events_of_record ON events (merchant_id, epoch, reference, seq);
CREATE INDEX deliveries_of_merchant ON events (merchant_id, epoch, seq) WHERE url IS NOT NULL;
CREATE INDEX deliveries_by_status ON events (merchant_id, epoch, status, seq) WHERE url IS NOT NULL;
