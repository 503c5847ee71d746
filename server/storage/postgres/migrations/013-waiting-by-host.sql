-- The deliveries that wait for a retry, by receiver: all of a receiver that works again are made due earlier.
CREATE INDEX deliveries_waiting ON events (merchant_id, host, next_attempt_at) WHERE due_real IS NOT NULL AND NOT claimed;
