-- The id of the API key of the request.
ALTER TABLE request_log ADD COLUMN key_id TEXT;
