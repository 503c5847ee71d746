-- Sign-in to the dashboard. Only the SHA-256 of a token is stored. merchant_id is empty for operators, who may see all
-- merchants. All times are real time.
CREATE TABLE dashboard_links (
  merchant_id text COLLATE "C" NOT NULL,
  hash bytea NOT NULL,
  name text NOT NULL,
  expires_real bigint NOT NULL,
  PRIMARY KEY (merchant_id, hash)
);
-- A request has a token before its merchant is known.
CREATE INDEX dashboard_links_by_hash ON dashboard_links (hash);

CREATE TABLE dashboard_sessions (
  merchant_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  hash bytea NOT NULL,
  name text NOT NULL,
  created_real bigint NOT NULL,
  used_real bigint NOT NULL,
  expires_real bigint NOT NULL,
  PRIMARY KEY (merchant_id, id)
);
CREATE INDEX dashboard_sessions_by_hash ON dashboard_sessions (hash);
