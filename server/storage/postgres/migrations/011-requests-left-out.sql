-- How many requests of the merchant, up to about the time of this one, were not kept because there were too many.
ALTER TABLE request_log ADD COLUMN left_out bigint;
