-- Leases of claims are measured with leased, a counter of milliseconds for which servers have used this database. No wall
-- clock affects it (D47). A claim's due_real is its end on this counter. latest_real is the latest time with which a record
-- may be dated; it goes back when a clock that was more than an hour ahead is corrected (D48).
ALTER TABLE clock ADD COLUMN leased INTEGER NOT NULL DEFAULT 0;
UPDATE events SET due_real = 4000 WHERE due_real IS NOT NULL AND claimed = 1;
