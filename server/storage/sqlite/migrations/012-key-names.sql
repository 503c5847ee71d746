-- Keys have names and the real time of their last use, to about a minute. An unnamed key is from before, or from a command
-- without a name.
ALTER TABLE api_keys ADD COLUMN name TEXT;
ALTER TABLE api_keys ADD COLUMN used_real INTEGER;

-- Lists and counts the keys of one merchant.
CREATE INDEX api_keys_active ON api_keys (merchant_id, created_at, id) WHERE revoked_at IS NULL;
CREATE INDEX api_keys_revoked ON api_keys (merchant_id, revoked_at, id) WHERE revoked_at IS NOT NULL;
