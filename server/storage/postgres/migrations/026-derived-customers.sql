-- The ids of customers are derived from their phone numbers with a secret of the merchant. Customers of epochs before
-- customers_before keep their ids, in the table customers. The defaults are for merchants that servers of the previous
-- version create: their customers are in the table.
ALTER TABLE merchants ADD customer_secret text NOT NULL DEFAULT gen_random_uuid()::text || gen_random_uuid()::text;
ALTER TABLE merchants ADD customers_before bigint NOT NULL DEFAULT 1;
UPDATE merchants SET customers_before = epoch + 1;
