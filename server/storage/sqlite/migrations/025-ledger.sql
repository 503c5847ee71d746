-- The books (D87). A merchant has four accounts in each currency: what is available, what pending payouts reserve, the
-- fees, and what has left the service or come into it. An entry changes them by amounts whose sum is zero. reference is
-- the service's reference of the payment, and at is in sandbox time. accounts keeps the sums, as text because they can
-- exceed an integer.
CREATE TABLE entries (
  merchant_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  reference TEXT NOT NULL,
  kind TEXT NOT NULL,
  currency TEXT NOT NULL,
  at INTEGER NOT NULL,
  available INTEGER NOT NULL,
  reserved INTEGER NOT NULL,
  fees INTEGER NOT NULL,
  outside INTEGER NOT NULL,
  PRIMARY KEY (merchant_id, epoch, reference, kind),
  CHECK (available + reserved + fees + outside = 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE accounts (
  merchant_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  currency TEXT NOT NULL,
  available TEXT NOT NULL,
  reserved TEXT NOT NULL,
  PRIMARY KEY (merchant_id, epoch, currency)
) STRICT, WITHOUT ROWID;

-- What earlier payments have changed, and the balance that they must have had for nothing to be available now. An entry
-- stands for at most 256 payments, so that its sums fit.
INSERT INTO entries
  SELECT m.id, m.epoch, r.kind || '-' || r.currency || '-' || r.part, 'history', r.currency, max(r.at),
    sum(r.available), sum(r.reserved), sum(r.fees), -sum(r.available + r.reserved + r.fees)
  FROM merchants m JOIN (
    SELECT merchant_id, epoch, 'payouts' AS kind, currency, rowid / 256 AS part, updated_at AS at,
      -(amount + fee) AS available, CASE status WHEN 'pending' THEN amount + fee ELSE 0 END AS reserved,
      CASE status WHEN 'success' THEN fee ELSE 0 END AS fees
    FROM disbursements WHERE status <> 'failed'
    UNION ALL SELECT merchant_id, epoch, 'checkouts', currency, rowid / 256, updated_at, amount - fee, 0, fee
    FROM checkouts WHERE status = 'success'
  ) AS r ON r.merchant_id = m.id AND r.epoch = m.epoch
  GROUP BY m.id, m.epoch, r.kind, r.currency, r.part;
INSERT INTO entries
  SELECT merchant_id, epoch, reference, 'opening', currency, at, -available, 0, 0, available FROM entries;
INSERT INTO accounts
  SELECT merchant_id, epoch, currency, '0', CAST(sum(reserved) AS TEXT) FROM entries
  GROUP BY merchant_id, epoch, currency;
