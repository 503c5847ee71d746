-- For IN with more than two values, SQLite fills a temporary table each time that it checks a row. The conditions below
-- mean the same. SQLite has no statement that replaces a check without writing every row again
-- (https://www.sqlite.org/lang_altertable.html#otheralter).
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'status IN (''pending'', ''success'', ''failed'')',
  'status = ''pending'' OR status = ''success'' OR status = ''failed''') WHERE name = 'disbursements';
UPDATE sqlite_schema SET sql = replace(sql, 'status IN (''pending'', ''success'', ''failed'', ''cancelled'')',
  'status = ''pending'' OR status = ''success'' OR status = ''failed'' OR status = ''cancelled''') WHERE name = 'checkouts';
UPDATE sqlite_schema SET sql = replace(sql, 'status IN (''pending'', ''delivered'', ''ended'', ''exhausted'')',
  'status = ''pending'' OR status = ''delivered'' OR status = ''ended'' OR status = ''exhausted''') WHERE name = 'events';
UPDATE sqlite_schema SET sql = replace(sql, 'state IN (''waiting'', ''accepted'', ''closed'')',
  'state = ''waiting'' OR state = ''accepted'' OR state = ''closed''') WHERE name = 'handovers';
PRAGMA writable_schema = RESET;
