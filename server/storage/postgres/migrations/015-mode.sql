-- Whether the database belongs to a sandbox or to a live service, as the first server that opened it was told (D80).
CREATE TABLE mode (
  id bigint PRIMARY KEY CHECK (id = 1),
  name text COLLATE "C" NOT NULL CHECK (name IN ('sandbox', 'live'))
);
