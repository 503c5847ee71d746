-- A payout and its event change soon after they were written. If a page has room for the new version of a row,
-- PostgreSQL logs only what is different. New pages keep this room; pages that are full already stay as they are.
ALTER TABLE events SET (fillfactor = 70);
ALTER TABLE disbursements SET (fillfactor = 70);

-- Lists of deliveries read the ranges of deliveries_by_status.
DROP INDEX deliveries_of_merchant;
