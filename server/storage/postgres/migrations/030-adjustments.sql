-- Changes of balances that a second person must approve (D104).
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
