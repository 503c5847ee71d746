-- A payout and its event change soon after they were written. If a page has room for the new version of a row,
-- PostgreSQL logs only what is different. New pages keep this room; pages that are full already stay as they are.
-- No request waits behind this. Autovacuum ends for it, but only after a second.
SELECT set_config('migration.lock_timeout', current_setting('lock_timeout'), true);
SET LOCAL lock_timeout = '5s';
ALTER TABLE events SET (fillfactor = 70);
ALTER TABLE disbursements SET (fillfactor = 70);
SELECT set_config('lock_timeout', current_setting('migration.lock_timeout'), true);

-- Lists of deliveries read the ranges of deliveries_by_status.
DROP INDEX IF EXISTS deliveries_of_merchant;
