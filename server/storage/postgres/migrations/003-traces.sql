-- The W3C trace context of the request that created a payment, so that its webhooks belong to the same trace.
ALTER TABLE disbursements ADD COLUMN traceparent text;
ALTER TABLE checkouts ADD COLUMN traceparent text;
ALTER TABLE events ADD COLUMN traceparent text;
