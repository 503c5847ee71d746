-- The log of requests that a merchant sees (D66). It has no secret, and of phone numbers the last three digits. Only the
-- newest of each merchant are kept, for a day. Times are real time. number orders what a process has logged in the same
-- millisecond.
CREATE TABLE request_log (
  merchant_id TEXT NOT NULL,
  at_real INTEGER NOT NULL,
  number INTEGER NOT NULL,
  request_id TEXT NOT NULL,
  operation TEXT NOT NULL,
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  status INTEGER,
  code TEXT,
  duration_ms REAL NOT NULL,
  reference TEXT,
  merchants_reference TEXT,
  sent TEXT,
  returned TEXT,
  PRIMARY KEY (merchant_id, at_real, number, request_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX request_log_by_time ON request_log (at_real);
