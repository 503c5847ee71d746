-- asked_real alone is the doubt: until when the rail may have been asked to pay without a known result. It changes when a
-- result is recorded, and when a claim ends without one.
ALTER TABLE handovers DROP COLUMN asked_before_real;

-- A checkout of a rail ends only as its rail says.
UPDATE checkouts SET due_at = NULL, due_real = NULL, due_status = NULL WHERE due_at IS NOT NULL AND EXISTS (
  SELECT 1 FROM handovers h WHERE h.merchant_id = checkouts.merchant_id AND h.id = checkouts.reference);
