-- Leases of claims are measured with leased, a counter of milliseconds that the processes move on by their monotonic
-- clocks. No wall clock affects it (D47). It is 0 until the first process starts it. A claim's due_real is its end on this
-- counter. latest_real is the latest time with which a record may be dated; it goes back when a clock that was more than an
-- hour ahead is corrected (D48).
ALTER TABLE service ADD COLUMN leased bigint NOT NULL DEFAULT 0;
-- Claims from a time when a clock was ahead.
UPDATE events SET due_real = floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
  WHERE claimed AND due_real > floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + 60000;
