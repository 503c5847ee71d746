-- What a person may do in the dashboard. Whoever has access already may do everything, as before. A server of the
-- previous version does not know the role of a link, so a session that it begins may only look.
ALTER TABLE dashboard_links ADD COLUMN role text NOT NULL DEFAULT 'administrator';
ALTER TABLE dashboard_sessions ADD COLUMN role text NOT NULL DEFAULT 'administrator';
ALTER TABLE dashboard_sessions ALTER COLUMN role SET DEFAULT 'viewer';
