import { env } from 'cloudflare:test';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import type { Mail } from '../../src/platform/mail.ts';
import { aContext, aMember, CONTEXTS_PATH, dashboardGrant } from '../share-portal/support.ts';
import type { ApiResponse } from '../support/api.ts';
import { advanceClock, resetClock, runScheduled, stopClockAt } from '../support/clock.ts';
import { EMAIL, readNewestMail } from '../support/mail.ts';
import { selectRow } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import { aProvisionedCompany, aUser, type Company } from '../support/worlds.ts';
import { deliverMessage } from '../uploads/support.ts';
import { aDashboard, aVisualization, parameter, someSales } from '../visualizations/support.ts';
import {
  countMailsTo,
  createHeldQueue,
  createSchedule,
  deliverHeld,
  recordAgreement,
  runDue,
  runNow,
  SCHEDULES_PATH,
  toChangeable,
} from './support.ts';

type Made = ApiResponse['body'];
/** A mail as Cloudflare's binding takes it. */
type Taken = Mail & { attachments?: { filename: string; type: string; disposition: string; content: Uint8Array }[] };

let company: Company;
let sales: Made;
let total: Made;
let dashboard: Made;
let owner: { user_id: string };

beforeAll(async () => {
  company = await aProvisionedCompany();
  await someSales(company);
  const regions = parameter('region', 'multi_select');
  const where = '[[WHERE region = ANY({{region}})]]';
  sales = await aVisualization(company.as, `SELECT region, amount, day FROM sales ${where} ORDER BY day`, {
    name: 'All sales',
    parameters: [regions],
    chart: { type: 'table' },
  });
  total = await aVisualization(company.as, `SELECT sum(amount) AS total FROM sales ${where}`, {
    name: 'Total',
    parameters: [regions],
    chart: { type: 'number' },
  });
  const filters = [{ slug: 'region', label: 'Region', kind: 'multi_select' }];
  dashboard = await aDashboard(company.as, [total, sales], { filters });
  owner = { user_id: company.owner.id };
});
afterEach(resetClock);

const HOUR = 60 * 60 * 1000;
const readSchedule = async ({ _id }: Made): Promise<Made> => must(company.as.get(`${SCHEDULES_PATH}/${_id}`));
const newest = (email: string): Taken => readNewestMail(email) as Taken;

let addresses = 0;
/** An address that is a member of a new context of the dashboard. */
async function makeAddress(
  policies: unknown[] = [],
  attributes: object = {},
  target = dashboard,
): Promise<{ email: string; contextId: string; memberId: string }> {
  addresses += 1;
  const email = `address-${addresses}@${company.slug}.test`;
  await recordAgreement(company, email);
  const { id } = await aContext(company, [dashboardGrant(target._id, policies)]);
  const member = await aMember(company.as, id, { member_type: 'external_email', email, attributes });
  return { email, contextId: id, memberId: member.id };
}

describe('a scheduled mail', () => {
  it('has the numbers and the first rows of each widget, and is sent to each recipient once', async () => {
    const reader = await aUser(company, { can: ['dashboards:get'] });
    const { email } = await makeAddress();
    const schedule = await createSchedule(company.as, dashboard, {
      name: 'Sales of the day',
      recipients: [owner, { user_id: reader.id }, { email }],
    });
    const { last_run } = await runNow(company.as, schedule._id);
    expect(last_run).toMatchObject({ kind: 'manual', status: 'done', sent: 3, skipped: 0, failed: 0, problems: [] });
    for (const to of [company.owner.email, reader.email, email]) {
      const { subject, text, html } = newest(to);
      expect(subject).toMatch(/^Sales of the day: Company/);
      expect(text).toContain('TOTAL\n210\n');
      expect(text).toMatch(/ALL SALES\nregion {2}amount {2}day\n-+ {2}-+ {2}-+\nnorth {7}10 {2}Jan 1, 2024\n/);
      expect(html).toContain('>210</td>');
      expect(html).toMatch(/<th scope="col" align="right" style="[^"]*">amount<\/th>/);
      expect(html).not.toMatch(/<style|<script|<link|<img|url\(|background=/);
    }
    expect(newest(company.owner.email).text).toMatch(/^Hello Olga Owner,/);
    expect(newest(email).text).toMatch(/^Hello there,/);
  });

  it('shows years where a line chart shows years, and days in a table', async () => {
    const ofYears = (type: string) =>
      aVisualization(company.as, `SELECT d::date AS d, 1 AS n FROM (VALUES ('2023-01-01'), ('2024-01-01')) AS t(d)`, {
        name: type,
        chart: { type },
      });
    const target = await aDashboard(company.as, [await ofYears('line'), await ofYears('table')]);
    const schedule = await createSchedule(company.as, target, { recipients: [owner] });
    await runNow(company.as, schedule._id);
    const { text } = newest(company.owner.email);
    expect(text).toMatch(/LINE\nd {5}n\n-+ {2}-+\n2023 {2}1\n2024 {2}1\n/);
    expect(text).toMatch(/TABLE\nd {12}n\n-+ {2}-+\nJan 1, 2023 {2}1\n/);
  });

  it('is in the language and the colours of the company', async () => {
    const spanish = await aProvisionedCompany();
    await must(spanish.as.put('/v1/company/settings', { json: { locale: 'es' } }));
    await must(
      spanish.as.put('/v1/company/branding', {
        json: { name: 'Aves', primary_color: '#ffd166', background: '#101820', text_color: '#f4f4f4' },
      }),
    );
    const chart = await aVisualization(spanish.as, `SELECT 1234567.5 AS n, DATE '2026-05-06' AS d, true AS b`, {
      chart: { type: 'table' },
    });
    const schedule = await createSchedule(spanish.as, chart, {
      recipients: [{ user_id: spanish.owner.id }],
      time_zone: 'Europe/Madrid',
    });
    await runNow(spanish.as, schedule._id);
    const { text, html, subject } = newest(spanish.owner.email);
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
    const many = await aVisualization(
      company.as,
      `SELECT n, n AS a, n AS b, n AS c, n AS d, n AS e, n AS f, n AS g FROM generate_series(1, 25) AS n`,
      { name: 'Many' },
    );
    const empty = await aVisualization(company.as, 'SELECT 1 AS one WHERE false', { name: 'Empty' });
    const failing = await aVisualization(company.as, 'SELECT 1 / (1 - 1) AS one', { name: 'Failing' });
    const hostile = await aVisualization(company.as, `SELECT '<img src=x onerror=alert(1)>' AS "<b>"`, {
      name: '<i>Hostile</i>',
    });
    const target = await aDashboard(company.as, [many, empty, failing, hostile]);
    const schedule = await createSchedule(company.as, target, { recipients: [owner] });
    expect((await runNow(company.as, schedule._id)).last_run).toMatchObject({ sent: 1, status: 'done' });
    const { text, html } = newest(company.owner.email);
    expect(text).toMatch(/MANY\n[\s\S]*10 {2}10 {2}10 {2}10 {2}10 {2}10\n15 more rows\.\n2 more columns\./);
    expect(text).toContain('EMPTY\nNo rows.');
    expect(text).toContain('FAILING\nThis could not be computed.');
    expect(text).not.toContain('division');
    expect(html).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(html).not.toMatch(/<img|<i>|<b>/);
  });

  it.each(['summary', 'csv'])('tells a user nothing of a widget that is denied to them: %s', async (format) => {
    const [hidden, shown] = [
      await aVisualization(company.as, 'SELECT 1 AS one', { name: 'Hidden', chart: { type: 'table' } }),
      await aVisualization(company.as, 'SELECT 2 AS two', { name: 'Shown', chart: { type: 'bar' } }),
    ];
    const target = await aDashboard(company.as, [hidden, shown]);
    const people = [];
    for (const action of ['visualizations:get', 'visualizations:execute']) {
      const deniedOn = [`arn:svc:visualizations::${company.id}:visualization/${hidden._id}`];
      people.push(await aUser(company, { can: ['dashboards:get'], denied: [action], deniedOn }));
    }
    const recipients = people.map(({ id }) => ({ user_id: id }));
    const schedule = await createSchedule(company.as, target, { recipients, format });
    expect((await runNow(company.as, schedule._id)).last_run).toMatchObject({ sent: 2, status: 'done' });
    for (const { email } of people) {
      const { text, html, attachments = [] } = newest(email);
      expect(`${text}${html}`).not.toMatch(/hidden|may not see/i);
      expect(`${text}${attachments.map(({ filename }) => filename)}`).toMatch(/shown/i);
    }
  });

  it('stays short enough for mail clients, whatever it shows', async () => {
    const wide = `SELECT ${Array.from({ length: 6 }, (_, at) => `repeat('ä<', 400) AS "c${at}"`).join(', ')} FROM generate_series(1, 50)`;
    const charts = [];
    for (let at = 0; at < 8; at += 1) charts.push(await aVisualization(company.as, wide, { name: `Wide ${at}` }));
    const schedule = await createSchedule(company.as, await aDashboard(company.as, charts), { recipients: [owner] });
    await runNow(company.as, schedule._id);
    const { html, text } = newest(company.owner.email);
    expect(new TextEncoder().encode(html).length).toBeLessThan(102_000);
    expect(text).toMatch(/Not in this mail, which would be too long: .*Wide 7\./);
    expect(html).toContain('Unsubscribe</a>');
  });

  it('uses the parameters of the schedule', async () => {
    const schedule = await createSchedule(company.as, dashboard, {
      recipients: [owner],
      parameters: { region: ['north'] },
    });
    await runNow(company.as, schedule._id);
    expect(newest(company.owner.email).text).toContain('TOTAL\n30\n');
  });
});

describe('a file attached to a scheduled mail', () => {
  it.each([
    ['csv', 'text/csv; charset=utf-8'],
    ['xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ])('is made for each table of a dashboard: %s', async (format, type) => {
    const schedule = await createSchedule(company.as, dashboard, { recipients: [owner], format });
    await runNow(company.as, schedule._id);
    const { attachments = [], text } = newest(company.owner.email);
    expect(attachments.map(({ filename, disposition, type: is }) => [filename, disposition, is])).toEqual([
      [`All sales.${format}`, 'attachment', type],
    ]);
    expect(text).toContain(`Attached: All sales.${format}.`);
    const [file] = attachments;
    if (format === 'csv')
      expect(new TextDecoder().decode(file?.content)).toMatch(/^region,amount,day\r\nnorth,10,2024-01-01\r\n/);
    else expect(new TextDecoder().decode(file?.content.slice(0, 2))).toBe('PK');
  });

  it('is made for each widget if none is a table, under names that differ', async () => {
    const hostile = await aVisualization(company.as, `SELECT '=1+1' AS formula`, {
      name: 'Same/name',
      chart: { type: 'bar' },
    });
    const same = await aVisualization(company.as, 'SELECT 2 AS two', {
      name: 'Same/name',
      slug: 'same-name-again',
      chart: { type: 'bar' },
    });
    const schedule = await createSchedule(company.as, await aDashboard(company.as, [hostile, same]), {
      recipients: [owner],
      format: 'csv',
    });
    await runNow(company.as, schedule._id);
    const { attachments = [] } = newest(company.owner.email);
    expect(attachments.map(({ filename }) => filename)).toEqual(['Same_name.csv', 'Same_name 2.csv']);
    // A spreadsheet takes no text for a formula.
    expect(new TextDecoder().decode(attachments[0]?.content)).toBe("formula\r\n'=1+1\r\n");
  });

  it('that would be too large or was truncated is replaced by its first rows and a link to all of them', async () => {
    const large = await aVisualization(
      company.as,
      `SELECT repeat(md5(n::text), 20) AS a FROM generate_series(1, 9000) AS n`,
      { name: 'Large' },
    );
    const long = await aVisualization(company.as, 'SELECT n FROM generate_series(1, 10001) AS n', { name: 'Long' });
    const target = await aDashboard(company.as, [large, long]);
    const { email, contextId } = await makeAddress([], {}, target);
    const json = { share_type: 'link', share_context_id: contextId, embed_options: { allow_downloads: true } };
    await must(company.as.post(`/api/v1/dashboards/${target._id}/shares`, { json }));
    const schedule = await createSchedule(company.as, target, { recipients: [owner, { email }], format: 'csv' });
    const { last_run } = await runNow(company.as, schedule._id);
    expect(last_run).toMatchObject({ status: 'done', sent: 2, problems: ['files_too_large'] });
    for (const [to, address] of [
      [company.owner.email, /^https:\/\/console\.test$/],
      [email, new RegExp(`/portal/${company.slug}$`)],
    ] as const) {
      const { attachments = [], text, html } = newest(to);
      expect(attachments.map(({ filename }) => filename)).toEqual(['Long.csv']);
      expect(text).toContain('LARGE\na\n-');
      expect(text).toContain('LONG\nThe file has the first rows only.');
      const [, link] = /3\.5 MiB together: Large\.\nSee all of it: (\S+)\n/.exec(text) ?? [];
      expect(link).toMatch(address);
      expect(html).toContain(`<a href="${link}" style="color: inherit">See all of it</a>`);
    }
  });

  it('is sent to outsiders only if they may download', async () => {
    const { email, contextId } = await makeAddress();
    const schedule = await createSchedule(company.as, dashboard, { recipients: [{ email }], format: 'csv' });
    await runNow(company.as, schedule._id);
    const first = newest(email);
    expect([
      first.attachments,
      first.text.includes('TOTAL\n210\n'),
      first.text.includes('here is the summary'),
    ]).toEqual([undefined, true, true]);
    const json = { share_type: 'link', share_context_id: contextId, embed_options: { allow_downloads: true } };
    await must(company.as.post(`/api/v1/dashboards/${dashboard._id}/shares`, { json }));
    await runNow(company.as, schedule._id);
    expect(newest(email).attachments?.map(({ filename }) => filename)).toEqual(['All sales.csv']);
  });
});

describe('the content that a recipient of a scheduled mail gets', () => {
  it('depends on what they may see at that moment, not on what the creator may see', async () => {
    const { id, email } = await aUser(company, {
      can: ['visualizations:execute'],
      on: [`arn:svc:visualizations::${company.id}:visualization/${sales._id}`],
    });
    const allowed = await createSchedule(company.as, sales, { recipients: [{ user_id: id }] });
    const denied = await createSchedule(company.as, total, { recipients: [{ user_id: id }, owner] });
    expect((await runNow(company.as, denied._id)).last_run).toMatchObject({
      status: 'done',
      sent: 1,
      skipped: 1,
      problems: ['not_allowed'],
    });
    expect(countMailsTo(email)).toBe(0);
    await runNow(company.as, allowed._id);
    expect(countMailsTo(email)).toBe(1);
    await must(company.as.post(`/v1/users/${id}/deactivate`));
    expect((await runNow(company.as, allowed._id)).last_run).toMatchObject({
      status: 'done',
      sent: 0,
      skipped: 1,
      problems: ['left'],
    });
    expect(countMailsTo(email)).toBe(1);
  });

  it('is restricted by the policies, shares and attributes of their context', async () => {
    const policy = (allowed_values: string[]) => ({
      filter_slug: 'region',
      filter_kind: 'multi_select',
      mode: 'locked',
      allowed_values,
    });
    const north = await makeAddress([policy(['north'])]);
    const both = await makeAddress([policy(['north', 'south'])]);
    const json = {
      share_type: 'link',
      share_context_id: both.contextId,
      share_filter_policies: [policy(['south', 'east'])],
    };
    await must(company.as.post(`/api/v1/dashboards/${dashboard._id}/shares`, { json }));
    const attributed = await aDashboard(company.as, [total], {
      filters: [{ slug: 'region', label: 'Region', kind: 'multi_select', viewer_attribute: 'region' }],
    });
    const east = await makeAddress([], { region: 'east' }, attributed);
    const none = await makeAddress([], { region: [] }, attributed);
    const schedule = await createSchedule(company.as, dashboard, {
      recipients: [owner, { email: north.email }, { email: both.email }],
    });
    await runNow(company.as, schedule._id);
    expect(
      [company.owner.email, north.email, both.email].map((to) => /TOTAL\n(\d+)/.exec(newest(to).text)?.[1]),
    ).toEqual(['210', '30', '120']);
    expect(newest(north.email).text).not.toContain('south');
    const byAttribute = await createSchedule(company.as, attributed, { recipients: [{ email: east.email }] });
    await runNow(company.as, byAttribute._id);
    expect(newest(east.email).text).toContain('TOTAL\n60\n');
    // Who lacks the attribute is refused, at once and later.
    const refused = await company.as.put(`${SCHEDULES_PATH}/${byAttribute._id}`, {
      json: { recipients: [{ email: none.email }] },
    });
    expect(refused.status).toBe(422);
  });

  it('is nothing once their membership or the grant ends', async () => {
    const { email, contextId, memberId } = await makeAddress();
    const other = await makeAddress();
    const schedule = await createSchedule(company.as, dashboard, { recipients: [{ email }, { email: other.email }] });
    await must(company.as.delete(`${CONTEXTS_PATH}/${contextId}/members/${memberId}`));
    await must(company.as.put(`${CONTEXTS_PATH}/${other.contextId}/grants`, { json: { grants: [] } }));
    expect((await runNow(company.as, schedule._id)).last_run).toMatchObject({
      sent: 0,
      skipped: 2,
      problems: ['not_allowed'],
    });
    expect([countMailsTo(email), countMailsTo(other.email)]).toEqual([0, 0]);
  });

  it('is computed once for recipients who may see the same', async () => {
    const readers = [await makeAddress(), await makeAddress()].map(({ email }) => ({ email }));
    const marked = await aVisualization(company.as, 'SELECT random() AS n', {
      name: 'Random',
      chart: { type: 'number', options: { decimals: 12 } },
    });
    const target = await aDashboard(company.as, [marked]);
    for (const { email } of readers) await aContext(company, [dashboardGrant(target._id)], [email]);
    const schedule = await createSchedule(company.as, target, { recipients: [...readers, owner] });
    await runNow(company.as, schedule._id);
    const numbers = [...readers.map(({ email }) => email), company.owner.email].map(
      (to) => /RANDOM\n([\d.,]+)/.exec(newest(to).text)?.[1],
    );
    expect(numbers[0]).toMatch(/^0\.\d{12}$/);
    expect(new Set(numbers).size).toBe(1);
  });
});

describe('an occurrence of a schedule', () => {
  it('is sent at its time, once, and followed by the next', async () => {
    const { email, id } = await aUser(company, { can: ['dashboards:get'] });
    const schedule = await createSchedule(company.as, dashboard, {
      recipients: [{ user_id: id }],
      cron: '*/30 * * * *',
      time_zone: 'UTC',
    });
    const due = Date.parse(schedule.next_run_at);
    stopClockAt(due - 1);
    await runDue();
    expect(countMailsTo(email)).toBe(0);
    // However many were missed, it comes once.
    stopClockAt(due + HOUR);
    await runDue();
    await runDue();
    expect(countMailsTo(email)).toBe(1);
    resetClock();
    const { last_run, next_run_at } = await readSchedule(schedule);
    expect(last_run).toMatchObject({ kind: 'scheduled', status: 'done', occurrence: schedule.next_run_at, sent: 1 });
    expect(Date.parse(next_run_at)).toBe(due + 1.5 * HOUR);
    stopClockAt(due + 1.5 * HOUR);
    await runDue();
    expect(countMailsTo(email)).toBe(2);
  });

  it('is sent although the whole schedule is saved again just before', async () => {
    const { email, id } = await aUser(company, { can: ['dashboards:get'] });
    const schedule = await createSchedule(company.as, dashboard, { recipients: [{ user_id: id }] });
    const due = Date.now() - 1000;
    await env.CONTROL_DB.prepare('update schedules set next_run_at = ? where id = ?').bind(due, schedule._id).run();
    const json = { ...toChangeable(await readSchedule(schedule)), name: 'Renamed' };
    await must(company.as.put(`${SCHEDULES_PATH}/${schedule._id}`, { json }));
    await runDue();
    expect(countMailsTo(email)).toBe(1);
    const { last_run, next_run_at } = await readSchedule(schedule);
    expect([Date.parse(last_run.occurrence), next_run_at]).toEqual([due, schedule.next_run_at]);
  });

  it('is not sent if the schedule is paused or deleted meanwhile', async () => {
    const { email, id } = await aUser(company, { can: ['dashboards:get'] });
    const make = (json: object = {}) =>
      createSchedule(company.as, dashboard, { recipients: [{ user_id: id }], cron: '*/30 * * * *', ...json });
    await make({ status: 'paused' });
    const pausedLater = await make();
    const gone = await make();
    const due = Date.parse(gone.next_run_at);
    stopClockAt(due);
    const queue = createHeldQueue();
    await runScheduled(queue.env);
    resetClock();
    await must(company.as.put(`${SCHEDULES_PATH}/${pausedLater._id}`, { json: { status: 'paused' } }));
    await must(company.as.delete(`${SCHEDULES_PATH}/${gone._id}`));
    stopClockAt(due + 1);
    await deliverHeld(queue);
    expect(countMailsTo(email)).toBe(0);
    resetClock();
    // By hand it can be run all the same.
    await runNow(company.as, pausedLater._id);
    expect(countMailsTo(email)).toBe(1);
  });

  it('is sent once although its queue message is delivered twice', async () => {
    const { email, id } = await aUser(company, { can: ['dashboards:get'] });
    const schedule = await createSchedule(company.as, dashboard, { recipients: [{ user_id: id }] });
    const queue = createHeldQueue();
    await must(company.as.post(`${SCHEDULES_PATH}/${schedule._id}/run`, { env: queue.env }));
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
