-- Limits of payouts (D92), as JSON, of a merchant and of a key; NULL: none.
ALTER TABLE merchants ADD COLUMN limits text;
ALTER TABLE api_keys ADD COLUMN limits text;
-- What has been paid out on a day (UTC, real time) with a key that has a daily limit or, with an empty key_id, by a
-- merchant that has one.
CREATE TABLE daily_sums (
  merchant_id text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  day text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  amount bigint NOT NULL,
  PRIMARY KEY (merchant_id, epoch, key_id, day, currency)
);
