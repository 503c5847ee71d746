-- The audit trail (D41): who did what, and when. A reset of a merchant's sandbox keeps it. Details are JSON without
-- secrets.
CREATE TABLE audit (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at_real INTEGER NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  merchant_id TEXT NOT NULL,
  details TEXT NOT NULL
) STRICT;
CREATE INDEX audit_of_merchant ON audit (merchant_id, seq);

-- The merchant's default address for webhooks (D40).
ALTER TABLE merchants ADD COLUMN webhook_url TEXT;

-- Lists what an operator may want to replay: deliveries that the server has given up.
CREATE INDEX deliveries_failed ON events (merchant_id, epoch, seq) WHERE status IN ('ended', 'exhausted');
