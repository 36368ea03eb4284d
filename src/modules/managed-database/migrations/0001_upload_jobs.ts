/**
 * Upload jobs with their checkpoints. `step` counts every change of a job's checkpoint; writes have `WHERE step = …`,
 * so that only one of several workers proceeds. Documents are `json`, not `jsonb`: no query searches in them, and their
 * fields keep their order. A confirmed job reserves its table's name until it ends.
 */
export const UPLOAD_JOBS_SQL = `
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
