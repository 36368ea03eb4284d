/**
 * Upload jobs with the place where their work stands. `step` counts every change of a job's work, so that whoever changed
 * it last is told from one who only believes so: work is written with `WHERE step = …`. Documents are `json`, not
 * `jsonb`: nobody searches in them, and their members keep their order. A confirmed job holds its table's
 * name against other jobs until it ends.
 */
export const UPLOAD_JOBS = `
CREATE TABLE console.upload_jobs (
  id text PRIMARY KEY,
  company_id text NOT NULL,
  user_table_id text,
  created_by_user_id text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('create', 'append', 'replace')),
  status text NOT NULL CHECK (status IN ('queued', 'analisando', 'waiting_confirm', 'inserting', 'done', 'failed')),
  files json NOT NULL,
  inferred_schema json,
  reading json,
  confirmed_schema json,
  progress json,
  error json,
  step integer NOT NULL DEFAULT 0,
  state json,
  attempts integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE INDEX upload_jobs_active ON console.upload_jobs (company_id, created_at DESC, id DESC)
  WHERE status IN ('queued', 'analisando', 'waiting_confirm', 'inserting');
CREATE INDEX upload_jobs_of_table ON console.upload_jobs (user_table_id)
  WHERE status IN ('queued', 'analisando', 'waiting_confirm', 'inserting');
CREATE UNIQUE INDEX upload_jobs_name ON console.upload_jobs (company_id, (confirmed_schema ->> 'display_name'))
  WHERE mode = 'create' AND status = 'inserting';
`;
