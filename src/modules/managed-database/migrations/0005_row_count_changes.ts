/**
 * Changes of a table's row count that are stored beside it, so that transactions which add and remove rows do not wait
 * for each other: `row_count` is exact together with them. `console.count_rows` adds a change, and those that others have
 * committed, to `row_count` if no other transaction holds that row, and else stores it beside it.
 *
 * The release before this one changes `row_count` alone, which may therefore be below zero for a time. When its transaction
 * commits, the trigger recognizes it by the unchanged `count_version`, and counts the rows of the table if changes are stored
 * beside `row_count`.
 */
export const ROW_COUNT_CHANGES_SQL = `
CREATE TABLE console.row_count_changes (
  table_id text NOT NULL REFERENCES console.managed_tables ON DELETE CASCADE,
  change bigint NOT NULL,
  changed_at timestamptz NOT NULL
);
CREATE INDEX row_count_changes_of_table ON console.row_count_changes (table_id);
ALTER TABLE console.managed_tables
  ADD COLUMN count_version bigint NOT NULL DEFAULT 0,
  DROP CONSTRAINT managed_tables_row_count_check;

CREATE FUNCTION console.count_rows(of_table text, of_company text, change bigint, at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM console.managed_tables WHERE id = of_table AND company_id = of_company FOR NO KEY UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    INSERT INTO console.row_count_changes VALUES (of_table, change, at);
    RETURN;
  END IF;
  WITH beside AS (DELETE FROM console.row_count_changes WHERE table_id = of_table RETURNING *)
  UPDATE console.managed_tables SET
    row_count = row_count + count_rows.change + coalesce((SELECT sum(beside.change) FROM beside), 0),
    updated_at = greatest(updated_at, at, (SELECT max(beside.changed_at) FROM beside)),
    count_version = count_version + 1
  WHERE id = of_table;
END $$;

CREATE FUNCTION console.count_all_rows() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  table_name text;
BEGIN
  SELECT display_name INTO table_name FROM console.managed_tables
  WHERE id = NEW.id AND deleted_at IS NULL AND EXISTS (SELECT FROM console.row_count_changes WHERE table_id = NEW.id);
  IF FOUND THEN
    EXECUTE format(
      'WITH beside AS (DELETE FROM console.row_count_changes WHERE table_id = $1)
       UPDATE console.managed_tables SET row_count = (SELECT count(*) FROM public.%I), count_version = count_version + 1
       WHERE id = $1',
      table_name
    ) USING NEW.id;
  END IF;
  RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER count_all_rows AFTER UPDATE OF row_count ON console.managed_tables
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.count_version = OLD.count_version)
EXECUTE FUNCTION console.count_all_rows();
`;
