-- Why a payment fails, as JSON (D75). It can be known before the record is final.
ALTER TABLE disbursements ADD COLUMN failure text;
ALTER TABLE checkouts ADD COLUMN failure text;
