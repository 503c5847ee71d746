-- Replays of all deliveries that a filter finds (D64). seq is the position up to which events have been looked at, and
-- last_seq that of the last one to look at. Times are real time. The filter is JSON.
CREATE TABLE replays (
  merchant_id TEXT NOT NULL,
  id TEXT NOT NULL,
  filter TEXT NOT NULL,
  pace INTEGER NOT NULL,
  expected INTEGER,
  started_real INTEGER NOT NULL,
  started_by TEXT NOT NULL,
  seq INTEGER NOT NULL,
  last_seq INTEGER NOT NULL,
  replayed INTEGER NOT NULL DEFAULT 0,
  skipped INTEGER NOT NULL DEFAULT 0,
  state TEXT NOT NULL CHECK (state IN ('running', 'done', 'stopped')),
  -- When the next step is due.
  due_real INTEGER NOT NULL,
  ended_real INTEGER,
  stopped_by TEXT,
  PRIMARY KEY (merchant_id, id),
  CHECK ((state = 'running') = (ended_real IS NULL))
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX replays_running ON replays (merchant_id) WHERE state = 'running';
CREATE INDEX replays_due ON replays (due_real) WHERE state = 'running';

-- Finds the deliveries to one receiver that were given up in an outage.
CREATE INDEX deliveries_failed_by_host ON events (merchant_id, epoch, host, seq) WHERE status IN ('ended', 'exhausted');
