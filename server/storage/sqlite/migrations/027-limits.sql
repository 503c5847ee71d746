-- Limits of payouts (D92), as JSON, of a merchant and of a key; NULL: none.
ALTER TABLE merchants ADD COLUMN limits TEXT;
ALTER TABLE api_keys ADD COLUMN limits TEXT;
-- What has been paid out on a day (UTC, real time) with a key that has a daily limit or, with an empty key_id, by a
-- merchant that has one.
CREATE TABLE daily_sums (
  merchant_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  key_id TEXT NOT NULL,
  day TEXT NOT NULL,
  currency TEXT NOT NULL,
  amount INTEGER NOT NULL,
  PRIMARY KEY (merchant_id, epoch, key_id, day, currency)
) STRICT, WITHOUT ROWID;
