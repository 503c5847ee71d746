-- The key with which a listener searched last, or connected. Its revocation ends the listener.
ALTER TABLE listeners ADD COLUMN key_id text;
