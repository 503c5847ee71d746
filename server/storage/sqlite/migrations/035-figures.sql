-- What became of payments, by the day (UTC, sandbox time, days since 1970) on which they were created. A worker counts
-- each final payment once. merchant_id is empty in the sums of all merchants. took is the time until the payment was final,
-- in milliseconds, rounded up to one of a few steps; -1: longer than the last. The amounts are split, because a sum could
-- exceed 64 bits: amount = 100,000,000 * amount_high + amount_low.
CREATE TABLE daily_figures (
  merchant_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  day INTEGER NOT NULL,
  kind TEXT NOT NULL,
  status TEXT NOT NULL,
  currency TEXT NOT NULL,
  rail TEXT NOT NULL,
  took INTEGER NOT NULL,
  payments INTEGER NOT NULL,
  amount_high INTEGER NOT NULL,
  amount_low INTEGER NOT NULL,
  PRIMARY KEY (merchant_id, epoch, day, kind, status, currency, rail, took)
) STRICT, WITHOUT ROWID;

-- Up to which event (seq) each merchant's payments are counted.
CREATE TABLE figures_progress (
  merchant_id TEXT NOT NULL PRIMARY KEY,
  epoch INTEGER NOT NULL,
  seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The replay that made a delivery ready last, to show what became of a replay's webhooks.
ALTER TABLE events ADD COLUMN replay TEXT;
CREATE INDEX deliveries_of_replay ON events (merchant_id, replay, status) WHERE replay IS NOT NULL;
