import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import { makeTableRoutes } from '../managed-tables/support.ts';
import { must } from '../support/signed.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';
import { makeFileOf } from './staged.ts';
import { loadFiles, queryDatabase, readRows, undoJob } from './support.ts';

/** What the versions from 4 on of the tenant's schema added, taken away again. */
const BACK_TO_3 = `
  DROP TABLE console.events, console.loaded_days;
  DROP TRIGGER tell_upload ON console.upload_jobs;
  DROP TRIGGER tell_table_changed ON console.managed_tables;
  DROP FUNCTION console.tell_upload, console.tell_table_changed, console.tell_table, console.tell;
  DROP TABLE console.row_count_changes;
  DROP TABLE console.resumable_uploads;
  DROP TRIGGER count_all_rows ON console.managed_tables;
  DROP FUNCTION console.count_rows, console.count_all_rows;
  DROP SCHEMA kept CASCADE;
  DROP INDEX console.upload_jobs_loads;
  ALTER TABLE console.managed_tables
    DROP COLUMN undoable_after, DROP COLUMN undo_ended_by, DROP COLUMN count_version,
    ADD CONSTRAINT managed_tables_row_count_check CHECK (row_count >= 0);
  ALTER TABLE console.upload_jobs
    DROP COLUMN key_columns, DROP COLUMN result, DROP COLUMN load_number, DROP COLUMN loaded_at, DROP COLUMN added_rows,
    DROP COLUMN undone_at, DROP COLUMN undone_by, DROP COLUMN source_url, DROP COLUMN evolve, DROP COLUMN evolved,
    DROP CONSTRAINT upload_jobs_mode_check,
    ADD CONSTRAINT upload_jobs_mode_check CHECK (mode IN ('create', 'append', 'replace'));
  DROP SEQUENCE console.load_numbers;
  DELETE FROM console.migrations WHERE version > 3`;

describe('uploads that were loaded before uploads could be undone', () => {
  let company: Company;
  let tableId: string;
  let older: string[];

  const reasonOf = ({ status, body }: Awaited<ReturnType<typeof undoJob>>) =>
    status === 200 ? 'undone' : `${status} ${body.details?.reason}`;
  const loads = async () =>
    (await must(makeTableRoutes(company.as, tableId).loads())).records as Record<string, unknown>[];
  const undoable = async () =>
    (await loads()).map(({ job_id: jobId, undoable: can }) => [jobId, can] as [string, boolean]);
  const numbers = async () => (await readRows(company, tableId)).map(({ n }) => n);

  beforeAll(async () => {
    company = await aProvisionedCompany();
    const made = await loadFiles(company, [makeFileOf([1, 2])], { display_name: 'older' });
    tableId = made.user_table_id;
    const appended = await loadFiles(company, [makeFileOf([3])], {}, { into: tableId, mode: 'append' });
    const replaced = await loadFiles(company, [makeFileOf([4, 5, 6])], {}, { into: tableId, mode: 'replace' });
    older = [made, appended, replaced].map(({ _id: id }) => id);
    await queryDatabase(company, (database) => database.query(BACK_TO_3));
    await env.CONTROL_DB.prepare('UPDATE managed_databases SET migrations_version = 3 WHERE company_id = ?')
      .bind(company.id)
      .run();
  });

  it('are listed with their counts and times, and cannot be undone', async () => {
    const records = await loads();
    expect(records).toHaveLength(3);
    expect(
      records.map(({ mode, row_count, inserted, updated, undoable: can }) => [mode, row_count, inserted, updated, can]),
    ).toEqual([
      ['replace', 3, 3, 0, false],
      ['append', 1, 1, 0, false],
      ['create', 2, 2, 0, false],
    ]);
    for (const { loaded_at, loaded_by } of records)
      expect([Date.parse(loaded_at as string) > Date.now() - 600_000, loaded_by]).toEqual([true, expect.any(String)]);
    for (const id of older) expect(reasonOf(await undoJob(company, id))).toBe('409 earlier_version');
    expect(await numbers()).toEqual([4, 5, 6]);
  });

  it('still cannot be undone beside later uploads, which can', async () => {
    const { _id: later } = await loadFiles(company, [makeFileOf([7])], {}, { into: tableId, mode: 'append' });
    expect(await undoable()).toEqual([[later, true], ...older.toReversed().map((id) => [id, false])]);
    for (const id of older) expect(reasonOf(await undoJob(company, id))).toBe('409 earlier_version');
    expect(reasonOf(await undoJob(company, later))).toBe('undone');
    expect(await numbers()).toEqual([4, 5, 6]);
    const { _id: replaced } = await loadFiles(company, [makeFileOf([8])], {}, { into: tableId, mode: 'replace' });
    expect(reasonOf(await undoJob(company, replaced))).toBe('undone');
    expect(await numbers()).toEqual([4, 5, 6]);
    for (const id of older) expect(reasonOf(await undoJob(company, id))).toBe('409 earlier_version');
  });

  it('prevent the undo of an earlier upload when an old version loads them during a deployment', async () => {
    const { _id: known } = await loadFiles(company, [makeFileOf([9])], {}, { into: tableId, mode: 'append' });
    const { _id: beside } = await loadFiles(company, [makeFileOf([10])], {}, { into: tableId, mode: 'append' });
    await queryDatabase(company, (database) =>
      database.execute(
        'UPDATE console.upload_jobs SET load_number = NULL, loaded_at = NULL, added_rows = NULL, result = NULL WHERE id = $1',
        [beside],
      ),
    );
    expect((await undoable()).slice(0, 2)).toEqual([
      [beside, false],
      [known, false],
    ]);
    expect(reasonOf(await undoJob(company, beside))).toBe('409 earlier_version');
    expect(reasonOf(await undoJob(company, known))).toBe('409 later_load');
    expect(await numbers()).toEqual([4, 5, 6, 9, 10]);
  });
});
