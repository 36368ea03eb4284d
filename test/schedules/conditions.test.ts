import { describe, expect, it } from 'vitest';
import type { Condition } from '../../src/db/schema/schedules.ts';
import { evaluateCondition, hasOrderBy } from '../../src/modules/schedules/condition.ts';
import type { Cell, UserSqlResult } from '../../src/tenant-sql/user-sql.ts';
import { createShareContext, makeDashboardGrant } from '../share-portal/support.ts';
import type { Caller } from '../support/api.ts';
import { createAllowedUser, createProvisionedCompany } from '../support/companies.ts';
import { listMailsTo } from '../support/mail.ts';
import { sendDuringRace } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import { makeParameter, postDashboard, postVisualization, VISUALIZATIONS_PATH } from '../visualizations/support.ts';
import {
  countMailsTo,
  createSchedule,
  createTestQueue,
  deliverTestMessages,
  recordConsent,
  runScheduleNow,
  SCHEDULES_PATH,
  toChangeableFields,
} from './support.ts';

type ColumnType = UserSqlResult['columns'][number]['type'];

const makeResult = (type: ColumnType, ...cells: Cell[]): UserSqlResult => ({
  columns: [{ name: 'x', type }],
  rows: cells.map((cell) => [cell]),
  truncated: false,
});

const evaluateCells = async (type: ColumnType, cells: Cell[], op: Condition['op'], value: Condition['value']) => {
  const verdict = await evaluateCondition({ column: 'x', op, value }, makeResult(type, ...cells), null);
  return verdict === 'undecidable' ? verdict : verdict.isMet;
};

describe('a comparison in the condition of an alert', () => {
  it.each<[ColumnType, Cell[], Condition['op'], Condition['value'], boolean | 'undecidable']>([
    ['integer', [5], 'gt', 4, true],
    ['integer', [5], 'gt', 5, false],
    ['integer', [5], 'gte', 5, true],
    ['integer', [9], 'lt', 10, true],
    ['integer', [5], 'lte', 4, false],
    ['integer', [5], 'eq', 5, true],
    ['integer', [5], 'ne', 5, false],
    // In any row.
    ['integer', [1, 2, 30], 'gt', 20, true],
    ['integer', [5, 6], 'ne', 5, true],
    ['integer', [], 'ne', 5, false],
    ['integer', [], 'lt', 5, false],
    ['integer', [null], 'lt', 5, false],
    ['integer', [null], 'ne', 5, true],
    ['decimal', ['0.10'], 'eq', 0.1, true],
    ['decimal', ['12345678901234567890.5'], 'gt', 1, true],
    ['decimal', [1.5], 'gt', '1.25', true],
    ['integer', ['9007199254740993'], 'gt', '9007199254740992', true],
    ['integer', ['9007199254740993'], 'eq', '9007199254740992', false],
    ['decimal', ['0.10000000000000000001'], 'eq', '0.1', false],
    ['decimal', ['0.10000000000000000001'], 'gt', '0.1', true],
    ['decimal', ['-12345678901234567890.5'], 'lt', '-12345678901234567890.4', true],
    ['decimal', ['-12345678901234567890.5'], 'gte', '-12345678901234567890.4', false],
    ['decimal', ['Infinity'], 'gt', 1e300, true],
    ['decimal', ['NaN'], 'gt', 0, false],
    ['decimal', ['NaN'], 'ne', 0, true],
    ['decimal', [1e-7], 'gt', '0.00000009', true],
    ['decimal', [-0.5], 'lt', 0, true],
    ['decimal', [0], 'eq', '-0.00', true],
    ['integer', [10], 'gt', '9', true],
    ['integer', [5], 'gt', 'many', 'undecidable'],
    ['integer', [5], 'eq', true, 'undecidable'],
    ['text', ['b'], 'gt', 'a', true],
    ['text', ['10'], 'eq', 10, true],
    ['text', ['open', 'closed'], 'eq', 'open', true],
    ['boolean', [true], 'eq', true, true],
    ['boolean', [true, false], 'ne', true, true],
    ['boolean', [true], 'gt', false, 'undecidable'],
    ['boolean', [true], 'eq', 'true', 'undecidable'],
    ['date', ['2026-02-01'], 'gt', '2026-01-31', true],
    ['datetime', ['2026-02-01T10:00:00.000Z'], 'lt', '2026-02-01T08:00:00-03:00', true],
    ['date', ['2026-02-01'], 'gt', 'yesterday', 'undecidable'],
    ['datetime', ['2026-02-01T10:00:00.000001Z'], 'gt', '2026-02-01T10:00:00.000Z', true],
    ['datetime', ['2026-02-01T10:00:00.000001Z'], 'eq', '2026-02-01T10:00:00.000002Z', false],
    ['datetime', ['2026-02-01T10:00:00.000Z'], 'eq', '2026-02-01T10:00', true],
    ['datetime', ['2026-02-01T00:00:00.000Z'], 'eq', '2026-02-01', true],
    ['date', ['2026-02-01'], 'lt', '2026-02-01T00:00:01Z', true],
    ['datetime', ['0099-02-01T00:00:00.000Z'], 'lt', '1999-01-01', true],
    ['datetime', ['infinity'], 'gt', '2026-02-01', false],
    ['date', ['2026-02-01'], 'gt', '1', 'undecidable'],
    ['datetime', ['2026-02-01T10:00:00.000Z'], 'gt', '1', 'undecidable'],
    ['date', ['2026-02-01'], 'gt', '2026-02-30', 'undecidable'],
    ['date', ['2026-02-01'], 'gt', 'Feb 1, 2026', 'undecidable'],
  ])('is evaluated on a column of type %s with the values %j: %s %j', async (type, cells, op, value, expected) => {
    expect(await evaluateCells(type, cells, op, value)).toBe(expected);
  });

  it('cannot be evaluated on a column that the result does not have', async () => {
    expect(await evaluateCondition({ column: 'y', op: 'gt', value: 1 }, makeResult('integer', 5), null)).toBe(
      'undecidable',
    );
    expect(await evaluateCondition({ column: 'y', op: 'changed', value: null }, makeResult('integer', 5), null)).toBe(
      'undecidable',
    );
  });
});

describe('the condition that a column has changed', () => {
  const evaluateChange = async (previousValue: string | null, ...cells: Cell[]) => {
    const verdict = await evaluateCondition(
      { column: 'x', op: 'changed', value: null },
      makeResult('text', ...cells),
      previousValue,
    );
    if (verdict === 'undecidable') throw new Error('It should be decided.');
    return verdict as { isMet: boolean; value: string };
  };

  it('holds after any change of its values, but not after a change of their order, nor on the first run', async () => {
    const firstVerdict = await evaluateChange(null, 'a', 'b');
    expect(firstVerdict.isMet).toBe(false);
    expect((await evaluateChange(firstVerdict.value, 'b', 'a')).isMet).toBe(false);
    for (const cells of [['a'], ['a', 'c'], ['a', 'b', 'b'], [], ['a', null], ['a,b']]) {
      expect((await evaluateChange(firstVerdict.value, ...cells)).isMet).toBe(true);
    }
  });
});

describe('the condition that a column of a truncated result has changed', () => {
  const truncatedResult = { ...makeResult('integer', 1, 2), truncated: true };
  const changeCondition = { column: 'x', op: 'changed', value: null } as const;

  it('cannot be evaluated if the query has no ORDER BY', async () => {
    expect(await evaluateCondition(changeCondition, truncatedResult, 'before', hasOrderBy('SELECT x FROM t'))).toBe(
      'undecidable',
    );
    expect(
      await evaluateCondition(changeCondition, truncatedResult, 'before', hasOrderBy('SELECT x FROM t ORDER BY x')),
    ).toMatchObject({
      isMet: true,
    });
    // A comparison holds in any row of those that there are.
    expect(await evaluateCondition({ column: 'x', op: 'gt', value: 1 }, truncatedResult, null)).toMatchObject({
      isMet: true,
    });
  });

  it.each([
    ['SELECT x FROM t ORDER BY x', true],
    ['select x from t order -- so\n by x limit 5', true],
    ['(SELECT x FROM t ORDER BY x)', false],
    ['SELECT sum(x) OVER (ORDER BY y) FROM t', false],
    [`SELECT 'order by' AS x, "order by" FROM t -- order by x`, false],
    ['SELECT x FROM (SELECT x FROM t ORDER BY x) s', false],
  ])('requires an ORDER BY of the outermost query: %s', (sql, expected) => {
    expect(hasOrderBy(sql)).toBe(expected);
  });
});

const company = await createProvisionedCompany();
const stockVisualization = await postVisualization(company.as, 'SELECT 5 AS left_over', { name: 'Stock' });

describe('an alert by mail', () => {
  const createReader = () => createAllowedUser(company, { can: ['visualizations:execute', 'dashboards:get'] });
  const putSql = (text: string) =>
    expectSuccess(company.as.put(`${VISUALIZATIONS_PATH}/${stockVisualization._id}`, { json: { sql: text } }));
  const makeCondition = (op: string, value: unknown = null, column = 'left_over') => ({
    condition: { visualization_id: stockVisualization._id, column, op, value },
  });

  it('is sent only if its condition holds', async () => {
    await putSql('SELECT 5 AS left_over');
    const { id, email } = await createReader();
    const schedule = await createSchedule(company.as, stockVisualization, {
      recipients: [{ user_id: id }],
      ...makeCondition('lt', 5),
    });
    expect((await runScheduleNow(company.as, schedule._id)).last_run).toMatchObject({
      status: 'done',
      sent: 0,
      skipped: 1,
      problems: ['condition_not_met'],
    });
    await putSql('SELECT 4 AS left_over');
    expect((await runScheduleNow(company.as, schedule._id)).last_run).toMatchObject({ status: 'done', sent: 1 });
    expect(countMailsTo(email)).toBe(1);
    expect(listMailsTo(email)[0]?.text).toContain('The condition of “Every morning” of Company');
  });

  it('about a changed value is sent once for each change', async () => {
    await putSql('SELECT 1 AS left_over');
    const { id, email } = await createReader();
    const schedule = await createSchedule(company.as, stockVisualization, {
      recipients: [{ user_id: id }],
      ...makeCondition('changed'),
    });
    const runSchedule = async () => {
      await runScheduleNow(company.as, schedule._id);
      return countMailsTo(email);
    };
    expect([await runSchedule(), await runSchedule()]).toEqual([0, 0]);
    // Whoever sends back what they read changes nothing.
    const path = `${SCHEDULES_PATH}/${schedule._id}`;
    await expectSuccess(company.as.put(path, { json: toChangeableFields(await expectSuccess(company.as.get(path))) }));
    await putSql('SELECT 2 AS left_over');
    expect([await runSchedule(), await runSchedule()]).toEqual([1, 1]);
    // With another condition there is nothing to compare with.
    await expectSuccess(company.as.put(path, { json: makeCondition('changed', null, 'other') }));
    await putSql('SELECT 9 AS other');
    expect(await runSchedule()).toBe(1);
  });

  it('is not compared with the value of a condition or target that was changed during its run', async () => {
    const otherVisualization = await postVisualization(company.as, 'SELECT 7 AS left_over, 8 AS other');
    const changes = [
      makeCondition('changed', null, 'other'),
      {
        target_id: otherVisualization._id,
        condition: { ...makeCondition('changed').condition, visualization_id: otherVisualization._id },
      },
    ];
    for (const change of changes) {
      await putSql('SELECT 1 AS left_over, 2 AS other');
      const { id, email } = await createReader();
      const schedule = await createSchedule(company.as, stockVisualization, {
        recipients: [{ user_id: id }],
        ...makeCondition('changed'),
      });
      const path = `${SCHEDULES_PATH}/${schedule._id}`;
      const queue = createTestQueue();
      await expectSuccess(company.as.post(`${path}/run`, { env: queue.env }));
      await sendDuringRace(
        /^update "schedule_recipients" set "last_value"/,
        () => expectSuccess(company.as.put(path, { json: change })),
        (changedEnv) => deliverTestMessages(queue, changedEnv),
      );
      expect((await runScheduleNow(company.as, schedule._id)).last_run).toMatchObject({
        problems: ['condition_not_met'],
      });
      expect(countMailsTo(email)).toBe(0);
    }
  });

  it('is decided for each recipient by the rows that the recipient may see', async () => {
    const rows = await postVisualization(
      company.as,
      `SELECT amount FROM (VALUES ('north', 1), ('south', 100)) AS t(region, amount) [[WHERE region = ANY({{region}})]]`,
      {
        parameters: [makeParameter('region', 'multi_select')],
      },
    );
    const filters = [{ slug: 'region', label: 'Region', kind: 'multi_select' }];
    const target = await postDashboard(company.as, [rows], { filters });
    const lockedFilter = {
      filter_slug: 'region',
      filter_kind: 'multi_select',
      mode: 'locked',
      allowed_values: ['north'],
    };
    const outsider = `north@${company.slug}.test`;
    await createShareContext(company, [makeDashboardGrant(target._id, [lockedFilter])], [outsider]);
    await recordConsent(company, outsider);
    const { id, email } = await createReader();
    const schedule = await createSchedule(company.as, target, {
      recipients: [{ email: outsider }, { user_id: id }],
      condition: { visualization_id: rows._id, column: 'amount', op: 'gt', value: 50 },
    });
    expect((await runScheduleNow(company.as, schedule._id)).last_run).toMatchObject({ sent: 1, skipped: 1 });
    // That no mail came tells the outsider nothing of the south.
    expect([countMailsTo(outsider), countMailsTo(email)]).toEqual([0, 1]);
  });

  it('shows its last run only to users who may see the data of its condition', async () => {
    await putSql('SELECT 4 AS left_over');
    const target = await postDashboard(company.as, [stockVisualization]);
    const schedule = await createSchedule(company.as, target, {
      recipients: [{ user_id: company.owner.id }],
      ...makeCondition('lt', 5),
    });
    const { last_run } = await runScheduleNow(company.as, schedule._id);
    expect(last_run.sent).toBe(1);
    const denialOptions = {
      denied: ['visualizations:execute'],
      deniedArns: [`arn:svc:visualizations::${company.id}:visualization/${stockVisualization._id}`],
    };
    const permittedUser = await createAllowedUser(company, { can: ['dashboards:get', 'dashboards:schedule'] });
    const otherUsers = [
      await createAllowedUser(company, { can: ['dashboards:schedule'] }),
      await createAllowedUser(company, { can: ['dashboards:*'], ...denialOptions }),
    ];
    const path = `${SCHEDULES_PATH}/${schedule._id}`;
    const readLastRuns = async ({ as }: { as: Caller }) => {
      const { records } = await expectSuccess(as.get(`${SCHEDULES_PATH}?per_page=100`));
      const listedSchedule = records.find(({ _id }: { _id: string }) => _id === schedule._id);
      const readSchedule = await expectSuccess(as.get(path));
      return [listedSchedule.last_run, readSchedule.last_run];
    };
    expect(await readLastRuns(permittedUser)).toEqual([last_run, last_run]);
    for (const other of otherUsers) {
      expect(await readLastRuns(other)).toEqual([null, null]);
      const pausedSchedule = await expectSuccess(other.as.put(path, { json: { status: 'paused' } }));
      expect(pausedSchedule.last_run).toBe(null);
    }
    // What was told of the run that had a condition is told to nobody else once the schedule has none.
    await expectSuccess(company.as.put(path, { json: { condition: null } }));
    for (const other of otherUsers) expect(await readLastRuns(other)).toEqual([null, null]);
    expect(await readLastRuns(permittedUser)).toEqual([last_run, last_run]);
  });

  it('fails if the column of its condition is gone or has another type', async () => {
    await putSql(`SELECT 'few' AS left_over`);
    const schedule = await createSchedule(company.as, stockVisualization, {
      recipients: [{ user_id: company.owner.id }],
      ...makeCondition('lt', 5),
    });
    await runScheduleNow(company.as, schedule._id);
    await putSql('SELECT 5 AS something');
    const { last_run } = await runScheduleNow(company.as, schedule._id);
    expect(last_run).toMatchObject({ status: 'failed', failed: 1, problems: ['condition_failed'] });
  });
});
