import { env } from 'cloudflare:test';
import { eq } from 'drizzle-orm';
import { beforeEach, describe, expect, it } from 'vitest';
import { type ControlDb, commit, countChangedRows, openControlDb, runDryRun } from '../../src/db/client.ts';
import type { ObservedQueries } from '../../src/db/dry-run-session.ts';
import { visualizations } from '../../src/db/schema/visualizations.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { selectRow } from '../support/race.ts';
import { postVisualization } from '../visualizations/support.ts';

let id: string;
beforeEach(async () => {
  id = (await postVisualization((await createOwnedCompany()).as, 'SELECT 1', { name: 'As it was' }))._id;
});

const readStoredName = async () =>
  (await selectRow<{ name: string }>('select name from visualizations where id = ?', id))?.name;

const renameVisualization = (db: ControlDb) =>
  db.update(visualizations).set({ name: 'Rehearsed' }).where(eq(visualizations.id, id));

/** Returns the queries whose results are compared before and after the write. */
const makeObservedQueries = (): ObservedQueries => ({
  queries: [{ sql: 'select name from visualizations where id = ?', values: [id] }],
  rowsBefore: null,
  rowsAfter: null,
});

/** Returns a database that changes the text of a query before it runs. */
const createRewritingDatabase = (changeSql: (sql: string) => string): D1Database =>
  ({
    withSession(constraint: string) {
      const session = env.CONTROL_DB.withSession(constraint);
      return {
        prepare: (sql: string) => session.prepare(changeSql(sql)),
        batch: (statements: D1PreparedStatement[]) => session.batch(statements),
        getBookmark: () => session.getBookmark(),
      };
    },
  }) as unknown as D1Database;

describe('a write in a dry run', () => {
  it('changes nothing, and returns what the write would have changed', async () => {
    const db = openControlDb(env.CONTROL_DB);
    const observedQueries = makeObservedQueries();
    const { renamed } = await runDryRun(db, observedQueries, () => commit(db, { renamed: renameVisualization(db) }));
    expect([countChangedRows(renamed), observedQueries.rowsBefore, observedQueries.rowsAfter]).toEqual([
      1,
      [[['As it was']]],
      [[['Rehearsed']]],
    ]);
    expect(await readStoredName()).toBe('As it was');
    await commit(db, { renamed: renameVisualization(db) });
    expect(await readStoredName()).toBe('Rehearsed');
  });

  it('changes nothing even if the statement that should roll it back does not fail', async () => {
    const db = openControlDb(createRewritingDatabase((sql) => sql.replace("json_extract('{}', ", 'coalesce(null, ')));
    await expect(
      runDryRun(db, makeObservedQueries(), () => commit(db, { renamed: renameVisualization(db) })),
    ).rejects.toThrow();
    expect(await readStoredName()).toBe('As it was');
  });

  it('is refused without `commit`', async () => {
    const db = openControlDb(env.CONTROL_DB);
    await expect(runDryRun(db, makeObservedQueries(), async () => renameVisualization(db))).rejects.toThrow();
    expect(await readStoredName()).toBe('As it was');
  });

  it('is refused if its statement was prepared before the dry run', async () => {
    const db = openControlDb(env.CONTROL_DB);
    const preparedStatement = db.$client.prepare("update visualizations set name = 'Rehearsed' where id = ?").bind(id);
    await expect(runDryRun(db, makeObservedQueries(), () => db.$client.batch([preparedStatement]))).rejects.toThrow(
      'within the rehearsal',
    );
    expect(await readStoredName()).toBe('As it was');
  });
});
