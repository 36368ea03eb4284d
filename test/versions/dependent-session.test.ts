import { env } from 'cloudflare:test';
import { eq, like } from 'drizzle-orm';
import { beforeEach, describe, expect, it } from 'vitest';
import { commit, openControlDb, recordReads, runDependentWrite } from '../../src/db/client.ts';
import { visualizations } from '../../src/db/schema/visualizations.ts';
import { must } from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import { aVisualization, VISUALIZATIONS_PATH } from '../visualizations/support.ts';

let company: Company;
let ids: string[];
beforeEach(async () => {
  company = await aCompany();
  ids = [];
  for (const name of ['One', 'Two', 'Two']) ids.push((await aVisualization(company.as, 'SELECT 1', { name }))._id);
});

const rename = (id: string | undefined, name: string) =>
  must(company.as.put(`${VISUALIZATIONS_PATH}/${id}`, { json: { name } }));
const isOther = new Error('It is another version.');

/** Reads names of visualizations; what `work` writes after that depends on them. */
async function dependingOnNames<T>(
  condition: 'all' | 'Three',
  work: (db: ReturnType<typeof openControlDb>) => Promise<T>,
) {
  const db = openControlDb(env.CONTROL_DB);
  const { name } = visualizations;
  const found = condition === 'all' ? eq(visualizations.companyId, company.id) : like(name, condition);
  const { reads } = await recordReads(db, async () => db.select({ name }).from(visualizations).where(found));
  const renew = () => Promise.reject(isOther);
  return runDependentWrite(db, { reads, renew }, () => work(db));
}

const write = (db: ReturnType<typeof openControlDb>, id = ids[2] as string, description = 'Written') =>
  commit(db, {
    written: db
      .update(visualizations)
      .set({ description })
      .where(eq(visualizations.id, id))
      .returning({ id: visualizations.id }),
  });
const writtenTo = async (id = ids[2]) =>
  (await company.as.get(`${VISUALIZATIONS_PATH}/${id}`)).body.description === 'Written';

describe('a database write that depends on rows that were read', () => {
  it('is applied while all of those rows are the same', async () => {
    expect(await dependingOnNames('all', (db) => write(db))).toEqual({ written: [{ id: ids[2] }] });
    expect(await dependingOnNames('Three', (db) => write(db))).toEqual({ written: [{ id: ids[2] }] });
  });

  it.each([
    ['changed', () => rename(ids[0], 'Other')],
    ['made equal to another', () => rename(ids[0], 'Two')],
    ['made different from another', () => rename(ids[1], 'Three')],
    ['joined by another', () => aVisualization(company.as, 'SELECT 1', { name: 'Four' })],
    ['deleted', () => company.as.delete(`${VISUALIZATIONS_PATH}/${ids[0]}`)],
  ])('is not applied when one of those rows was %s', async (_, rival) => {
    const writing = dependingOnNames('all', async (db) => {
      await rival();
      return write(db);
    });
    await expect(writing).rejects.toThrow(isOther);
    expect(await writtenTo()).toBe(false);
  });

  it('is not applied when a read that found nothing would now find a row', async () => {
    const writing = dependingOnNames('Three', async (db) => {
      await rename(ids[0], 'Three');
      return write(db);
    });
    await expect(writing).rejects.toThrow(isOther);
    expect(await writtenTo()).toBe(false);
  });

  it('depends on them still after a write that changed none of them, but not after its own change of one', async () => {
    const second = dependingOnNames('all', async (db) => {
      await write(db, 'nobody');
      await rename(ids[0], 'Other');
      return write(db);
    });
    await expect(second).rejects.toThrow(isOther);
    const { name } = visualizations;
    await dependingOnNames('all', async (db) => {
      await commit(db, {
        renamed: db
          .update(visualizations)
          .set({ [name.name]: 'Mine' })
          .where(eq(visualizations.id, ids[0] as string)),
      });
      await rename(ids[0], 'Theirs');
      await write(db);
    });
    expect(await writtenTo()).toBe(true);
  });

  it('does not depend on what was written along with the reads, which is applied', async () => {
    const db = openControlDb(env.CONTROL_DB);
    const { name } = visualizations;
    const { reads } = await recordReads(db, async () => {
      await write(db);
      await db
        .update(visualizations)
        .set({ description: 'Measured' })
        .where(eq(visualizations.id, ids[1] as string));
      return db.select({ name }).from(visualizations).where(eq(visualizations.companyId, company.id));
    });
    expect(reads.map(({ rows }) => rows.flat().toSorted())).toEqual([['One', 'Two', 'Two']]);
    const renew = () => Promise.reject(isOther);
    await runDependentWrite(db, { reads, renew }, () => write(db, ids[0]));
    expect(await Promise.all([ids[0], ids[2]].map(writtenTo))).toEqual([true, true]);
    expect((await company.as.get(`${VISUALIZATIONS_PATH}/${ids[1]}`)).body.description).toBe('Measured');
  });

  it('is refused outside a unit of work', async () => {
    const alone = dependingOnNames('all', async (db) => {
      await db
        .update(visualizations)
        .set({ description: 'Written' })
        .where(eq(visualizations.id, ids[2] as string));
    });
    await expect(alone).rejects.toThrow();
    expect(await writtenTo()).toBe(false);
  });
});
