-- What a person may do in the dashboard. Whoever has access already may do everything, as before.
ALTER TABLE dashboard_links ADD role TEXT NOT NULL DEFAULT 'administrator';
ALTER TABLE dashboard_sessions ADD role TEXT NOT NULL DEFAULT 'administrator';
