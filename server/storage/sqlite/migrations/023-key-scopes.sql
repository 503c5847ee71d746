-- What a key may do (D88), such as read,disburse. A key without scopes, such as every earlier key, may do everything.
ALTER TABLE api_keys ADD COLUMN scopes TEXT;
