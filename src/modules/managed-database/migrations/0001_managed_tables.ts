/**
 * The catalogue of managed tables. `display_name` is the table's name in schema `public`; `row_count` is exact, changed
 * in the transaction that changes the rows; `schema_version` counts changes of name and columns, so that a write
 * detects that the schema changed after its validation.
 */
export const MANAGED_TABLES_SQL = `
CREATE TABLE console.managed_tables (
  id text PRIMARY KEY,
  company_id text NOT NULL,
  display_name text NOT NULL,
  columns jsonb NOT NULL,
  source text NOT NULL,
  status text NOT NULL DEFAULT 'active',
  row_count bigint NOT NULL DEFAULT 0 CHECK (row_count >= 0),
  schema_version integer NOT NULL DEFAULT 1,
  created_by_user_id text NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  deleted_at timestamptz
);
CREATE UNIQUE INDEX managed_tables_display_name ON console.managed_tables (company_id, display_name) WHERE deleted_at IS NULL;
CREATE INDEX managed_tables_newest ON console.managed_tables (company_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;
`;
