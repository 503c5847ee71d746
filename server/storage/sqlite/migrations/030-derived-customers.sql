-- The ids of customers are derived from their phone numbers with a secret of the merchant. Customers of epochs before
-- customers_before keep their ids, in the table customers.
ALTER TABLE merchants ADD customer_secret TEXT NOT NULL DEFAULT '';
ALTER TABLE merchants ADD customers_before INTEGER NOT NULL DEFAULT 0;
UPDATE merchants SET customer_secret = lower(hex(randomblob(32))), customers_before = epoch + 1;
