-- Whether a merchant is suspended or closed (D88). NULL: neither.
ALTER TABLE merchants ADD COLUMN merchant_state text CHECK (merchant_state IN ('suspended', 'closed'));
