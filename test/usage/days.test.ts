import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { storeAuditRecord } from '../../src/jobs/audit-queue.ts';
import { newId } from '../../src/kernel/ids.ts';
import type { AuditRecord } from '../../src/logs/audit-record.ts';
import { appendToLog } from '../../src/modules/company-log/service.ts';
import { publishSql } from '../data-api/support.ts';
import { createSchedule, runScheduleNow } from '../schedules/support.ts';
import { createSalesDashboard, createShare, createShareClient } from '../shares/support.ts';
import { callApi, createCaller } from '../support/api.ts';
import { stopClockAt } from '../support/clock.ts';
import { type Company, createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import { createSignedCaller, expectSuccess } from '../support/signed.ts';
import { createTestQueue, loadFiles, makeFile, runSweep } from '../uploads/support.ts';
import {
  createSalesTable,
  DASHBOARDS_PATH,
  postVisualization,
  VISUALIZATIONS_PATH,
} from '../visualizations/support.ts';
import { makePath, operator, readTodaysUsage } from './support.ts';

const DAY_MS = 24 * 3_600_000;
const requestUsage = (company: { id: string }, query = '') => operator.get(`${makePath(company)}/usage${query}`);
const formatDate = (at: number) => new Date(at).toISOString().slice(0, 10);

/** Waits until usage has grown by exactly `expectedGrowth` over `usageBefore`. */
const expectGrowth = (company: Company, usageBefore: Record<string, number>, expectedGrowth: Record<string, number>) =>
  expect
    .poll(
      async () => {
        const currentUsage = await readTodaysUsage(company);
        return Object.fromEntries(
          Object.keys(expectedGrowth).map((name) => [name, currentUsage[name] - (usageBefore[name] ?? 0)]),
        );
      },
      { timeout: 10_000 },
    )
    .toEqual(expectedGrowth);

describe('the usage of an organization', () => {
  it('includes every day of the period, also days without usage', async () => {
    const company = await createOwnedCompany();
    const { days } = await expectSuccess(requestUsage(company, '?from=2024-02-27&to=2024-03-01'));
    const zeroUsage = { requests: 0, executions: 0, rows_loaded: 0, mails: 0, model_calls: 0 };
    expect(days).toEqual(
      ['2024-02-27', '2024-02-28', '2024-02-29', '2024-03-01'].map((date) => ({ date, ...zeroUsage })),
    );
    const { days: defaultDays } = await expectSuccess(requestUsage(company));
    expect([defaultDays.length, defaultDays.at(-1).date]).toEqual([30, formatDate(Date.now())]);
    expect((await expectSuccess(requestUsage(company, '?from=2024-01-01&to=2024-12-31'))).days).toHaveLength(366);
  });

  it.each([
    ['?from=2024-03-01&to=2024-02-29', 'from'],
    ['?from=2023-01-01&to=2024-01-02', 'from'],
    ['?from=2024-02-30', 'from'],
    ['?to=yesterday', 'to'],
    ['?day=2024-02-01', 'day'],
  ])('refuses %s', async (query, field) => {
    const company = await createOwnedCompany();
    const { status, body } = await requestUsage(company, query);
    expect([status, body.details[0].field]).toEqual([422, field]);
  });

  it('is the same for the operator and for administrators of the company', async () => {
    const company = await createOwnedCompany();
    expect((await requestUsage({ id: 'none' })).status).toBe(404);
    const { days } = await expectSuccess(company.as.get('/v1/company/usage?from=2024-01-01&to=2024-01-02'));
    expect(days).toEqual((await expectSuccess(requestUsage(company, '?from=2024-01-01&to=2024-01-02'))).days);
  });

  it('counts each authenticated request once, if it was not rate-limited', async () => {
    const company = await createOwnedCompany();
    const other = await createOwnedCompany();
    await expectGrowth(company, {}, { requests: 0 });
    await company.as.get('/v1/users');
    await company.as.get('/v1/users/none');
    await createSignedCaller(company.apiKey).get('/users');
    await createCaller('wrong').get('/v1/users');
    await operator.get(makePath(company));
    await callApi('POST', '/v1/auth/login', {
      json: { company_slug: company.slug, email: 'x@y.test', password: 'wrong' },
    });
    await expectGrowth(company, {}, { requests: 3 });
    expect(await readTodaysUsage(other)).toMatchObject({ requests: 0 });
    const limitedEnv = { RATE_LIMIT_PRINCIPAL_PER_MINUTE: '1' };
    expect((await company.as.get('/v1/users', { env: limitedEnv })).status).toBe(429);
    await company.as.get('/v1/users');
    await expectGrowth(company, {}, { requests: 4 });
  });

  it('counts an audit record that is delivered twice once, on the day of its request', async () => {
    const company = await createOwnedCompany();
    const at = Date.parse('2024-05-05T23:59:59.999Z');
    const record: AuditRecord = {
      id: newId(at),
      correlationId: 'c',
      occurredAt: at,
      companyId: company.id,
      principalType: 'user',
      principalId: 'u',
      credential: null,
      method: 'GET',
      route: null,
      action: null,
      resourceId: null,
      status: 200,
      ip: null,
      durationMs: 1,
      count: 1,
      used: { requests: 1, executions: 2 },
    };
    await storeAuditRecord(env, record);
    await appendToLog(env, { audit: [record, record] });
    await appendToLog(env, { audit: [{ ...record, id: newId(at + 1), occurredAt: at + 1 }] });
    const { days } = await expectSuccess(requestUsage(company, '?from=2024-05-05&to=2024-05-06'));
    expect(days).toMatchObject([
      { requests: 1, executions: 2 },
      { requests: 1, executions: 2 },
    ]);
  });
});

const company = await createProvisionedCompany();
await createSalesTable(company);

describe('the usage counts of executions and loaded rows', () => {
  it('include every execution of SQL for users, viewers and schedules, failed or not', async () => {
    const usageBefore = await readTodaysUsage(company);
    const validChart = await postVisualization(company.as, 'SELECT count(*) FROM sales');
    const failingChart = await postVisualization(company.as, 'SELECT 1 / (count(*) - 6) FROM sales');
    await expectSuccess(company.as.post(`${VISUALIZATIONS_PATH}/${validChart._id}/execute`, { json: {} }));
    await company.as.post(`${VISUALIZATIONS_PATH}/${failingChart._id}/execute`, { json: {} });
    await expectGrowth(company, usageBefore, { executions: 2 });
    const { dashboard } = await createSalesDashboard(company);
    const widgetCount = (await expectSuccess(company.as.get(`${DASHBOARDS_PATH}/${dashboard._id}`))).layout.length;
    const { token } = await createShare(company, dashboard._id);
    await expectSuccess(createShareClient(token).execute());
    await expectGrowth(company, usageBefore, { executions: 2 + widgetCount });
    const schedule = await createSchedule(company.as, validChart, { recipients: [{ user_id: company.owner.id }] });
    await runScheduleNow(company.as, schedule._id);
    await expectGrowth(company, usageBefore, { executions: 3 + widgetCount, mails: 1 });
    await expectSuccess(
      operator.put(`${makePath(company)}/quotas`, { json: { mails_per_day: (await readTodaysUsage(company)).mails } }),
    );
    const { last_run } = await runScheduleNow(company.as, schedule._id);
    expect(last_run).toMatchObject({ status: 'done', sent: 0, skipped: 1, problems: ['quota_exceeded'] });
    await expectSuccess(operator.put(`${makePath(company)}/quotas`, { json: {} }));
  });

  it('include executions of the Data API, but not cached results', async () => {
    const usageBefore = await readTodaysUsage(company);
    const { slug } = await publishSql(company, 'SELECT 1 AS one');
    for (let time = 0; time < 2; time += 1)
      await expectSuccess(createSignedCaller(company.apiKey).get(`/data/${slug}`));
    await expectGrowth(company, usageBefore, { executions: 1 });
  });

  it('include rows of upload jobs that have been deleted', async () => {
    expect((await loadFiles(company, [makeFile('a.csv', 'a\n1\n2\n3\n')], { display_name: 'three' })).status).toBe(
      'done',
    );
    await loadFiles(company, [makeFile('b.csv', 'a\n1\n')], { display_name: 'three' }).catch(() => undefined);
    expect(await readTodaysUsage(company)).toMatchObject({ rows_loaded: 3 });
    await runSweep(createTestQueue(), 91 * DAY_MS);
    expect(await readTodaysUsage(company)).toMatchObject({ rows_loaded: 3 });
    stopClockAt(Date.now() + DAY_MS);
    expect((await expectSuccess(requestUsage(company))).days.slice(-2)).toMatchObject([
      { rows_loaded: 3 },
      { rows_loaded: 0 },
    ]);
  });
});
