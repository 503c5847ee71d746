-- The log of requests that a merchant sees (D66). It has no secret, and of phone numbers the last three digits. Only the
-- newest of each merchant are kept, for a day. Times are real time. number orders what a process has logged in the same
-- millisecond.
CREATE TABLE request_log (
  merchant_id text COLLATE "C" NOT NULL,
  at_real bigint NOT NULL,
  number bigint NOT NULL,
  request_id text COLLATE "C" NOT NULL,
  operation text NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  status bigint,
  code text,
  duration_ms double precision NOT NULL,
  reference text COLLATE "C",
  merchants_reference text COLLATE "C",
  sent text,
  returned text,
  PRIMARY KEY (merchant_id, at_real, number, request_id)
);
CREATE INDEX request_log_by_time ON request_log (at_real);
