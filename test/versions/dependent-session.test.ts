import { env } from 'cloudflare:test';
import { eq, like } from 'drizzle-orm';
import { beforeEach, describe, expect, it } from 'vitest';
import { commit, openControlDb, recordReads, runDependentWrite } from '../../src/db/client.ts';
import { visualizations } from '../../src/db/schema/visualizations.ts';
import { type Company, createOwnedCompany } from '../support/companies.ts';
import { expectSuccess } from '../support/signed.ts';
import { postVisualization, VISUALIZATIONS_PATH } from '../visualizations/support.ts';

let company: Company;
let ids: string[];
beforeEach(async () => {
  company = await createOwnedCompany();
  ids = [];
  for (const name of ['One', 'Two', 'Two']) ids.push((await postVisualization(company.as, 'SELECT 1', { name }))._id);
});

const renameVisualization = (id: string | undefined, name: string) =>
  expectSuccess(company.as.put(`${VISUALIZATIONS_PATH}/${id}`, { json: { name } }));
const otherVersionError = new Error('It is another version.');

/** Reads names of visualizations, so that writes of `work` afterwards depend on the rows that were read. */
async function dependOnNames<T>(
  condition: 'all' | 'Three',
  work: (db: ReturnType<typeof openControlDb>) => Promise<T>,
) {
  const db = openControlDb(env.CONTROL_DB);
  const { name } = visualizations;
  const nameCondition = condition === 'all' ? eq(visualizations.companyId, company.id) : like(name, condition);
  const { reads } = await recordReads(db, async () => db.select({ name }).from(visualizations).where(nameCondition));
  const failRenewal = () => Promise.reject(otherVersionError);
  return runDependentWrite(db, { reads, readAgain: failRenewal }, () => work(db));
}

const writeDescription = (db: ReturnType<typeof openControlDb>, id = ids[2] as string, description = 'Written') =>
  commit(db, {
    written: db
      .update(visualizations)
      .set({ description })
      .where(eq(visualizations.id, id))
      .returning({ id: visualizations.id }),
  });
const readDescription = async (id = ids[2]) =>
  (await company.as.get(`${VISUALIZATIONS_PATH}/${id}`)).body.description === 'Written';

describe('a database write that depends on rows that were read', () => {
  it('is applied while all of those rows are unchanged', async () => {
    expect(await dependOnNames('all', (db) => writeDescription(db))).toEqual({ written: [{ id: ids[2] }] });
    expect(await dependOnNames('Three', (db) => writeDescription(db))).toEqual({ written: [{ id: ids[2] }] });
  });

  it.each([
    ['changed', () => renameVisualization(ids[0], 'Other')],
    ['made equal to another', () => renameVisualization(ids[0], 'Two')],
    ['made different from another', () => renameVisualization(ids[1], 'Three')],
    ['joined by another', () => postVisualization(company.as, 'SELECT 1', { name: 'Four' })],
    ['deleted', () => company.as.delete(`${VISUALIZATIONS_PATH}/${ids[0]}`)],
  ])('is not applied when one of those rows was %s', async (_, changeRow) => {
    const dependentWrite = dependOnNames('all', async (db) => {
      await changeRow();
      return writeDescription(db);
    });
    await expect(dependentWrite).rejects.toThrow(otherVersionError);
    expect(await readDescription()).toBe(false);
  });

  it('is not applied when a read that found no row would now find a row', async () => {
    const dependentWrite = dependOnNames('Three', async (db) => {
      await renameVisualization(ids[0], 'Three');
      return writeDescription(db);
    });
    await expect(dependentWrite).rejects.toThrow(otherVersionError);
    expect(await readDescription()).toBe(false);
  });

  it('still depends on them after a write that changed none of them, but not after its own change of one', async () => {
    const secondWrite = dependOnNames('all', async (db) => {
      await writeDescription(db, 'nobody');
      await renameVisualization(ids[0], 'Other');
      return writeDescription(db);
    });
    await expect(secondWrite).rejects.toThrow(otherVersionError);
    const { name } = visualizations;
    await dependOnNames('all', async (db) => {
      await commit(db, {
        renamed: db
          .update(visualizations)
          .set({ [name.name]: 'Mine' })
          .where(eq(visualizations.id, ids[0] as string)),
      });
      await renameVisualization(ids[0], 'Theirs');
      await writeDescription(db);
    });
    expect(await readDescription()).toBe(true);
  });

  it('does not depend on rows that were written along with the reads, and is applied', async () => {
    const db = openControlDb(env.CONTROL_DB);
    const { name } = visualizations;
    const { reads } = await recordReads(db, async () => {
      await writeDescription(db);
      await db
        .update(visualizations)
        .set({ description: 'Measured' })
        .where(eq(visualizations.id, ids[1] as string));
      return db.select({ name }).from(visualizations).where(eq(visualizations.companyId, company.id));
    });
    expect(reads.map(({ rows }) => rows.flat().toSorted())).toEqual([['One', 'Two', 'Two']]);
    const failRenewal = () => Promise.reject(otherVersionError);
    await runDependentWrite(db, { reads, readAgain: failRenewal }, () => writeDescription(db, ids[0]));
    expect(await Promise.all([ids[0], ids[2]].map(readDescription))).toEqual([true, true]);
    expect((await company.as.get(`${VISUALIZATIONS_PATH}/${ids[1]}`)).body.description).toBe('Measured');
  });

  it('is refused outside a unit of work', async () => {
    const outsideWrite = dependOnNames('all', async (db) => {
      await db
        .update(visualizations)
        .set({ description: 'Written' })
        .where(eq(visualizations.id, ids[2] as string));
    });
    await expect(outsideWrite).rejects.toThrow();
    expect(await readDescription()).toBe(false);
  });
});
