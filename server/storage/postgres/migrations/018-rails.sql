-- The way of each payment of a live service over its rail (D73), also its queue entry, like a row of events. id is the
-- service's reference of the payment. ready, claimed, due_real and claim_token mean what they mean in events. asked_real is
-- when the rail was last asked to pay without a known result, and asked_before_real the same before the claim in progress.
-- attention_real is since when the payment needs a person, or will if nothing more becomes known. conflict, proposal are
-- JSON. All times but next_attempt_at are real time.
CREATE TABLE handovers (
  merchant_id text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  kind text NOT NULL CHECK (kind IN ('disbursement', 'checkout')),
  rail text COLLATE "C" NOT NULL CHECK (rail <> ''),
  state text COLLATE "C" NOT NULL CHECK (state IN ('waiting', 'accepted', 'closed')),
  created_real bigint NOT NULL,
  step bigint NOT NULL DEFAULT 0,
  next_attempt_at bigint,
  due_real bigint,
  ready boolean NOT NULL DEFAULT false,
  claimed boolean NOT NULL DEFAULT false,
  claim_token bigint NOT NULL DEFAULT 0,
  asked_real bigint,
  asked_before_real bigint,
  attention_real bigint,
  rail_reference text,
  rail_fee bigint,
  url text,
  conflict text,
  proposal text,
  PRIMARY KEY (merchant_id, id),
  CHECK (NOT ready OR (due_real IS NULL AND NOT claimed))
);
CREATE UNIQUE INDEX handovers_by_id ON handovers (id);
CREATE INDEX handovers_ready ON handovers (merchant_id, rail, next_attempt_at, id) WHERE ready;
CREATE INDEX handovers_due ON handovers (due_real) WHERE due_real IS NOT NULL;
CREATE INDEX handovers_attention ON handovers (attention_real, id) WHERE attention_real IS NOT NULL;
CREATE INDEX handovers_attention_of_merchant ON handovers (merchant_id, attention_real, id)
  WHERE attention_real IS NOT NULL;
CREATE INDEX handovers_open ON handovers (rail, state) WHERE state <> 'closed';
CREATE INDEX handovers_of_rail ON handovers (rail, created_real, id);

-- The requests to rails and their responses, by payment.
CREATE TABLE exchanges (
  merchant_id text COLLATE "C" NOT NULL,
  handover_id text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  at_real bigint NOT NULL,
  latency_ms bigint NOT NULL,
  action text NOT NULL,
  result text NOT NULL,
  detail text,
  PRIMARY KEY (merchant_id, handover_id, number)
);

CREATE TABLE rail_pauses (
  rail text COLLATE "C" PRIMARY KEY,
  at_real bigint NOT NULL,
  paused_by text NOT NULL,
  reason text NOT NULL
);
