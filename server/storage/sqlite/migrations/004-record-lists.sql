-- These indexes serve lists of records, newest first. A list of one status reads one range of the index; a list of all
-- records merges one range per status. The rowid, which ends every index, orders records that were created in the same
-- millisecond.
CREATE INDEX disbursements_by_status ON disbursements (merchant_id, epoch, status, created_at);
CREATE INDEX checkouts_by_status ON checkouts (merchant_id, epoch, status, created_at);
