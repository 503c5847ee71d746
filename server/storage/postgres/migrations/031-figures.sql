-- What became of payments, by the day (UTC, sandbox time, days since 1970) on which they were created. A worker counts
-- each final payment once. merchant_id is empty in the sums of all merchants. took is the time until the payment was final,
-- in milliseconds, rounded up to one of a few steps; -1: longer than the last. The amounts are split, because a sum could
-- exceed 64 bits: amount = 100,000,000 * amount_high + amount_low.
CREATE TABLE daily_figures (
  merchant_id text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
  day bigint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  rail text COLLATE "C" NOT NULL,
  took bigint NOT NULL,
  payments bigint NOT NULL,
  amount_high bigint NOT NULL,
  amount_low bigint NOT NULL,
  PRIMARY KEY (merchant_id, epoch, day, kind, status, currency, rail, took)
);

-- Up to which event (seq) each merchant's payments are counted.
CREATE TABLE figures_progress (
  merchant_id text COLLATE "C" NOT NULL PRIMARY KEY,
  epoch bigint NOT NULL,
  seq bigint NOT NULL
);

-- The replay that made a delivery ready last, to show what became of a replay's webhooks.
ALTER TABLE events ADD COLUMN replay text COLLATE "C";
CREATE INDEX CONCURRENTLY deliveries_of_replay ON events (merchant_id, replay, status) WHERE replay IS NOT NULL;
