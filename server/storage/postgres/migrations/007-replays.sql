-- Replays of all deliveries that a filter finds (D64). seq is the position up to which events have been looked at, and
-- last_seq that of the last one to look at. Times are real time. The filter is JSON.
CREATE TABLE replays (
  merchant_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  filter text NOT NULL,
  pace bigint NOT NULL,
  expected bigint,
  started_real bigint NOT NULL,
  started_by text NOT NULL,
  seq bigint NOT NULL,
  last_seq bigint NOT NULL,
  replayed bigint NOT NULL DEFAULT 0,
  skipped bigint NOT NULL DEFAULT 0,
  state text NOT NULL CHECK (state IN ('running', 'done', 'stopped')),
  -- When the next step is due.
  due_real bigint NOT NULL,
  ended_real bigint,
  stopped_by text,
  PRIMARY KEY (merchant_id, id),
  CHECK ((state = 'running') = (ended_real IS NULL))
);
CREATE UNIQUE INDEX replays_running ON replays (merchant_id) WHERE state = 'running';
CREATE INDEX replays_due ON replays (due_real) WHERE state = 'running';

-- Finds the deliveries to one receiver that were given up in an outage.
CREATE INDEX CONCURRENTLY deliveries_failed_by_host ON events (merchant_id, epoch, host, seq) WHERE status IN ('ended', 'exhausted');
