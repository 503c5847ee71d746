-- What a payout waits for that needs approval (D93), as JSON; NULL: no approval. created_by is who created a key: this
-- person cannot approve payouts of the key.
ALTER TABLE disbursements ADD COLUMN approval TEXT;
ALTER TABLE api_keys ADD COLUMN created_by TEXT;
CREATE INDEX disbursements_waiting ON disbursements (merchant_id, created_at)
  WHERE approval IS NOT NULL AND status = 'pending';
