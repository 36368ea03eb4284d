/**
 * Events of uploads hold what GET shows of the job, without what was read of its files: neither the value that an error is about
 * nor the quoted value in its message.
 */
export const UPLOAD_EVENTS_SQL = `
CREATE OR REPLACE FUNCTION console.tell_upload() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM console.tell(
    'upload.' || CASE WHEN NEW.undone_at IS NOT NULL THEN 'undone' ELSE NEW.status END,
    jsonb_build_object(
      'id', NEW.id, 'companyId', NEW.company_id, 'userTableId', NEW.user_table_id, 'createdByUserId', NEW.created_by_user_id,
      'files', (SELECT coalesce(jsonb_agg(file - 'pieces'), '[]') FROM jsonb_array_elements(NEW.files::jsonb) AS file),
      'mode', NEW.mode, 'evolve', NEW.evolve, 'status', NEW.status, 'key', NEW.key_columns, 'result', NEW.result,
      'confirmedSchema', NEW.confirmed_schema::jsonb - 'evolution',
      'progress', NEW.progress::jsonb || jsonb_build_object('phase', NEW.status),
      'error', NEW.error::jsonb - 'value' || jsonb_build_object('message', coalesce(
        replace(NEW.error ->> 'message', '"' || (NEW.error ->> 'value') || '"', '"…"'), NEW.error ->> 'message'
      )),
      'errorCode', NEW.error ->> 'code', 'sourceUrl', NEW.source_url, 'undoneBy', NEW.undone_by,
      'undoneAt', (extract(epoch FROM NEW.undone_at) * 1000)::bigint,
      'createdAt', (extract(epoch FROM NEW.created_at) * 1000)::bigint,
      'updatedAt', (extract(epoch FROM NEW.updated_at) * 1000)::bigint
    )
  );
  RETURN NULL;
END $$;
`;
