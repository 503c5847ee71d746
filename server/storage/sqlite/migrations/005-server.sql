-- The server that uses this database. Each transaction checks that this server still uses the database.
CREATE TABLE server (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  -- A random text that identifies the process.
  instance TEXT NOT NULL,
  -- The identity of the lock file that the server holds.
  lock_file TEXT NOT NULL,
  -- A random text that a second server leaves here. A running server removes it, which shows that it is alive.
  challenge TEXT,
  -- Filled and emptied to find out whether a full disk has room again.
  room BLOB
) STRICT;
