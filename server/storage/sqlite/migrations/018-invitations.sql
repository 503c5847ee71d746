-- Who let a person in: the names of those in whose sessions the links were made, the first one first, each between line
-- feeds. Empty for a link of the command line.
ALTER TABLE dashboard_links ADD COLUMN invited_by TEXT NOT NULL DEFAULT '';
ALTER TABLE dashboard_sessions ADD COLUMN invited_by TEXT NOT NULL DEFAULT '';
