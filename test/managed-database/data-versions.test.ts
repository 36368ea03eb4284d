import { env } from 'cloudflare:test';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { openControlDb } from '../../src/db/client.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/kernel/clock.ts';
import { DataVersions, type ResultSource, UNKNOWN_TABLES } from '../../src/modules/managed-database/data-versions.ts';
import {
  beginDataChange,
  endDataChange,
  ensureDatabase,
  selectDataState,
} from '../../src/modules/managed-database/store.ts';

const db = openControlDb(env.CONTROL_DB);
const TABLES = ['a', 'b', 'it\'s "c"'];
let createdCount = 0;

const aDatabase = async (): Promise<string> => {
  createdCount += 1;
  const company = `company-${createdCount}`;
  await ensureDatabase(db, { id: company, companyId: company, now: 0 });
  return company;
};

async function versionsOf(company: string, now: number): Promise<DataVersions> {
  const [row] = await selectDataState(db, company);
  if (!row) throw new Error('There is no such database.');
  return new DataVersions(row, now);
}

/** What the version before this one does where it announces a change, and where that is over. */
const former = {
  begin: (company: string, now: number) =>
    env.CONTROL_DB.prepare(
      `update managed_databases set data_version = data_version + 1,
       data_changes = iif(data_changes_until > ?, data_changes, 0) + 1, data_changes_until = ? where company_id = ?`,
    )
      .bind(now, now + HOUR_MS, company)
      .run(),
  end: (company: string) =>
    env.CONTROL_DB.prepare('update managed_databases set data_changes = max(data_changes - 1, 0) where company_id = ?')
      .bind(company)
      .run(),
};

let company: string;
beforeAll(async () => {
  company = await aDatabase();
});

describe('a cached result of a company’s data', () => {
  /** A change in the model: of which tables, and whether it may still be committed. */
  interface Change {
    id: string;
    tables: readonly string[];
    at: number;
    isOver: boolean;
    order: number;
  }

  const tables = fc.oneof(fc.subarray(TABLES, { minLength: 1 }), fc.constant([...UNKNOWN_TABLES]));
  const step = fc.oneof(
    fc.record({ does: fc.constant('begin' as const), tables }),
    fc.record({ does: fc.constant('end' as const), which: fc.nat(10) }),
    fc.record({ does: fc.constant('wait' as const), minutes: fc.integer({ min: 1, max: 40 }) }),
    fc.record({ does: fc.constant('read' as const), tables }),
  );

  it('is current exactly until one of its tables is changed, whether changes end, overlap or expire', {
    timeout: 120_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const own = await aDatabase();
        let now = 1_000_000;
        const changes: Change[] = [];
        const results: { of: ResultSource; order: number }[] = [];
        const touches = (change: Change, read: readonly string[]) =>
          [change.tables, read].some((names) => names.includes('*')) ||
          change.tables.some((table) => read.includes(table));
        const isOpen = ({ isOver, at }: Change) => !isOver && at + HOUR_MS > now;
        for (const [order, each] of steps.entries()) {
          if (each.does === 'wait') now += each.minutes * MINUTE_MS;
          if (each.does === 'begin') {
            const id = `change-${order}`;
            await beginDataChange(db, own, { id, tables: each.tables, now, until: now + HOUR_MS });
            changes.push({ id, tables: each.tables, at: now, isOver: false, order });
          }
          const ended = each.does === 'end' ? changes[each.which] : undefined;
          if (ended && !ended.isOver) {
            await endDataChange(db, own, ended.id);
            ended.isOver = true;
          }
          const versions = await versionsOf(own, now);
          if (each.does === 'read') {
            const of = versions.readVersions(each.tables);
            expect(of === null).toBe(changes.some((change) => isOpen(change) && touches(change, each.tables)));
            if (of) results.push({ of, order });
          }
          for (const { of, order: readAt } of results) {
            const isStale = changes.some(
              (change) => touches(change, of.tables) && (change.order > readAt || isOpen(change)),
            );
            expect([steps, of, versions.isCurrent(of)]).toEqual([steps, of, !isStale]);
          }
        }
      }),
      { numRuns: 25 },
    );
  });

  it('is no longer current when its table is not among the latest 100 that were changed', async () => {
    const names = Array.from({ length: 130 }, (_, n) => `table_${n}`);
    const read = (await versionsOf(company, 0)).readVersions(['untouched']) as ResultSource;
    for (const [n, name] of names.entries()) {
      await beginDataChange(db, company, { id: `${n}`, tables: [name], now: 0, until: HOUR_MS });
      await endDataChange(db, company, `${n}`);
    }
    const versions = await versionsOf(company, 0);
    const isCurrent = (table: string) => versions.isCurrent(versions.readVersions([table]) as ResultSource);
    expect(names.every(isCurrent)).toBe(true);
    // It is not known any more whether it was among those that were changed.
    expect(versions.isCurrent(read)).toBe(false);
    const row = await env.CONTROL_DB.prepare('select changed_tables from managed_databases where company_id = ?')
      .bind(company)
      .first<{ changed_tables: string }>();
    expect(Object.keys(JSON.parse(row?.changed_tables ?? '{}'))).toHaveLength(101);
  });

  it('is not current after a change by the previous version of the Worker, which names no table', async () => {
    const own = await aDatabase();
    const read = async (now: number) => (await versionsOf(own, now)).readVersions(['a']);
    const before = (await read(0)) as ResultSource;
    await former.begin(own, 0);
    expect(await read(0)).toBeNull();
    expect((await versionsOf(own, 0)).isCurrent(before)).toBe(false);
    await former.end(own);
    const after = (await read(0)) as ResultSource;
    expect((await versionsOf(own, 0)).isCurrent(after)).toBe(true);
    // One that is under way stays so, whatever this version announces, and for its own hour.
    await former.begin(own, 0);
    await beginDataChange(db, own, { id: 'b', tables: ['b'], now: 1, until: 1 + HOUR_MS });
    await endDataChange(db, own, 'b');
    expect((await versionsOf(own, 2)).isCurrent(after)).toBe(false);
    expect(await read(HOUR_MS - 1)).toBeNull();
    expect(await read(HOUR_MS + 1)).not.toBeNull();
  });
});
