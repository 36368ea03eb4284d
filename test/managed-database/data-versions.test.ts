import { env } from 'cloudflare:test';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openControlDb } from '../../src/db/client.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/kernel/clock.ts';
import { DataVersions, type ResultSource, UNKNOWN_TABLES } from '../../src/modules/managed-database/data-versions.ts';
import {
  beginDataChange,
  endDataChange,
  ensureDatabase,
  selectDataState,
} from '../../src/modules/managed-database/store.ts';
import { runSql, selectRow } from '../support/race.ts';

const db = openControlDb(env.CONTROL_DB);
const TABLE_NAMES = ['a', 'b', 'it\'s "c"'];
let createdCount = 0;

const createDatabase = async (): Promise<string> => {
  const company = `company-${++createdCount}`;
  await ensureDatabase(db, { id: company, companyId: company, now: 0 });
  return company;
};

async function readDataVersions(company: string, now: number): Promise<DataVersions> {
  const [row] = await selectDataState(db, company);
  if (!row) throw new Error('There is no such database.');
  return new DataVersions(row, now);
}

/** The updates with which the previous version of the Worker announces a change, and ends it. */
const PREVIOUS_VERSION = {
  begin: (company: string, now: number) =>
    runSql(
      `update managed_databases set data_version = data_version + 1,
       data_changes = iif(data_changes_until > ?, data_changes, 0) + 1, data_changes_until = ? where company_id = ?`,
      now,
      now + HOUR_MS,
      company,
    ),
  end: (company: string) =>
    runSql('update managed_databases set data_changes = max(data_changes - 1, 0) where company_id = ?', company),
};

const company = await createDatabase();

describe('a cached result of a company’s data', () => {
  /** A change in the model: its tables, and whether it has ended. */
  interface ModelChange {
    id: string;
    tables: readonly string[];
    beganAt: number;
    isOver: boolean;
    stepIndex: number;
  }

  const tables = fc.oneof(fc.subarray(TABLE_NAMES, { minLength: 1 }), fc.constant([...UNKNOWN_TABLES]));
  const arbitraryStep = fc.oneof(
    fc.record({ does: fc.constant('begin' as const), tables }),
    fc.record({ does: fc.constant('end' as const), which: fc.nat(10) }),
    fc.record({ does: fc.constant('wait' as const), minutes: fc.integer({ min: 1, max: 40 }) }),
    fc.record({ does: fc.constant('read' as const), tables }),
  );

  it('is current exactly until one of its tables is changed, whether changes end, overlap or expire', {
    timeout: 120_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(arbitraryStep, { minLength: 5, maxLength: 40 }), async (steps) => {
        const ownDatabase = await createDatabase();
        let now = 1_000_000;
        const changes: ModelChange[] = [];
        const results: { source: ResultSource; stepIndex: number }[] = [];
        const isAffected = (change: ModelChange, readTables: readonly string[]) =>
          [change.tables, readTables].some((names) => names.includes('*')) ||
          change.tables.some((table) => readTables.includes(table));
        const isOpen = ({ isOver, beganAt }: ModelChange) => !isOver && beganAt + HOUR_MS > now;
        for (const [order, each] of steps.entries()) {
          if (each.does === 'wait') now += each.minutes * MINUTE_MS;
          if (each.does === 'begin') {
            const id = `change-${order}`;
            await beginDataChange(db, ownDatabase, { id, tables: each.tables, now, until: now + HOUR_MS });
            changes.push({ id, tables: each.tables, beganAt: now, isOver: false, stepIndex: order });
          }
          const endedChange = each.does === 'end' ? changes[each.which] : undefined;
          if (endedChange && !endedChange.isOver) {
            await endDataChange(db, ownDatabase, endedChange.id);
            endedChange.isOver = true;
          }
          const versions = await readDataVersions(ownDatabase, now);
          if (each.does === 'read') {
            const source = versions.readVersions(each.tables);
            expect(source === null).toBe(changes.some((change) => isOpen(change) && isAffected(change, each.tables)));
            if (source) results.push({ source, stepIndex: order });
          }
          for (const { source, stepIndex: readOrder } of results) {
            const isStale = changes.some(
              (change) => isAffected(change, source.tables) && (change.stepIndex > readOrder || isOpen(change)),
            );
            expect([steps, source, versions.isCurrent(source)]).toEqual([steps, source, !isStale]);
          }
        }
      }),
      { numRuns: 25 },
    );
  });

  it('is no longer current when its table is not among the latest 100 changed tables', async () => {
    const names = Array.from({ length: 130 }, (_, n) => `table_${n}`);
    const untouchedSource = (await readDataVersions(company, 0)).readVersions(['untouched']) as ResultSource;
    for (const [n, name] of names.entries()) {
      await beginDataChange(db, company, { id: `${n}`, tables: [name], now: 0, until: HOUR_MS });
      await endDataChange(db, company, `${n}`);
    }
    const versions = await readDataVersions(company, 0);
    const isCurrent = (table: string) => versions.isCurrent(versions.readVersions([table]) as ResultSource);
    expect(names.every(isCurrent)).toBe(true);
    // It is not known any more whether it was among those that were changed.
    expect(versions.isCurrent(untouchedSource)).toBe(false);
    const row = await selectRow<{ changed_tables: string }>(
      'select changed_tables from managed_databases where company_id = ?',
      company,
    );
    expect(Object.keys(JSON.parse(row?.changed_tables ?? '{}'))).toHaveLength(101);
  });

  it('is not current after a change by the previous version of the Worker, which names no table', async () => {
    const ownDatabase = await createDatabase();
    const readSource = async (now: number) => (await readDataVersions(ownDatabase, now)).readVersions(['a']);
    const sourceBefore = (await readSource(0)) as ResultSource;
    await PREVIOUS_VERSION.begin(ownDatabase, 0);
    expect(await readSource(0)).toBeNull();
    expect((await readDataVersions(ownDatabase, 0)).isCurrent(sourceBefore)).toBe(false);
    await PREVIOUS_VERSION.end(ownDatabase);
    const sourceAfter = (await readSource(0)) as ResultSource;
    expect((await readDataVersions(ownDatabase, 0)).isCurrent(sourceAfter)).toBe(true);
    // One that is under way stays so, whatever this version announces, and for its own hour.
    await PREVIOUS_VERSION.begin(ownDatabase, 0);
    await beginDataChange(db, ownDatabase, { id: 'b', tables: ['b'], now: 1, until: 1 + HOUR_MS });
    await endDataChange(db, ownDatabase, 'b');
    expect((await readDataVersions(ownDatabase, 2)).isCurrent(sourceAfter)).toBe(false);
    expect(await readSource(HOUR_MS - 1)).toBeNull();
    expect(await readSource(HOUR_MS + 1)).not.toBeNull();
  });
});
