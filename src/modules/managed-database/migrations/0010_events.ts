/**
 * The schema of events of tables and uploads, until they are copied to the control database: written by triggers, in the
 * transaction of the change. An event contains no cell of a table. Records name their fields as the code does.
 */
export const EVENTS_SQL = `
CREATE TABLE console.events (
  id text PRIMARY KEY,
  type text NOT NULL,
  record jsonb NOT NULL,
  occurred_at timestamptz NOT NULL
);
CREATE INDEX events_by_time ON console.events (occurred_at, id);

CREATE FUNCTION console.tell(type text, record jsonb) RETURNS void LANGUAGE sql AS $$
  INSERT INTO console.events VALUES (
    lpad(to_hex(extract(epoch FROM clock_timestamp())::bigint), 8, '0') || substr(md5(gen_random_uuid()::text), 1, 16),
    type, record, clock_timestamp()
  )
$$;

CREATE FUNCTION console.tell_table(type text, of console.managed_tables) RETURNS void LANGUAGE sql AS $$
  SELECT console.tell(type, jsonb_build_object(
    'id', of.id, 'companyId', of.company_id, 'displayName', of.display_name, 'columns', of.columns, 'source', of.source,
    'status', of.status, 'createdByUserId', of.created_by_user_id,
    'rowCount', of.row_count + coalesce((SELECT sum(change) FROM console.row_count_changes WHERE table_id = of.id), 0),
    'createdAt', (extract(epoch FROM of.created_at) * 1000)::bigint,
    'updatedAt', (extract(epoch FROM of.updated_at) * 1000)::bigint
  ))
$$;

CREATE FUNCTION console.tell_table_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM console.tell_table('table.created', NEW);
  ELSIF NEW.deleted_at IS NOT NULL AND OLD.deleted_at IS NULL THEN
    PERFORM console.tell_table('table.deleted', NEW);
  ELSIF NEW.deleted_at IS NULL AND OLD.deleted_at IS NOT NULL THEN
    PERFORM console.tell_table('table.restored', NEW);
  ELSIF NEW.schema_version <> OLD.schema_version THEN
    PERFORM console.tell_table('table.updated', NEW);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER tell_table_changed AFTER INSERT OR UPDATE OF deleted_at, schema_version ON console.managed_tables
FOR EACH ROW EXECUTE FUNCTION console.tell_table_changed();

CREATE FUNCTION console.tell_upload() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM console.tell(
    'upload.' || CASE WHEN NEW.undone_at IS NOT NULL THEN 'undone' ELSE NEW.status END,
    jsonb_build_object(
      'id', NEW.id, 'companyId', NEW.company_id, 'userTableId', NEW.user_table_id, 'createdByUserId', NEW.created_by_user_id,
      'mode', NEW.mode, 'evolve', NEW.evolve, 'status', NEW.status, 'key', NEW.key_columns, 'result', NEW.result,
      'errorCode', NEW.error ->> 'code', 'sourceUrl', NEW.source_url, 'undoneBy', NEW.undone_by,
      'undoneAt', (extract(epoch FROM NEW.undone_at) * 1000)::bigint,
      'createdAt', (extract(epoch FROM NEW.created_at) * 1000)::bigint,
      'updatedAt', (extract(epoch FROM NEW.updated_at) * 1000)::bigint
    )
  );
  RETURN NULL;
END $$;
CREATE TRIGGER tell_upload AFTER UPDATE OF status, undone_at ON console.upload_jobs FOR EACH ROW
WHEN ((NEW.status IN ('waiting_confirm', 'done', 'failed') AND NEW.status <> OLD.status)
  OR (NEW.undone_at IS NOT NULL AND OLD.undone_at IS NULL))
EXECUTE FUNCTION console.tell_upload();
`;
