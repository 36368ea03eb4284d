import { describe, expect, it } from 'vitest';
import { createTableClient } from '../managed-tables/support.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { runSql } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import { makeFileOf } from './staged-job.ts';
import { loadFiles, queryDatabase, readRows, undoJob } from './support.ts';

/** SQL that removes what the versions from 4 on added to the tenant's schema. */
const SCHEMA_3_ROLLBACK_SQL = `
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

const company = await createProvisionedCompany();
const createdJob = await loadFiles(company, [makeFileOf([1, 2])], { display_name: 'older' });
const tableId: string = createdJob.user_table_id;
const appendedJob = await loadFiles(company, [makeFileOf([3])], {}, { into: tableId, mode: 'append' });
const replacedJob = await loadFiles(company, [makeFileOf([4, 5, 6])], {}, { into: tableId, mode: 'replace' });
const earlierJobIds = [createdJob, appendedJob, replacedJob].map(({ _id: id }) => id);
await queryDatabase(company, (database) => database.query(SCHEMA_3_ROLLBACK_SQL));
await runSql('UPDATE managed_databases SET migrations_version = 3 WHERE company_id = ?', company.id);

describe('uploads that were loaded before uploads could be undone', () => {
  const readReason = ({ status, body }: Awaited<ReturnType<typeof undoJob>>) =>
    status === 200 ? 'undone' : `${status} ${body.details?.reason}`;
  const listLoads = async () =>
    (await expectSuccess(createTableClient(company.as, tableId).loads())).records as Record<string, unknown>[];
  const listUndoable = async () =>
    (await listLoads()).map(({ job_id: jobId, undoable: isUndoable }) => [jobId, isUndoable] as [string, boolean]);
  const readNumbers = async () => (await readRows(company, tableId)).map(({ n }) => n);

  it('are listed with their counts and times, and cannot be undone', async () => {
    const records = await listLoads();
    expect(records).toHaveLength(3);
    expect(
      records.map(({ mode, row_count, inserted, updated, undoable: isUndoable }) => [
        mode,
        row_count,
        inserted,
        updated,
        isUndoable,
      ]),
    ).toEqual([
      ['replace', 3, 3, 0, false],
      ['append', 1, 1, 0, false],
      ['create', 2, 2, 0, false],
    ]);
    for (const { loaded_at, loaded_by } of records)
      expect([Date.parse(loaded_at as string) > Date.now() - 600_000, loaded_by]).toEqual([true, expect.any(String)]);
    for (const id of earlierJobIds) expect(readReason(await undoJob(company, id))).toBe('409 earlier_version');
    expect(await readNumbers()).toEqual([4, 5, 6]);
  });

  it('still cannot be undone after later uploads, which can be undone', async () => {
    const { _id: laterJobId } = await loadFiles(company, [makeFileOf([7])], {}, { into: tableId, mode: 'append' });
    expect(await listUndoable()).toEqual([[laterJobId, true], ...earlierJobIds.toReversed().map((id) => [id, false])]);
    for (const id of earlierJobIds) expect(readReason(await undoJob(company, id))).toBe('409 earlier_version');
    expect(readReason(await undoJob(company, laterJobId))).toBe('undone');
    expect(await readNumbers()).toEqual([4, 5, 6]);
    const { _id: replacingJobId } = await loadFiles(company, [makeFileOf([8])], {}, { into: tableId, mode: 'replace' });
    expect(readReason(await undoJob(company, replacingJobId))).toBe('undone');
    expect(await readNumbers()).toEqual([4, 5, 6]);
    for (const id of earlierJobIds) expect(readReason(await undoJob(company, id))).toBe('409 earlier_version');
  });

  it('prevent the undo of an earlier upload when an old version loads them during a deployment', async () => {
    const { _id: newJobId } = await loadFiles(company, [makeFileOf([9])], {}, { into: tableId, mode: 'append' });
    const { _id: oldVersionJobId } = await loadFiles(
      company,
      [makeFileOf([10])],
      {},
      { into: tableId, mode: 'append' },
    );
    await queryDatabase(company, (database) =>
      database.execute(
        'UPDATE console.upload_jobs SET load_number = NULL, loaded_at = NULL, added_rows = NULL, result = NULL WHERE id = $1',
        [oldVersionJobId],
      ),
    );
    expect((await listUndoable()).slice(0, 2)).toEqual([
      [oldVersionJobId, false],
      [newJobId, false],
    ]);
    expect(readReason(await undoJob(company, oldVersionJobId))).toBe('409 earlier_version');
    expect(readReason(await undoJob(company, newJobId))).toBe('409 later_load');
    expect(await readNumbers()).toEqual([4, 5, 6, 9, 10]);
  });
});
