-- For lists of records, newest first. One index serves lists of one status and, merged over the few statuses, lists of
-- all. The rowid, which ends every index, orders records that were created in the same millisecond.
CREATE INDEX disbursements_by_status ON disbursements (merchant_id, epoch, status, created_at);
CREATE INDEX checkouts_by_status ON checkouts (merchant_id, epoch, status, created_at);
