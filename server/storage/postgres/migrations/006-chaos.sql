-- What the chaos switch of a merchant's sandbox does, as JSON; NULL while it is off (D67).
ALTER TABLE merchants ADD COLUMN chaos text;
