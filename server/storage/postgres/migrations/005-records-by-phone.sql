-- The dashboard finds records by phone number. As in a list of all records, each status is one range of the index.
CREATE INDEX CONCURRENTLY disbursements_by_phone ON disbursements (merchant_id, epoch, phone_number, status, created_at, id);
CREATE INDEX CONCURRENTLY checkouts_by_phone ON checkouts (merchant_id, epoch, phone_number, status, created_at, id)
  WHERE phone_number IS NOT NULL;
