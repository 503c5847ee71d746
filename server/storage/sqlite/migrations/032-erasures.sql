-- Where the erasure of phone numbers has come to, among a merchant's records in the order of their creation (D102).
CREATE TABLE erasures (
  merchant_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('disbursements', 'checkouts')),
  next_created_at INTEGER NOT NULL,
  PRIMARY KEY (merchant_id, epoch, kind)
) STRICT, WITHOUT ROWID;
-- Records before that place whose phone number is still needed, because they became final too recently, or are not final.
CREATE TABLE erasures_waiting (
  merchant_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('disbursements', 'checkouts')),
  merchants_reference TEXT NOT NULL,
  PRIMARY KEY (merchant_id, epoch, kind, merchants_reference)
) STRICT, WITHOUT ROWID;
