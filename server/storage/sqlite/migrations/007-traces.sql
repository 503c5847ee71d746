-- The W3C trace context of the request that created a payment, so that its webhooks belong to the same trace.
ALTER TABLE disbursements ADD COLUMN traceparent TEXT;
ALTER TABLE checkouts ADD COLUMN traceparent TEXT;
ALTER TABLE events ADD COLUMN traceparent TEXT;
