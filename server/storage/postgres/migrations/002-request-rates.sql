-- The rate limit of a merchant: a bucket that holds one second's requests. It is full again at full_at (ms of real time);
-- each request in it takes interval_ms to come back. granted is how many requests the last statement took from it.
CREATE TABLE request_rates (
  merchant_id text COLLATE "C" PRIMARY KEY,
  full_at double precision NOT NULL,
  interval_ms double precision NOT NULL,
  granted bigint NOT NULL
);

-- request_counts is unused from this version on. It stays, because a process of the previous version may still be running.
