import { beforeAll, describe, expect, it } from 'vitest';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import type { Mail } from '../../src/platform/mail.ts';
import { addContextMember, CONTEXTS_PATH, createShareContext, makeDashboardGrant } from '../share-portal/support.ts';
import type { ApiResponse } from '../support/api.ts';
import { advanceClock, resetClock, runScheduled, stopClockAt } from '../support/clock.ts';
import { type Company, createAllowedUser, createProvisionedCompany } from '../support/companies.ts';
import { EMAIL, readNewestMail } from '../support/mail.ts';
import { runSql, selectRow } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import { deliverMessage } from '../uploads/support.ts';
import { createSalesTable, makeParameter, postDashboard, postVisualization } from '../visualizations/support.ts';
import {
  countMailsTo,
  createSchedule,
  createTestQueue,
  deliverTestMessages,
  recordConsent,
  runDueSchedules,
  runScheduleNow,
  SCHEDULES_PATH,
  toChangeableFields,
} from './support.ts';

type CreatedResource = ApiResponse['body'];
/** A mail as passed to Cloudflare's mail binding, with its attachments. */
type BoundMail = Mail & {
  attachments?: { filename: string; type: string; disposition: string; content: Uint8Array }[];
};

let company: Company;
let salesVisualization: CreatedResource;
let total: CreatedResource;
let dashboard: CreatedResource;
let owner: { user_id: string };

beforeAll(async () => {
  company = await createProvisionedCompany();
  await createSalesTable(company);
  const regionParameter = makeParameter('region', 'multi_select');
  const whereClause = '[[WHERE region = ANY({{region}})]]';
  salesVisualization = await postVisualization(
    company.as,
    `SELECT region, amount, day FROM sales ${whereClause} ORDER BY day`,
    {
      name: 'All sales',
      parameters: [regionParameter],
      chart: { type: 'table' },
    },
  );
  total = await postVisualization(company.as, `SELECT sum(amount) AS total FROM sales ${whereClause}`, {
    name: 'Total',
    parameters: [regionParameter],
    chart: { type: 'number' },
  });
  const filters = [{ slug: 'region', label: 'Region', kind: 'multi_select' }];
  dashboard = await postDashboard(company.as, [total, salesVisualization], { filters });
  owner = { user_id: company.owner.id };
});

const HOUR_MS = 60 * 60 * 1000;
const readSchedule = async ({ _id }: CreatedResource): Promise<CreatedResource> =>
  expectSuccess(company.as.get(`${SCHEDULES_PATH}/${_id}`));
const readNewest = (email: string): BoundMail => readNewestMail(email) as BoundMail;

let addressCount = 0;
/** Returns a new address that is a member of a new context of the dashboard. */
async function createMember(
  policies: unknown[] = [],
  attributes: object = {},
  sharedDashboard = dashboard,
): Promise<{ email: string; contextId: string; memberId: string }> {
  const email = `address-${++addressCount}@${company.slug}.test`;
  await recordConsent(company, email);
  const { id } = await createShareContext(company, [makeDashboardGrant(sharedDashboard._id, policies)]);
  const member = await addContextMember(company.as, id, { member_type: 'external_email', email, attributes });
  return { email, contextId: id, memberId: member.id };
}

describe('a scheduled mail', () => {
  it('has the numbers and the first rows of each widget, and is sent to each recipient once', async () => {
    const reader = await createAllowedUser(company, { can: ['dashboards:get'] });
    const { email } = await createMember();
    const schedule = await createSchedule(company.as, dashboard, {
      name: 'Sales of the day',
      recipients: [owner, { user_id: reader.id }, { email }],
    });
    const { last_run } = await runScheduleNow(company.as, schedule._id);
    expect(last_run).toMatchObject({ kind: 'manual', status: 'done', sent: 3, skipped: 0, failed: 0, problems: [] });
    for (const to of [company.owner.email, reader.email, email]) {
      const { subject, text, html } = readNewest(to);
      expect(subject).toMatch(/^Sales of the day: Company/);
      expect(text).toContain('TOTAL\n210\n');
      expect(text).toMatch(/ALL SALES\nregion {2}amount {2}day\n-+ {2}-+ {2}-+\nnorth {7}10 {2}Jan 1, 2024\n/);
      expect(html).toContain('>210</td>');
      expect(html).toMatch(/<th scope="col" align="right" style="[^"]*">amount<\/th>/);
      expect(html).not.toMatch(/<style|<script|<link|<img|url\(|background=/);
    }
    expect(readNewest(company.owner.email).text).toMatch(/^Hello Olga Owner,/);
    expect(readNewest(email).text).toMatch(/^Hello there,/);
  });

  it('shows years where a line chart shows years, and days in a table', async () => {
    const createYearChart = (type: string) =>
      postVisualization(
        company.as,
        `SELECT d::date AS d, 1 AS n FROM (VALUES ('2023-01-01'), ('2024-01-01')) AS t(d)`,
        {
          name: type,
          chart: { type },
        },
      );
    const target = await postDashboard(company.as, [await createYearChart('line'), await createYearChart('table')]);
    const schedule = await createSchedule(company.as, target, { recipients: [owner] });
    await runScheduleNow(company.as, schedule._id);
    const { text } = readNewest(company.owner.email);
    expect(text).toMatch(/LINE\nd {5}n\n-+ {2}-+\n2023 {2}1\n2024 {2}1\n/);
    expect(text).toMatch(/TABLE\nd {12}n\n-+ {2}-+\nJan 1, 2023 {2}1\n/);
  });

  it('is in the language and the colours of the company', async () => {
    const spanishCompany = await createProvisionedCompany();
    await expectSuccess(spanishCompany.as.put('/v1/company/settings', { json: { locale: 'es' } }));
    await expectSuccess(
      spanishCompany.as.put('/v1/company/branding', {
        json: { name: 'Aves', primary_color: '#ffd166', background: '#101820', text_color: '#f4f4f4' },
      }),
    );
    const chart = await postVisualization(
      spanishCompany.as,
      `SELECT 1234567.5 AS n, DATE '2026-05-06' AS d, true AS b`,
      {
        chart: { type: 'table' },
      },
    );
    const schedule = await createSchedule(spanishCompany.as, chart, {
      recipients: [{ user_id: spanishCompany.owner.id }],
      time_zone: 'Europe/Madrid',
    });
    await runScheduleNow(spanishCompany.as, schedule._id);
    const { text, html, subject } = readNewest(spanishCompany.owner.email);
    expect(subject).toBe('Every morning — Aves');
    expect(text).toMatch(/^Hola, Olga Owner:/);
    expect(text).toContain('1.234.567,5  6 may 2026  Sí');
    expect(text).toMatch(
      /Este es «Every morning» de Aves, con los datos del \d+ de \w+ de \d{4}(, | a las )\d+:\d\d (CET|CEST|GMT\+[12])\./,
    );
    expect(html).toContain('<html lang="es">');
    expect(html).toContain('background-color: #101820');
  });

  it('says which rows and columns it leaves out, and which widgets failed', async () => {
    const manyColumns = await postVisualization(
      company.as,
      `SELECT n, n AS a, n AS b, n AS c, n AS d, n AS e, n AS f, n AS g FROM generate_series(1, 25) AS n`,
      { name: 'Many' },
    );
    const emptyWidget = await postVisualization(company.as, 'SELECT 1 AS one WHERE false', { name: 'Empty' });
    const failingWidget = await postVisualization(company.as, 'SELECT 1 / (1 - 1) AS one', { name: 'Failing' });
    const hostileWidget = await postVisualization(company.as, `SELECT '<img src=x onerror=alert(1)>' AS "<b>"`, {
      name: '<i>Hostile</i>',
    });
    const target = await postDashboard(company.as, [manyColumns, emptyWidget, failingWidget, hostileWidget]);
    const schedule = await createSchedule(company.as, target, { recipients: [owner] });
    expect((await runScheduleNow(company.as, schedule._id)).last_run).toMatchObject({ sent: 1, status: 'done' });
    const { text, html } = readNewest(company.owner.email);
    expect(text).toMatch(/MANY\n[\s\S]*10 {2}10 {2}10 {2}10 {2}10 {2}10\n15 more rows\.\n2 more columns\./);
    expect(text).toContain('EMPTY\nNo rows.');
    expect(text).toContain('FAILING\nThis could not be computed.');
    expect(text).not.toContain('division');
    expect(html).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(html).not.toMatch(/<img|<i>|<b>/);
  });

  it.each(['summary', 'csv'])('shows a user nothing of a widget that is denied to them: %s', async (format) => {
    const [hidden, shown] = [
      await postVisualization(company.as, 'SELECT 1 AS one', { name: 'Hidden', chart: { type: 'table' } }),
      await postVisualization(company.as, 'SELECT 2 AS two', { name: 'Shown', chart: { type: 'bar' } }),
    ];
    const target = await postDashboard(company.as, [hidden, shown]);
    const people = [];
    for (const action of ['visualizations:get', 'visualizations:execute']) {
      const deniedArns = [`arn:svc:visualizations::${company.id}:visualization/${hidden._id}`];
      people.push(await createAllowedUser(company, { can: ['dashboards:get'], denied: [action], deniedArns }));
    }
    const recipients = people.map(({ id }) => ({ user_id: id }));
    const schedule = await createSchedule(company.as, target, { recipients, format });
    expect((await runScheduleNow(company.as, schedule._id)).last_run).toMatchObject({ sent: 2, status: 'done' });
    for (const { email } of people) {
      const { text, html, attachments = [] } = readNewest(email);
      expect(`${text}${html}`).not.toMatch(/hidden|may not see/i);
      expect(`${text}${attachments.map(({ filename }) => filename)}`).toMatch(/shown/i);
    }
  });

  it('stays short enough for mail clients, whatever it shows', async () => {
    const wideSql = `SELECT ${Array.from({ length: 6 }, (_, at) => `repeat('ä<', 400) AS "c${at}"`).join(', ')} FROM generate_series(1, 50)`;
    const charts = [];
    for (let at = 0; at < 8; at += 1) charts.push(await postVisualization(company.as, wideSql, { name: `Wide ${at}` }));
    const schedule = await createSchedule(company.as, await postDashboard(company.as, charts), { recipients: [owner] });
    await runScheduleNow(company.as, schedule._id);
    const { html, text } = readNewest(company.owner.email);
    expect(new TextEncoder().encode(html).length).toBeLessThan(102_000);
    expect(text).toMatch(/Not in this mail, which would be too long: .*Wide 7\./);
    expect(html).toContain('Unsubscribe</a>');
  });

  it('uses the parameters of the schedule', async () => {
    const schedule = await createSchedule(company.as, dashboard, {
      recipients: [owner],
      parameters: { region: ['north'] },
    });
    await runScheduleNow(company.as, schedule._id);
    expect(readNewest(company.owner.email).text).toContain('TOTAL\n30\n');
  });
});

describe('a file attached to a scheduled mail', () => {
  it.each([
    ['csv', 'text/csv; charset=utf-8'],
    ['xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ])('is made for each table of a dashboard: %s', async (format, type) => {
    const schedule = await createSchedule(company.as, dashboard, { recipients: [owner], format });
    await runScheduleNow(company.as, schedule._id);
    const { attachments = [], text } = readNewest(company.owner.email);
    expect(attachments.map(({ filename, disposition, type: is }) => [filename, disposition, is])).toEqual([
      [`All sales.${format}`, 'attachment', type],
    ]);
    expect(text).toContain(`Attached: All sales.${format}.`);
    const [file] = attachments;
    if (format === 'csv')
      expect(new TextDecoder().decode(file?.content)).toMatch(/^region,amount,day\r\nnorth,10,2024-01-01\r\n/);
    else expect(new TextDecoder().decode(file?.content.slice(0, 2))).toBe('PK');
  });

  it('is created for each widget if no widget is a table, under different file names', async () => {
    const formulaWidget = await postVisualization(company.as, `SELECT '=1+1' AS formula`, {
      name: 'Same/name',
      chart: { type: 'bar' },
    });
    const sameNameWidget = await postVisualization(company.as, 'SELECT 2 AS two', {
      name: 'Same/name',
      slug: 'same-name-again',
      chart: { type: 'bar' },
    });
    const schedule = await createSchedule(
      company.as,
      await postDashboard(company.as, [formulaWidget, sameNameWidget]),
      {
        recipients: [owner],
        format: 'csv',
      },
    );
    await runScheduleNow(company.as, schedule._id);
    const { attachments = [] } = readNewest(company.owner.email);
    expect(attachments.map(({ filename }) => filename)).toEqual(['Same_name.csv', 'Same_name 2.csv']);
    // A spreadsheet takes no text for a formula.
    expect(new TextDecoder().decode(attachments[0]?.content)).toBe("formula\r\n'=1+1\r\n");
  });

  it('that would be too large or was truncated is replaced by its first rows and a link to all of them', async () => {
    const largeWidget = await postVisualization(
      company.as,
      `SELECT repeat(md5(n::text), 20) AS a FROM generate_series(1, 9000) AS n`,
      { name: 'Large' },
    );
    const longWidget = await postVisualization(company.as, 'SELECT n FROM generate_series(1, 10001) AS n', {
      name: 'Long',
    });
    const target = await postDashboard(company.as, [largeWidget, longWidget]);
    const { email, contextId } = await createMember([], {}, target);
    const json = { share_type: 'link', share_context_id: contextId, embed_options: { allow_downloads: true } };
    await expectSuccess(company.as.post(`/api/v1/dashboards/${target._id}/shares`, { json }));
    const schedule = await createSchedule(company.as, target, { recipients: [owner, { email }], format: 'csv' });
    const { last_run } = await runScheduleNow(company.as, schedule._id);
    expect(last_run).toMatchObject({ status: 'done', sent: 2, problems: ['files_too_large'] });
    for (const [to, address] of [
      [company.owner.email, /^https:\/\/console\.test$/],
      [email, new RegExp(`/portal/${company.slug}$`)],
    ] as const) {
      const { attachments = [], text, html } = readNewest(to);
      expect(attachments.map(({ filename }) => filename)).toEqual(['Long.csv']);
      expect(text).toContain('LARGE\na\n-');
      expect(text).toContain('LONG\nThe file has the first rows only.');
      const [, link] = /3\.5 MiB together: Large\.\nSee all of it: (\S+)\n/.exec(text) ?? [];
      expect(link).toMatch(address);
      expect(html).toContain(`<a href="${link}" style="color: inherit">See all of it</a>`);
    }
  });

  it('is sent to outsiders only if they may download', async () => {
    const { email, contextId } = await createMember();
    const schedule = await createSchedule(company.as, dashboard, { recipients: [{ email }], format: 'csv' });
    await runScheduleNow(company.as, schedule._id);
    const first = readNewest(email);
    expect([
      first.attachments,
      first.text.includes('TOTAL\n210\n'),
      first.text.includes('here is the summary'),
    ]).toEqual([undefined, true, true]);
    const json = { share_type: 'link', share_context_id: contextId, embed_options: { allow_downloads: true } };
    await expectSuccess(company.as.post(`/api/v1/dashboards/${dashboard._id}/shares`, { json }));
    await runScheduleNow(company.as, schedule._id);
    expect(readNewest(email).attachments?.map(({ filename }) => filename)).toEqual(['All sales.csv']);
  });
});

describe('the content that a recipient of a scheduled mail gets', () => {
  it('depends on what they may see at that moment, not on what the creator may see', async () => {
    const { id, email } = await createAllowedUser(company, {
      can: ['visualizations:execute'],
      on: [`arn:svc:visualizations::${company.id}:visualization/${salesVisualization._id}`],
    });
    const allowedSchedule = await createSchedule(company.as, salesVisualization, { recipients: [{ user_id: id }] });
    const deniedSchedule = await createSchedule(company.as, total, { recipients: [{ user_id: id }, owner] });
    expect((await runScheduleNow(company.as, deniedSchedule._id)).last_run).toMatchObject({
      status: 'done',
      sent: 1,
      skipped: 1,
      problems: ['not_allowed'],
    });
    expect(countMailsTo(email)).toBe(0);
    await runScheduleNow(company.as, allowedSchedule._id);
    expect(countMailsTo(email)).toBe(1);
    await expectSuccess(company.as.post(`/v1/users/${id}/deactivate`));
    expect((await runScheduleNow(company.as, allowedSchedule._id)).last_run).toMatchObject({
      status: 'done',
      sent: 0,
      skipped: 1,
      problems: ['left'],
    });
    expect(countMailsTo(email)).toBe(1);
  });

  it('is restricted by the policies, shares and attributes of their context', async () => {
    const makePolicy = (allowed_values: string[]) => ({
      filter_slug: 'region',
      filter_kind: 'multi_select',
      mode: 'locked',
      allowed_values,
    });
    const northMember = await createMember([makePolicy(['north'])]);
    const bothMember = await createMember([makePolicy(['north', 'south'])]);
    const json = {
      share_type: 'link',
      share_context_id: bothMember.contextId,
      share_filter_policies: [makePolicy(['south', 'east'])],
    };
    await expectSuccess(company.as.post(`/api/v1/dashboards/${dashboard._id}/shares`, { json }));
    const attributeDashboard = await postDashboard(company.as, [total], {
      filters: [{ slug: 'region', label: 'Region', kind: 'multi_select', viewer_attribute: 'region' }],
    });
    const eastMember = await createMember([], { region: 'east' }, attributeDashboard);
    const memberWithoutRegion = await createMember([], { region: [] }, attributeDashboard);
    const schedule = await createSchedule(company.as, dashboard, {
      recipients: [owner, { email: northMember.email }, { email: bothMember.email }],
    });
    await runScheduleNow(company.as, schedule._id);
    expect(
      [company.owner.email, northMember.email, bothMember.email].map(
        (to) => /TOTAL\n(\d+)/.exec(readNewest(to).text)?.[1],
      ),
    ).toEqual(['210', '30', '120']);
    expect(readNewest(northMember.email).text).not.toContain('south');
    const attributeSchedule = await createSchedule(company.as, attributeDashboard, {
      recipients: [{ email: eastMember.email }],
    });
    await runScheduleNow(company.as, attributeSchedule._id);
    expect(readNewest(eastMember.email).text).toContain('TOTAL\n60\n');
    // Who lacks the attribute is refused, at once and later.
    const refusedChange = await company.as.put(`${SCHEDULES_PATH}/${attributeSchedule._id}`, {
      json: { recipients: [{ email: memberWithoutRegion.email }] },
    });
    expect(refusedChange.status).toBe(422);
  });

  it('is empty once their membership or the grant ends', async () => {
    const { email, contextId, memberId } = await createMember();
    const other = await createMember();
    const schedule = await createSchedule(company.as, dashboard, { recipients: [{ email }, { email: other.email }] });
    await expectSuccess(company.as.delete(`${CONTEXTS_PATH}/${contextId}/members/${memberId}`));
    await expectSuccess(company.as.put(`${CONTEXTS_PATH}/${other.contextId}/grants`, { json: { grants: [] } }));
    expect((await runScheduleNow(company.as, schedule._id)).last_run).toMatchObject({
      sent: 0,
      skipped: 2,
      problems: ['not_allowed'],
    });
    expect([countMailsTo(email), countMailsTo(other.email)]).toEqual([0, 0]);
  });

  it('is computed once for recipients who may see the same rows', async () => {
    const readers = [await createMember(), await createMember()].map(({ email }) => ({ email }));
    const randomWidget = await postVisualization(company.as, 'SELECT random() AS n', {
      name: 'Random',
      chart: { type: 'number', options: { decimals: 12 } },
    });
    const target = await postDashboard(company.as, [randomWidget]);
    for (const { email } of readers) await createShareContext(company, [makeDashboardGrant(target._id)], [email]);
    const schedule = await createSchedule(company.as, target, { recipients: [...readers, owner] });
    await runScheduleNow(company.as, schedule._id);
    const numbers = [...readers.map(({ email }) => email), company.owner.email].map(
      (to) => /RANDOM\n([\d.,]+)/.exec(readNewest(to).text)?.[1],
    );
    expect(numbers[0]).toMatch(/^0\.\d{12}$/);
    expect(new Set(numbers).size).toBe(1);
  });
});

describe('an occurrence of a schedule', () => {
  it('is sent at its time, once, and followed by the next occurrence', async () => {
    const { email, id } = await createAllowedUser(company, { can: ['dashboards:get'] });
    const schedule = await createSchedule(company.as, dashboard, {
      recipients: [{ user_id: id }],
      cron: '*/30 * * * *',
      time_zone: 'UTC',
    });
    const dueAt = Date.parse(schedule.next_run_at);
    stopClockAt(dueAt - 1);
    await runDueSchedules();
    expect(countMailsTo(email)).toBe(0);
    // However many were missed, it comes once.
    stopClockAt(dueAt + HOUR_MS);
    await runDueSchedules();
    await runDueSchedules();
    expect(countMailsTo(email)).toBe(1);
    resetClock();
    const { last_run, next_run_at } = await readSchedule(schedule);
    expect(last_run).toMatchObject({ kind: 'scheduled', status: 'done', occurrence: schedule.next_run_at, sent: 1 });
    expect(Date.parse(next_run_at)).toBe(dueAt + 1.5 * HOUR_MS);
    stopClockAt(dueAt + 1.5 * HOUR_MS);
    await runDueSchedules();
    expect(countMailsTo(email)).toBe(2);
  });

  it('is sent although the whole schedule is saved again just before its time', async () => {
    const { email, id } = await createAllowedUser(company, { can: ['dashboards:get'] });
    const schedule = await createSchedule(company.as, dashboard, { recipients: [{ user_id: id }] });
    const dueAt = Date.now() - 1000;
    await runSql('update schedules set next_run_at = ? where id = ?', dueAt, schedule._id);
    const json = { ...toChangeableFields(await readSchedule(schedule)), name: 'Renamed' };
    await expectSuccess(company.as.put(`${SCHEDULES_PATH}/${schedule._id}`, { json }));
    await runDueSchedules();
    expect(countMailsTo(email)).toBe(1);
    const { last_run, next_run_at } = await readSchedule(schedule);
    expect([Date.parse(last_run.occurrence), next_run_at]).toEqual([dueAt, schedule.next_run_at]);
  });

  it('is not sent if the schedule is paused or deleted meanwhile', async () => {
    const { email, id } = await createAllowedUser(company, { can: ['dashboards:get'] });
    const createTestSchedule = (json: object = {}) =>
      createSchedule(company.as, dashboard, { recipients: [{ user_id: id }], cron: '*/30 * * * *', ...json });
    await createTestSchedule({ status: 'paused' });
    const pausedSchedule = await createTestSchedule();
    const deletedSchedule = await createTestSchedule();
    const dueAt = Date.parse(deletedSchedule.next_run_at);
    stopClockAt(dueAt);
    const queue = createTestQueue();
    await runScheduled(queue.env);
    resetClock();
    await expectSuccess(company.as.put(`${SCHEDULES_PATH}/${pausedSchedule._id}`, { json: { status: 'paused' } }));
    await expectSuccess(company.as.delete(`${SCHEDULES_PATH}/${deletedSchedule._id}`));
    stopClockAt(dueAt + 1);
    await deliverTestMessages(queue);
    expect(countMailsTo(email)).toBe(0);
    resetClock();
    // By hand it can be run all the same.
    await runScheduleNow(company.as, pausedSchedule._id);
    expect(countMailsTo(email)).toBe(1);
  });

  it('is sent once although its queue message is delivered twice', async () => {
    const { email, id } = await createAllowedUser(company, { can: ['dashboards:get'] });
    const schedule = await createSchedule(company.as, dashboard, { recipients: [{ user_id: id }] });
    const queue = createTestQueue();
    await expectSuccess(company.as.post(`${SCHEDULES_PATH}/${schedule._id}/run`, { env: queue.env }));
    const [message] = queue.messages as [JobMessage];
    // In whatever order they come: those that decide are brought about in failures.test.ts.
    await Promise.all([
      deliverMessage(message, { ...queue.env, EMAIL }),
      deliverMessage(message, { ...queue.env, EMAIL }),
    ]);
    advanceClock(10 * 60_000);
    await deliverMessage(message, { ...queue.env, EMAIL });
    expect(countMailsTo(email)).toBe(1);
    expect(await selectRow('select status, attempt from schedule_runs where schedule_id = ?', schedule._id)).toEqual({
      status: 'ended',
      attempt: 1,
    });
  });
});
