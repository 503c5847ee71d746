-- The name of the program that sent the request, from its User-Agent.
ALTER TABLE request_log ADD COLUMN program TEXT;
