-- Whether the database belongs to a sandbox or to a live service, as the first server that opened it was told (D80).
-- A restore may have stored it already, in a database of an older version.
CREATE TABLE IF NOT EXISTS mode (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  name TEXT NOT NULL CHECK (name IN ('sandbox', 'live'))
) STRICT;
