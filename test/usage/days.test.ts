import { env } from 'cloudflare:test';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { keepAuditRecord } from '../../src/jobs/audit-queue.ts';
import { newId } from '../../src/kernel/ids.ts';
import type { AuditRecord } from '../../src/logs/audit-record.ts';
import { appendToLog } from '../../src/modules/company-log/service.ts';
import { aPublished } from '../data-api/support.ts';
import { createSchedule, runNow } from '../schedules/support.ts';
import { aSalesDashboard, aShare, linkOf } from '../shares/support.ts';
import { call, createCaller } from '../support/api.ts';
import { resetClock, stopClockAt } from '../support/clock.ts';
import { must, signed } from '../support/signed.ts';
import { aCompany, aProvisionedCompany, type Company } from '../support/worlds.ts';
import { createHeldQueue, loadFiles, makeFile, runSweep } from '../uploads/support.ts';
import { aVisualization, DASHBOARDS_PATH, someSales, VISUALIZATIONS_PATH } from '../visualizations/support.ts';
import { operator, pathOf, today } from './support.ts';

const DAY = 24 * 3_600_000;
const usage = (company: { id: string }, query = '') => operator.get(`${pathOf(company)}/usage${query}`);
const dateOf = (at: number) => new Date(at).toISOString().slice(0, 10);

/** What comes on top of `before`, once it is that. */
const moreThan = (company: Company, before: Record<string, number>, more: Record<string, number>) =>
  expect
    .poll(
      async () => {
        const now = await today(company);
        return Object.fromEntries(Object.keys(more).map((name) => [name, now[name] - (before[name] ?? 0)]));
      },
      { timeout: 10_000 },
    )
    .toEqual(more);

afterEach(resetClock);

describe('the usage of an organization', () => {
  it('has every day of the period, also those without usage', async () => {
    const company = await aCompany();
    const { days } = await must(usage(company, '?from=2024-02-27&to=2024-03-01'));
    const nothing = { requests: 0, executions: 0, rows_loaded: 0, mails: 0, model_calls: 0 };
    expect(days).toEqual(
      ['2024-02-27', '2024-02-28', '2024-02-29', '2024-03-01'].map((date) => ({ date, ...nothing })),
    );
    const { days: standard } = await must(usage(company));
    expect([standard.length, standard.at(-1).date]).toEqual([30, dateOf(Date.now())]);
    expect((await must(usage(company, '?from=2024-01-01&to=2024-12-31'))).days).toHaveLength(366);
  });

  it.each([
    ['?from=2024-03-01&to=2024-02-29', 'from'],
    ['?from=2023-01-01&to=2024-01-02', 'from'],
    ['?from=2024-02-30', 'from'],
    ['?to=yesterday', 'to'],
    ['?day=2024-02-01', 'day'],
  ])('refuses %s', async (query, field) => {
    const company = await aCompany();
    const { status, body } = await usage(company, query);
    expect([status, body.details[0].field]).toEqual([422, field]);
  });

  it('is the same for the operator and administrators of the company', async () => {
    const company = await aCompany();
    expect((await usage({ id: 'none' })).status).toBe(404);
    const { days } = await must(company.as.get('/v1/company/usage?from=2024-01-01&to=2024-01-02'));
    expect(days).toEqual((await must(usage(company, '?from=2024-01-01&to=2024-01-02'))).days);
  });

  it('counts each authenticated request once, if it was not rate-limited', async () => {
    const company = await aCompany();
    const other = await aCompany();
    await moreThan(company, {}, { requests: 0 });
    await company.as.get('/v1/users');
    await company.as.get('/v1/users/none');
    await signed(company.apiKey).get('/users');
    await createCaller('wrong').get('/v1/users');
    await operator.get(pathOf(company));
    await call('POST', '/v1/auth/login', {
      json: { company_slug: company.slug, email: 'x@y.test', password: 'wrong' },
    });
    await moreThan(company, {}, { requests: 3 });
    expect(await today(other)).toMatchObject({ requests: 0 });
    const limited = { RATE_LIMIT_PRINCIPAL_PER_MINUTE: '1' };
    expect((await company.as.get('/v1/users', { env: limited })).status).toBe(429);
    await company.as.get('/v1/users');
    await moreThan(company, {}, { requests: 4 });
  });

  it('counts an audit record once that is delivered twice, on the day of its request', async () => {
    const company = await aCompany();
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
    await keepAuditRecord(env, record);
    await appendToLog(env, { audit: [record, record] });
    await appendToLog(env, { audit: [{ ...record, id: newId(at + 1), occurredAt: at + 1 }] });
    const { days } = await must(usage(company, '?from=2024-05-05&to=2024-05-06'));
    expect(days).toMatchObject([
      { requests: 1, executions: 2 },
      { requests: 1, executions: 2 },
    ]);
  });
});

describe('the usage counts of executions and loaded rows', () => {
  let company: Company;
  beforeAll(async () => {
    company = await aProvisionedCompany();
    await someSales(company);
  });

  it('include every execution of SQL for users, viewers and schedules, failed or not', async () => {
    const before = await today(company);
    const good = await aVisualization(company.as, 'SELECT count(*) FROM sales');
    const bad = await aVisualization(company.as, 'SELECT 1 / (count(*) - 6) FROM sales');
    await must(company.as.post(`${VISUALIZATIONS_PATH}/${good._id}/execute`, { json: {} }));
    await company.as.post(`${VISUALIZATIONS_PATH}/${bad._id}/execute`, { json: {} });
    await moreThan(company, before, { executions: 2 });
    const { dashboard } = await aSalesDashboard(company);
    const widgets = (await must(company.as.get(`${DASHBOARDS_PATH}/${dashboard._id}`))).layout.length;
    const { token } = await aShare(company, dashboard._id);
    await must(linkOf(token).execute());
    await moreThan(company, before, { executions: 2 + widgets });
    const schedule = await createSchedule(company.as, good, { recipients: [{ user_id: company.owner.id }] });
    await runNow(company.as, schedule._id);
    await moreThan(company, before, { executions: 3 + widgets, mails: 1 });
    await must(operator.put(`${pathOf(company)}/quotas`, { json: { mails_per_day: (await today(company)).mails } }));
    const { last_run } = await runNow(company.as, schedule._id);
    expect(last_run).toMatchObject({ status: 'done', sent: 0, skipped: 1, problems: ['quota_exceeded'] });
    await must(operator.put(`${pathOf(company)}/quotas`, { json: {} }));
  });

  it('include executions of the Data API, but not cached results', async () => {
    const before = await today(company);
    const { slug } = await aPublished(company, 'SELECT 1 AS one');
    for (let time = 0; time < 2; time += 1) await must(signed(company.apiKey).get(`/data/${slug}`));
    await moreThan(company, before, { executions: 1 });
  });

  it('include rows of upload jobs that are deleted since', async () => {
    expect((await loadFiles(company, [makeFile('a.csv', 'a\n1\n2\n3\n')], { display_name: 'three' })).status).toBe(
      'done',
    );
    await loadFiles(company, [makeFile('b.csv', 'a\n1\n')], { display_name: 'three' }).catch(() => undefined);
    expect(await today(company)).toMatchObject({ rows_loaded: 3 });
    await runSweep(createHeldQueue(), 91 * DAY);
    expect(await today(company)).toMatchObject({ rows_loaded: 3 });
    stopClockAt(Date.now() + DAY);
    expect((await must(usage(company))).days.slice(-2)).toMatchObject([{ rows_loaded: 3 }, { rows_loaded: 0 }]);
  });
});
