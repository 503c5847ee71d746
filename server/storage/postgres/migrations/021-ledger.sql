-- The books (D87). A merchant has four accounts in each currency: what is available, what pending payouts reserve, the
-- fees, and what has left the service or come into it. An entry changes them by amounts whose sum is zero. reference is
-- the service's reference of the payment, and at is in sandbox time. accounts keeps the sums.
CREATE TABLE entries (
  merchant_id text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
  reference text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  available numeric NOT NULL,
  reserved numeric NOT NULL,
  fees numeric NOT NULL,
  outside numeric NOT NULL,
  PRIMARY KEY (merchant_id, epoch, reference, kind),
  CHECK (available + reserved + fees + outside = 0)
);

CREATE TABLE accounts (
  merchant_id text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
  currency text COLLATE "C" NOT NULL,
  available numeric NOT NULL,
  reserved numeric NOT NULL,
  PRIMARY KEY (merchant_id, epoch, currency)
);

-- What earlier payments have changed, and the balance that they must have had for nothing to be available now.
INSERT INTO entries
  SELECT m.id, m.epoch, 'history-' || r.currency, 'history', r.currency, max(r.at),
    sum(r.available), sum(r.reserved), sum(r.fees), -sum(r.available + r.reserved + r.fees)
  FROM merchants m JOIN (
    SELECT merchant_id, epoch, currency, updated_at AS at, -(amount + fee) AS available,
      CASE status WHEN 'pending' THEN amount + fee ELSE 0 END AS reserved,
      CASE status WHEN 'success' THEN fee ELSE 0 END AS fees
    FROM disbursements WHERE status <> 'failed'
    UNION ALL SELECT merchant_id, epoch, currency, updated_at, amount - fee, 0, fee
    FROM checkouts WHERE status = 'success'
  ) AS r ON r.merchant_id = m.id AND r.epoch = m.epoch
  GROUP BY m.id, m.epoch, r.currency;
INSERT INTO entries
  SELECT merchant_id, epoch, reference, 'opening', currency, at, -available, 0, 0, available FROM entries;
INSERT INTO accounts
  SELECT merchant_id, epoch, currency, 0, sum(reserved) FROM entries GROUP BY merchant_id, epoch, currency;
