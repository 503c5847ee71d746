-- Sign-in to the dashboard. Only the SHA-256 of a token is stored. merchant_id is empty for operators, who may see all
-- merchants. All times are real time.
CREATE TABLE dashboard_links (
  merchant_id TEXT NOT NULL,
  hash BLOB NOT NULL UNIQUE,
  name TEXT NOT NULL,
  expires_real INTEGER NOT NULL,
  PRIMARY KEY (merchant_id, hash)
) STRICT, WITHOUT ROWID;

CREATE TABLE dashboard_sessions (
  merchant_id TEXT NOT NULL,
  id TEXT NOT NULL,
  hash BLOB NOT NULL UNIQUE,
  name TEXT NOT NULL,
  created_real INTEGER NOT NULL,
  used_real INTEGER NOT NULL,
  expires_real INTEGER NOT NULL,
  PRIMARY KEY (merchant_id, id)
) STRICT, WITHOUT ROWID;
