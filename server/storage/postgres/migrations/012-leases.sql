-- Leases of claims are measured with leased, a counter of milliseconds that the processes move on by their monotonic
-- clocks. No wall clock affects it (D47). It starts with the time, because processes of the previous version, which may
-- still be running, measure leases with that. A claim's due_real is its end on this counter. latest_real is the latest
-- time with which a record may be dated; it goes back when a clock that was more than an hour ahead is corrected (D48).
ALTER TABLE service ADD COLUMN leased bigint NOT NULL DEFAULT 0;
UPDATE service SET leased = floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint;
UPDATE events SET due_real = (SELECT leased + 4000 FROM service) WHERE due_real IS NOT NULL AND claimed;
