-- Times are milliseconds since 1970. due_at, created_at, updated_at and next_attempt_at are in the merchant's
-- sandbox time; sent_at and claimed_until are in real time. Amounts are in the lowest denomination of the currency.

CREATE TABLE merchants (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  clock_offset INTEGER NOT NULL DEFAULT 0,
  webhook_secret TEXT NOT NULL,
  previous_webhook_secret TEXT,
  previous_webhook_secret_expires_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE api_keys (
  id TEXT PRIMARY KEY,
  merchant_id TEXT NOT NULL REFERENCES merchants (id),
  hash BLOB NOT NULL UNIQUE,
  hint TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE customers (
  id TEXT NOT NULL,
  merchant_id TEXT NOT NULL REFERENCES merchants (id),
  phone_number TEXT NOT NULL,
  PRIMARY KEY (merchant_id, phone_number)
) STRICT, WITHOUT ROWID;

CREATE TABLE disbursements (
  id TEXT NOT NULL,
  merchant_id TEXT NOT NULL REFERENCES merchants (id),
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
  due_status TEXT,
  PRIMARY KEY (merchant_id, merchants_reference),
  CHECK (status = 'pending' OR due_at IS NULL)
) STRICT;

CREATE INDEX disbursements_due ON disbursements (merchant_id, due_at) WHERE due_at IS NOT NULL;

CREATE TABLE checkouts (
  id TEXT NOT NULL,
  merchant_id TEXT NOT NULL REFERENCES merchants (id),
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
  due_status TEXT,
  PRIMARY KEY (merchant_id, merchants_reference),
  CHECK (status = 'pending' OR due_at IS NULL)
) STRICT;

CREATE INDEX checkouts_due ON checkouts (merchant_id, due_at) WHERE due_at IS NOT NULL;

-- Each row is an event, and also its delivery and its queue entry (D30). If no address was given, url is null.
CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  merchant_id TEXT NOT NULL REFERENCES merchants (id),
  type TEXT NOT NULL,
  reference TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  url TEXT,
  host TEXT,
  status TEXT CHECK (status IN ('pending', 'delivered', 'ended', 'exhausted')),
  step INTEGER NOT NULL DEFAULT 0,
  next_attempt_at INTEGER,
  claimed_until INTEGER
) STRICT;

CREATE INDEX events_due ON events (host, next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX events_due_of_merchant ON events (merchant_id, next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX events_of_merchant ON events (merchant_id, seq);
CREATE INDEX events_of_record ON events (reference);

CREATE TABLE attempts (
  event_id TEXT NOT NULL REFERENCES events (id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  at INTEGER NOT NULL,
  sent_at INTEGER NOT NULL,
  latency_ms INTEGER NOT NULL,
  http_status INTEGER,
  response_body TEXT,
  error TEXT,
  PRIMARY KEY (event_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE refused_tries (
  merchant_id TEXT NOT NULL REFERENCES merchants (id),
  merchants_reference TEXT NOT NULL,
  tries INTEGER NOT NULL,
  PRIMARY KEY (merchant_id, merchants_reference)
) STRICT, WITHOUT ROWID;
