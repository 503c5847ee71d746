-- The worker searches for due deliveries by merchant, and for each merchant by host.
DROP INDEX events_due;
CREATE INDEX events_due_of_host ON events (merchant_id, host, next_attempt_at) WHERE next_attempt_at IS NOT NULL;
