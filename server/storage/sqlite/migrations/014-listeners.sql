-- The listener of each merchant (D69): a program that makes webhook attempts itself. url is where it sends them. poll counts
-- its searches for deliveries. Times are real time.
CREATE TABLE listeners (
  merchant_id TEXT PRIMARY KEY,
  session TEXT NOT NULL,
  name TEXT NOT NULL,
  url TEXT NOT NULL,
  poll INTEGER NOT NULL DEFAULT 0,
  seen_real INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The deliveries that a listener has claimed.
CREATE INDEX events_of_listener ON events (merchant_id) WHERE host = '#listener' AND claimed = 1;

-- The token of the claim under which the attempt was made. A repeated report has the same token.
ALTER TABLE attempts ADD COLUMN token INTEGER;
