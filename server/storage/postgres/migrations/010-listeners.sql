-- The listener of each merchant (D69): a program that makes webhook attempts itself. url is where it sends them. poll counts
-- its searches for deliveries. Times are real time.
CREATE TABLE listeners (
  merchant_id text COLLATE "C" PRIMARY KEY,
  session text NOT NULL,
  name text NOT NULL,
  url text NOT NULL,
  poll bigint NOT NULL DEFAULT 0,
  seen_real bigint NOT NULL
);

-- The deliveries that a listener has claimed.
CREATE INDEX CONCURRENTLY events_of_listener ON events (merchant_id, id) WHERE host = '#listener' AND claimed;

-- The token of the claim under which the attempt was made. A repeated report has the same token.
ALTER TABLE attempts ADD COLUMN token bigint;
