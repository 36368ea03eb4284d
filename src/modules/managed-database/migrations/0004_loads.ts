/**
 * The columns of a load whose rows are in place. `load_number` orders the loads of a table: it is drawn while the
 * table is locked. `added_rows` is the first part of the ids of all its rows. Loads of earlier versions have the number 0, one
 * that an earlier version does during a deployment has none. A load is undone only if its number is above its table's
 * `undoable_after`, which a change of the columns or a truncation raises; `undo_ended_by` says which.
 * Schema `kept` holds the rows that loads have replaced, in tables named by the ids of their jobs.
 */
export const LOADS_SQL = `
CREATE SCHEMA IF NOT EXISTS kept;
CREATE SEQUENCE console.load_numbers;
ALTER TABLE console.upload_jobs
  ADD COLUMN key_columns json,
  ADD COLUMN result json,
  ADD COLUMN load_number bigint,
  ADD COLUMN loaded_at timestamptz,
  ADD COLUMN added_rows text,
  ADD COLUMN undone_at timestamptz,
  ADD COLUMN undone_by text,
  DROP CONSTRAINT upload_jobs_mode_check,
  ADD CONSTRAINT upload_jobs_mode_check CHECK (mode IN ('create', 'append', 'replace', 'upsert'));
ALTER TABLE console.managed_tables
  ADD COLUMN undoable_after bigint NOT NULL DEFAULT 0,
  ADD COLUMN undo_ended_by text;
UPDATE console.upload_jobs SET load_number = 0, loaded_at = updated_at WHERE status = 'done';
CREATE INDEX upload_jobs_loads ON console.upload_jobs (user_table_id, load_number DESC NULLS FIRST) WHERE status = 'done';
`;
