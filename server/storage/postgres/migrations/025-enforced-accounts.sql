-- Whether the balance of an account must cover payouts although the server only tracks balances (D95).
ALTER TABLE accounts ADD enforced boolean NOT NULL DEFAULT false;
