-- Statements (D87). Each account numbers its entries, and an entry keeps the balance after it. Times of an account's
-- entries never decrease, so that a statement which was read does not change.
ALTER TABLE accounts ADD entries bigint NOT NULL DEFAULT 0, ADD at bigint NOT NULL DEFAULT 0;
ALTER TABLE entries ADD number bigint NOT NULL DEFAULT 0, ADD balance numeric NOT NULL DEFAULT 0;
UPDATE entries e SET number = o.number, balance = o.balance FROM (
    SELECT merchant_id, epoch, reference, kind, row_number() OVER earlier AS number, sum(available) OVER earlier AS balance
    FROM entries WINDOW earlier AS (PARTITION BY merchant_id, epoch, currency ORDER BY at, reference, kind DESC)
  ) AS o
  WHERE o.merchant_id = e.merchant_id AND o.epoch = e.epoch AND o.reference = e.reference AND o.kind = e.kind;
UPDATE accounts a SET entries = o.count, at = o.at FROM (
    SELECT merchant_id, epoch, currency, count(*) AS count, max(at) AS at FROM entries
    GROUP BY merchant_id, epoch, currency
  ) AS o
  WHERE o.merchant_id = a.merchant_id AND o.epoch = a.epoch AND o.currency = a.currency;
CREATE INDEX entries_of_statement ON entries (merchant_id, epoch, at, currency, number);
