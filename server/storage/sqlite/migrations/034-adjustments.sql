-- Changes of balances that a second person must approve (D104).
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
