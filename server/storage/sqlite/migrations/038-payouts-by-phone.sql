-- An index by phone number made each create change a random page. These segments replace it. A segment holds the payouts
-- with the next 4,096 references (references begin with the time), and is written at once. Payouts after the last segment
-- are searched without an index. The triggers keep the segments complete.
CREATE TABLE phone_segments (
  number INTEGER PRIMARY KEY,
  last_reference TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE payouts_by_phone (
  segment INTEGER NOT NULL,
  phone_number TEXT NOT NULL,
  merchant_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  reference TEXT NOT NULL,
  PRIMARY KEY (segment, phone_number, merchant_id, epoch, created_at, reference)
) STRICT, WITHOUT ROWID;

INSERT INTO phone_segments SELECT n / 4096, reference
  FROM (SELECT row_number() OVER (ORDER BY reference) AS n, reference FROM disbursements) WHERE n % 4096 = 0;
INSERT INTO payouts_by_phone SELECT (n - 1) / 4096 + 1, phone_number, merchant_id, epoch, created_at, reference
  FROM (SELECT row_number() OVER (ORDER BY reference) AS n, * FROM disbursements)
  WHERE n <= (SELECT max(number) * 4096 FROM phone_segments) ORDER BY 1, 2, 3, 4, 5, 6;
DROP INDEX disbursements_by_phone;

-- A payout whose reference was made before the last segment was written.
CREATE TRIGGER payout_with_earlier_reference AFTER INSERT ON disbursements BEGIN
  INSERT INTO payouts_by_phone SELECT number, new.phone_number, new.merchant_id, new.epoch, new.created_at, new.reference
    FROM phone_segments WHERE last_reference >= new.reference ORDER BY last_reference LIMIT 1;
END;
CREATE TRIGGER payout_deleted AFTER DELETE ON disbursements BEGIN
  DELETE FROM payouts_by_phone WHERE phone_number = old.phone_number AND merchant_id = old.merchant_id
    AND epoch = old.epoch AND created_at = old.created_at AND reference = old.reference
    AND segment = (SELECT number FROM phone_segments WHERE last_reference >= old.reference ORDER BY last_reference LIMIT 1);
END;
CREATE TRIGGER payout_with_other_phone AFTER UPDATE OF phone_number ON disbursements BEGIN
  DELETE FROM payouts_by_phone WHERE phone_number = old.phone_number AND merchant_id = old.merchant_id
    AND epoch = old.epoch AND created_at = old.created_at AND reference = old.reference
    AND segment = (SELECT number FROM phone_segments WHERE last_reference >= old.reference ORDER BY last_reference LIMIT 1);
  INSERT INTO payouts_by_phone SELECT number, new.phone_number, new.merchant_id, new.epoch, new.created_at, new.reference
    FROM phone_segments WHERE last_reference >= new.reference ORDER BY last_reference LIMIT 1;
END;
