import { describe, expect, it } from 'vitest';
import { createShareContext, signInOutsider } from '../share-portal/support.ts';
import { type ApiResponse, callApi } from '../support/api.ts';
import { createAllowedUser, createProvisionedCompany } from '../support/companies.ts';
import { EMAIL, readNewestMail } from '../support/mail.ts';
import { sendDuringRace } from '../support/race.ts';
import { createSignedCaller, expectSuccess } from '../support/signed.ts';
import { deliverMessage } from '../uploads/support.ts';
import { postVisualization } from '../visualizations/support.ts';
import {
  countMailsTo,
  createSchedule,
  createTestQueue,
  readUnsubscribeLink,
  recordConsent,
  runScheduleNow,
  SCHEDULES_PATH,
} from './support.ts';

const company = await createProvisionedCompany();
const chart = await postVisualization(company.as, 'SELECT 1 AS one');
const outsider = `outsider@${company.slug}.test`;
await createShareContext(
  company,
  [{ target_type: 'visualization', target_id: chart._id, filter_policies: [] }],
  [outsider],
);
await recordConsent(company, outsider);

const ONE_CLICK_REQUEST = {
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: 'List-Unsubscribe=One-Click',
};
const pressButton = (path: string, requestOptions: Parameters<typeof callApi>[2] = ONE_CLICK_REQUEST) =>
  callApi('POST', path, requestOptions);
const readLinkTo = (email: string): string => readUnsubscribeLink(readNewestMail(email)).pathname;
const readSchedule = async ({ _id }: ApiResponse['body']) => expectSuccess(company.as.get(`${SCHEDULES_PATH}/${_id}`));

/** Creates a schedule to the owner and an outsider, and sends its mail to both. */
async function createSentSchedule(): Promise<ApiResponse['body']> {
  const recipients = [{ user_id: company.owner.id }, { email: outsider }];
  const schedule = await createSchedule(company.as, chart, { recipients });
  await runScheduleNow(company.as, schedule._id);
  return schedule;
}

describe('every scheduled mail', () => {
  it('has a link to unsubscribe, in its text and in its headers', async () => {
    await createSentSchedule();
    const { html, headers = {} } = readNewestMail(outsider);
    const link = readUnsubscribeLink(readNewestMail(outsider)).href;
    expect(link).toMatch(/^https:\/\/api\.test\/unsubscribe\/[\w-]{90,120}$/);
    expect(html).toContain(`<a href="${link}" style="color: inherit">Unsubscribe</a>`);
    expect(headers).toEqual({ 'List-Unsubscribe': `<${link}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' });
    expect(link).not.toContain(outsider);
    expect(readLinkTo(outsider)).not.toBe(readLinkTo(company.owner.email));
  });

  it('has its link to unsubscribe at the PUBLIC_URL that is configured', async () => {
    const schedule = await createSchedule(company.as, chart, { recipients: [{ email: outsider }] });
    await runScheduleNow(company.as, schedule._id, { PUBLIC_URL: 'https://data.example.com/' });
    expect(readUnsubscribeLink(readNewestMail(outsider)).origin).toBe('https://data.example.com');
  });
});

describe('the link to unsubscribe', () => {
  it('opens a page that by itself unsubscribes nobody', async () => {
    const schedule = await createSentSchedule();
    const path = readLinkTo(outsider);
    for (const [query, accepted, lang] of [
      ['', 'pt', 'pt-BR'],
      ['?locale=es', 'pt', 'es'],
      ['?utm_source=x', '', 'en'],
    ]) {
      const { status, headers, body } = await callApi('GET', `${path}${query}`, {
        headers: { 'accept-language': accepted as string },
      });
      expect([status, headers.get('content-language')]).toEqual([200, lang]);
      expect(body).toContain(`<html lang="${lang}">`);
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(headers.get('referrer-policy')).toBe('no-referrer');
    }
    await callApi('HEAD', path);
    expect((await readSchedule(schedule)).unsubscribed).toEqual([]);
  });

  it('unsubscribes its recipient from its schedule, with one click, and from nothing else', async () => {
    const [schedule, otherSchedule] = [await createSentSchedule(), await createSentSchedule()];
    const path = readLinkTo(outsider);
    const { status } = await pressButton(path);
    expect(status).toBe(200);
    expect((await readSchedule(otherSchedule)).unsubscribed).toEqual([{ email: outsider }]);
    expect((await readSchedule(schedule)).unsubscribed).toEqual([]);
    const [before, owners] = [countMailsTo(outsider), countMailsTo(company.owner.email)];
    expect((await runScheduleNow(company.as, otherSchedule._id)).last_run).toMatchObject({ sent: 1, skipped: 0 });
    expect([countMailsTo(outsider), countMailsTo(company.owner.email)]).toEqual([before, owners + 1]);
    await runScheduleNow(company.as, schedule._id);
    expect(countMailsTo(outsider)).toBe(before + 1);
    // A mail program that asks again is told the same.
    expect((await pressButton(path)).status).toBe(200);
  });

  it.each<[string, Parameters<typeof callApi>[2]]>([
    [
      'a form with files',
      (() => {
        const body = new FormData();
        body.append('List-Unsubscribe', 'One-Click');
        return { body };
      })(),
    ],
    ['an empty body', {}],
    [
      'an Origin of another site',
      { ...ONE_CLICK_REQUEST, headers: { ...ONE_CLICK_REQUEST.headers, origin: 'https://mail.example.com' } },
    ],
  ])('can be requested with %s', async (_what, sending) => {
    const schedule = await createSentSchedule();
    expect((await pressButton(readLinkTo(outsider), sending)).status).toBe(200);
    expect((await readSchedule(schedule)).unsubscribed).toEqual([{ email: outsider }]);
  });

  it('leaves an audit record without its token', async () => {
    await createSentSchedule();
    await pressButton(readLinkTo(outsider));
    const { results } = await expectSuccess(createSignedCaller(company.apiKey).get('/admin/audit-events?quantity=100'));
    const unsubscribeEvents = results.filter(({ action }: { action: string }) => action === 'schedules:unsubscribe');
    expect(unsubscribeEvents.length).toBeGreaterThan(0);
    expect(JSON.stringify(unsubscribeEvents)).not.toContain(readLinkTo(outsider).split('/').at(-1));
  });
});

describe('an unsubscribed recipient', () => {
  it('is the only one whom the link unsubscribes: a token that was changed, or is for another schedule, unsubscribes nobody', async () => {
    const [schedule, otherSchedule] = [await createSentSchedule(), await createSentSchedule()];
    const token = readLinkTo(outsider).split('/').at(-1) as string;
    const [version, companyId] = token.split('-') as [string, string];
    // It may have hyphens of its own.
    const signature = token.slice(-43);
    const wrongTokens = [
      `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`,
      `${token}A`,
      token.slice(1),
      token.replace(otherSchedule._id, schedule._id),
      token.replace(companyId, 'f'.repeat(24)),
      token.replace(/^1-/, '2-'),
      token.replace(/^1-/, '__proto__-'),
      `${version}-${companyId}-${otherSchedule._id}-${'A'.repeat(43)}`,
      encodeURIComponent(`${token}/../x`),
      'x'.repeat(5000),
      signature,
    ];
    for (const wrongToken of wrongTokens) {
      const { status, body } = await pressButton(`/unsubscribe/${wrongToken}`);
      expect([wrongToken, status, body.error_code]).toEqual([wrongToken, 404, 'NOT_FOUND']);
      expect((await callApi('GET', `/unsubscribe/${wrongToken}`)).status).toBe(200);
    }
    expect([(await readSchedule(schedule)).unsubscribed, (await readSchedule(otherSchedule)).unsubscribed]).toEqual([
      [],
      [],
    ]);
  });

  it('within the company stays unsubscribed when the schedule is saved, until removed and added again', async () => {
    const schedule = await createSentSchedule();
    const path = `${SCHEDULES_PATH}/${schedule._id}`;
    const [me, them] = [{ user_id: company.owner.id }, { email: outsider }];
    await pressButton(readLinkTo(company.owner.email));
    const putSchedule = (json: object) => expectSuccess(company.as.put(path, { json }));
    const { unsubscribed } = await putSchedule({ name: 'Renamed', recipients: [them, me], status: 'active' });
    expect(unsubscribed).toEqual([me]);
    expect((await putSchedule({ recipients: [them] })).unsubscribed).toEqual([]);
    // The old link names nobody then.
    expect((await pressButton(readLinkTo(company.owner.email))).status).toBe(404);
    expect((await putSchedule({ recipients: [me] })).unsubscribed).toEqual([]);
    const mailCountBefore = countMailsTo(company.owner.email);
    await runScheduleNow(company.as, schedule._id);
    expect(countMailsTo(company.owner.email)).toBe(mailCountBefore + 1);
  });

  it('outside the company stays unsubscribed even when added again: the address has ended the schedule for good', async () => {
    const schedule = await createSentSchedule();
    const path = `${SCHEDULES_PATH}/${schedule._id}`;
    const [me, them] = [{ user_id: company.owner.id }, { email: outsider }];
    await pressButton(readLinkTo(outsider));
    const putSchedule = (json: object) => expectSuccess(company.as.put(path, { json }));
    expect(await putSchedule({ recipients: [me] })).toMatchObject({ recipients: [me], unsubscribed: [] });
    expect(await putSchedule({ recipients: [them, me] })).toMatchObject({
      recipients: [them, me],
      unsubscribed: [them],
    });
    const mailCountBefore = countMailsTo(outsider);
    await runScheduleNow(company.as, schedule._id);
    expect(countMailsTo(outsider)).toBe(mailCountBefore);
    expect((await pressButton(readLinkTo(outsider))).status).toBe(200);
  });
});

describe('an outside address', () => {
  const unsubscribeFromAll = (path: string, sending?: Parameters<typeof callApi>[2]) =>
    pressButton(`${path}?scope=company`, sending);
  const HTML_REQUEST = { headers: { ...ONE_CLICK_REQUEST.headers, accept: 'text/html,*/*;q=0.8' }, body: '' };

  it('can choose on the page between this schedule and all mails of the company, without scripts', async () => {
    await createSentSchedule();
    const { headers, body } = await callApi('GET', readLinkTo(outsider));
    expect(headers.get('content-security-policy')).toContain("form-action 'self'");
    expect(body).toMatch(/<form method="post" action="\?locale=en"><button class="primary">Unsubscribe<\/button>/);
    expect(body).toMatch(
      /<form method="post" action="\?scope=company&amp;locale=en"><button class="">Stop all reports /,
    );
    expect(body).not.toContain('<noscript>');
    // Users are people of the company, who can only leave a schedule.
    const userPage = await callApi('GET', readLinkTo(company.owner.email));
    expect(userPage.body.match(/<form/g)).toHaveLength(1);
    expect((await unsubscribeFromAll(readLinkTo(company.owner.email))).status).toBe(404);
  });

  it('gets a page that names the unsubscribed schedule, if the request is from a browser', async () => {
    const schedule = await createSentSchedule();
    const { status, body } = await pressButton(`${readLinkTo(outsider)}?locale=es`, HTML_REQUEST);
    expect([status, body]).toEqual([200, expect.stringContaining('Listo: no volverás a recibir este correo.')]);
    expect((await readSchedule(schedule)).unsubscribed).toEqual([{ email: outsider }]);
    const unknownLinkAnswer = await pressButton('/unsubscribe/nothing', HTML_REQUEST);
    expect(unknownLinkAnswer.body).toContain('There is nothing to unsubscribe from');
  });

  it('can unsubscribe for good from all mails of a company, and still gets mails of other companies', async () => {
    const email = `tired@${company.slug}.test`;
    const grants = [{ target_type: 'visualization', target_id: chart._id, filter_policies: [] }];
    await createShareContext(company, grants, [email]);
    await recordConsent(company, email);
    const [one, two] = [
      await createSchedule(company.as, chart, { recipients: [{ email }] }),
      await createSchedule(company.as, chart, { recipients: [{ email }] }),
    ];
    await runScheduleNow(company.as, one._id);
    expect((await unsubscribeFromAll(readLinkTo(email))).status).toBe(200);
    for (const schedule of [one, two]) {
      expect((await readSchedule(schedule)).unsubscribed).toEqual([{ email }]);
      expect((await runScheduleNow(company.as, schedule._id)).last_run).toMatchObject({ sent: 0, status: 'done' });
    }
    // Neither a new schedule nor a sign-in brings it back.
    const laterSchedule = await createSchedule(company.as, chart, { recipients: [{ email }] });
    expect(laterSchedule.unsubscribed).toEqual([{ email }]);
    const mailCountBefore = countMailsTo(email);
    await signInOutsider(company, email);
    await runScheduleNow(company.as, laterSchedule._id);
    expect(countMailsTo(email)).toBe(mailCountBefore + 1);
    const other = await createProvisionedCompany();
    const otherChart = await postVisualization(other.as, 'SELECT 1 AS one');
    await createShareContext(
      other,
      [{ target_type: 'visualization', target_id: otherChart._id, filter_policies: [] }],
      [email],
    );
    await recordConsent(other, email);
    const { _id } = await createSchedule(other.as, otherChart, { recipients: [{ email }] });
    expect((await runScheduleNow(other.as, _id)).last_run.sent).toBe(1);
  });
});

describe('a recipient who unsubscribes while a run is under way', () => {
  it('gets no mail of that run', async () => {
    const { id, email } = await createAllowedUser(company, { can: ['visualizations:execute'] });
    const schedule = await createSchedule(company.as, chart, { recipients: [{ user_id: id }] });
    await runScheduleNow(company.as, schedule._id);
    const path = readLinkTo(email);
    const queue = createTestQueue();
    await expectSuccess(company.as.post(`${SCHEDULES_PATH}/${schedule._id}/run`, { env: queue.env }));
    await sendDuringRace(
      /^insert into "schedule_deliveries"/,
      async () => expect((await pressButton(path)).status).toBe(200),
      (env) => deliverMessage(queue.messages[0] as never, { ...queue.env, EMAIL, ...env }),
    );
    expect(countMailsTo(email)).toBe(1);
  });

  it('gets no mail of that run either after unsubscribing from all mails of the company', async () => {
    const email = `leaves-all@${company.slug}.test`;
    await createShareContext(
      company,
      [{ target_type: 'visualization', target_id: chart._id, filter_policies: [] }],
      [email],
    );
    await recordConsent(company, email);
    const schedule = await createSchedule(company.as, chart, { recipients: [{ email }] });
    await runScheduleNow(company.as, schedule._id);
    const path = readLinkTo(email);
    const queue = createTestQueue();
    await expectSuccess(company.as.post(`${SCHEDULES_PATH}/${schedule._id}/run`, { env: queue.env }));
    await sendDuringRace(
      /^insert into "schedule_deliveries"/,
      async () => expect((await pressButton(`${path}?scope=company`)).status).toBe(200),
      (env) => deliverMessage(queue.messages[0] as never, { ...queue.env, EMAIL, ...env }),
    );
    expect(countMailsTo(email)).toBe(1);
  });
});
