-- The way of each payment of a live service over its rail (D73), also its queue entry, like a row of events. id is the
-- service's reference of the payment. ready, claimed, due_real and claim_token mean what they mean in events. asked_real is
-- when the rail was last asked to pay without a known result, and asked_before_real the same before the claim in progress.
-- attention_real is since when the payment needs a person, or will if nothing more becomes known. conflict, proposal are
-- JSON. All times but next_attempt_at are real time.
CREATE TABLE handovers (
  merchant_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('disbursement', 'checkout')),
  rail TEXT NOT NULL CHECK (rail <> ''),
  state TEXT NOT NULL CHECK (state IN ('waiting', 'accepted', 'closed')),
  created_real INTEGER NOT NULL,
  step INTEGER NOT NULL DEFAULT 0,
  next_attempt_at INTEGER,
  due_real INTEGER,
  ready INTEGER NOT NULL DEFAULT 0 CHECK (ready IN (0, 1)),
  claimed INTEGER NOT NULL DEFAULT 0 CHECK (claimed IN (0, 1)),
  claim_token INTEGER NOT NULL DEFAULT 0,
  asked_real INTEGER,
  asked_before_real INTEGER,
  attention_real INTEGER,
  rail_reference TEXT,
  rail_fee INTEGER,
  url TEXT,
  conflict TEXT,
  proposal TEXT,
  PRIMARY KEY (merchant_id, id),
  CHECK (ready = 0 OR (due_real IS NULL AND claimed = 0))
) STRICT;
CREATE INDEX handovers_ready ON handovers (merchant_id, rail, next_attempt_at, id) WHERE ready = 1;
CREATE INDEX handovers_due ON handovers (due_real) WHERE due_real IS NOT NULL;
CREATE INDEX handovers_attention ON handovers (attention_real, id) WHERE attention_real IS NOT NULL;
CREATE INDEX handovers_attention_of_merchant ON handovers (merchant_id, attention_real, id)
  WHERE attention_real IS NOT NULL;
CREATE INDEX handovers_open ON handovers (rail, state) WHERE state <> 'closed';
CREATE INDEX handovers_of_rail ON handovers (rail, created_real, id);

-- The requests to rails and their responses, by payment.
CREATE TABLE exchanges (
  merchant_id TEXT NOT NULL,
  handover_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  at_real INTEGER NOT NULL,
  latency_ms INTEGER NOT NULL,
  action TEXT NOT NULL,
  result TEXT NOT NULL,
  detail TEXT,
  PRIMARY KEY (merchant_id, handover_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE rail_pauses (
  rail TEXT PRIMARY KEY,
  at_real INTEGER NOT NULL,
  paused_by TEXT NOT NULL,
  reason TEXT NOT NULL
) STRICT, WITHOUT ROWID;
