import { env } from 'cloudflare:test';
import { eq } from 'drizzle-orm';
import { beforeEach, describe, expect, it } from 'vitest';
import { type ControlDb, commit, countChangedRows, openControlDb, rehearse } from '../../src/db/client.ts';
import type { ObservedQueries } from '../../src/db/rehearsing-session.ts';
import { visualizations } from '../../src/db/schema/visualizations.ts';
import { selectRow } from '../support/rival.ts';
import { aCompany } from '../support/worlds.ts';
import { aVisualization } from '../visualizations/support.ts';

let id: string;
beforeEach(async () => {
  id = (await aVisualization((await aCompany()).as, 'SELECT 1', { name: 'As it was' }))._id;
});

const readName = async () =>
  (await selectRow<{ name: string }>('select name from visualizations where id = ?', id))?.name;

const rename = (db: ControlDb) => db.update(visualizations).set({ name: 'Rehearsed' }).where(eq(visualizations.id, id));

/** What is looked at before and after. */
const makeObservedQueries = (): ObservedQueries => ({
  queries: [{ sql: 'select name from visualizations where id = ?', values: [id] }],
  before: null,
  after: null,
});

/** A database that changes the text of a query before it runs. */
const createRewritingDatabase = (changed: (sql: string) => string): D1Database =>
  ({
    withSession(constraint: string) {
      const session = env.CONTROL_DB.withSession(constraint);
      return {
        prepare: (sql: string) => session.prepare(changed(sql)),
        batch: (statements: D1PreparedStatement[]) => session.batch(statements),
        getBookmark: () => session.getBookmark(),
      };
    },
  }) as unknown as D1Database;

describe('a write in a dry run', () => {
  it('changes nothing, and returns what it would have changed', async () => {
    const db = openControlDb(env.CONTROL_DB);
    const seen = makeObservedQueries();
    const { renamed } = await rehearse(db, seen, () => commit(db, { renamed: rename(db) }));
    expect([countChangedRows(renamed), seen.before, seen.after]).toEqual([1, [[['As it was']]], [[['Rehearsed']]]]);
    expect(await readName()).toBe('As it was');
    await commit(db, { renamed: rename(db) });
    expect(await readName()).toBe('Rehearsed');
  });

  it('changes nothing even if the statement that should roll it back does not fail', async () => {
    const db = openControlDb(createRewritingDatabase((sql) => sql.replace("json_extract('{}', ", 'coalesce(null, ')));
    await expect(rehearse(db, makeObservedQueries(), () => commit(db, { renamed: rename(db) }))).rejects.toThrow();
    expect(await readName()).toBe('As it was');
  });

  it('is refused outside of a commit', async () => {
    const db = openControlDb(env.CONTROL_DB);
    await expect(rehearse(db, makeObservedQueries(), async () => rename(db))).rejects.toThrow();
    expect(await readName()).toBe('As it was');
  });

  it('is refused if its statement was prepared before the dry run', async () => {
    const db = openControlDb(env.CONTROL_DB);
    const prepared = db.$client.prepare("update visualizations set name = 'Rehearsed' where id = ?").bind(id);
    await expect(rehearse(db, makeObservedQueries(), () => db.$client.batch([prepared]))).rejects.toThrow(
      'within the rehearsal',
    );
    expect(await readName()).toBe('As it was');
  });
});
