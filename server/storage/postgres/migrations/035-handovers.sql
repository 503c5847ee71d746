-- asked_real alone is the doubt: until when the rail may have been asked to pay without a known result. It changes when a
-- result is recorded, and when a claim ends without one.
ALTER TABLE handovers DROP COLUMN asked_before_real;
