import { beforeAll, describe, expect, it } from 'vitest';
import { aContext, anOutsider } from '../share-portal/support.ts';
import { type ApiResponse, call } from '../support/api.ts';
import { EMAIL, readNewestMail } from '../support/mail.ts';
import { sendOvertaken } from '../support/rival.ts';
import { must, signed } from '../support/signed.ts';
import { aProvisionedCompany, aUser, type Company } from '../support/worlds.ts';
import { deliverMessage } from '../uploads/support.ts';
import { aVisualization } from '../visualizations/support.ts';
import {
  countMailsTo,
  createHeldQueue,
  createSchedule,
  recordAgreement,
  runNow,
  SCHEDULES_PATH,
  unsubscribeLinkIn,
} from './support.ts';

let company: Company;
let chart: ApiResponse['body'];
let outsider: string;
beforeAll(async () => {
  company = await aProvisionedCompany();
  chart = await aVisualization(company.as, 'SELECT 1 AS one');
  outsider = `outsider@${company.slug}.test`;
  await aContext(company, [{ target_type: 'visualization', target_id: chart._id, filter_policies: [] }], [outsider]);
  await recordAgreement(company, outsider);
});

const ONE_CLICK = {
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: 'List-Unsubscribe=One-Click',
};
const pressButton = (path: string, sending: Parameters<typeof call>[2] = ONE_CLICK) => call('POST', path, sending);
const readLinkTo = (email: string): string => unsubscribeLinkIn(readNewestMail(email)).pathname;
const readSchedule = async ({ _id }: ApiResponse['body']) => must(company.as.get(`${SCHEDULES_PATH}/${_id}`));

/** A schedule to the owner and an outsider, which has sent them a mail. */
async function createSentSchedule(): Promise<ApiResponse['body']> {
  const recipients = [{ user_id: company.owner.id }, { email: outsider }];
  const schedule = await createSchedule(company.as, chart, { recipients });
  await runNow(company.as, schedule._id);
  return schedule;
}

describe('every scheduled mail', () => {
  it('has a link to unsubscribe, in its text and in its headers', async () => {
    await createSentSchedule();
    const { html, headers = {} } = readNewestMail(outsider);
    const link = unsubscribeLinkIn(readNewestMail(outsider)).href;
    expect(link).toMatch(/^https:\/\/api\.test\/unsubscribe\/[\w-]{90,120}$/);
    expect(html).toContain(`<a href="${link}" style="color: inherit">Unsubscribe</a>`);
    expect(headers).toEqual({ 'List-Unsubscribe': `<${link}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' });
    expect(link).not.toContain(outsider);
    expect(readLinkTo(outsider)).not.toBe(readLinkTo(company.owner.email));
  });

  it('has its link to unsubscribe at the PUBLIC_URL that is configured', async () => {
    const schedule = await createSchedule(company.as, chart, { recipients: [{ email: outsider }] });
    await runNow(company.as, schedule._id, { PUBLIC_URL: 'https://data.example.com/' });
    expect(unsubscribeLinkIn(readNewestMail(outsider)).origin).toBe('https://data.example.com');
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
      const { status, headers, body } = await call('GET', `${path}${query}`, {
        headers: { 'accept-language': accepted as string },
      });
      expect([status, headers.get('content-language')]).toEqual([200, lang]);
      expect(body).toContain(`<html lang="${lang}">`);
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(headers.get('referrer-policy')).toBe('no-referrer');
    }
    await call('HEAD', path);
    expect((await readSchedule(schedule)).unsubscribed).toEqual([]);
  });

  it('unsubscribes its recipient from its schedule, with one click, and from nothing else', async () => {
    const [schedule, other] = [await createSentSchedule(), await createSentSchedule()];
    const path = readLinkTo(outsider);
    const { status } = await pressButton(path);
    expect(status).toBe(200);
    expect((await readSchedule(other)).unsubscribed).toEqual([{ email: outsider }]);
    expect((await readSchedule(schedule)).unsubscribed).toEqual([]);
    const [before, owners] = [countMailsTo(outsider), countMailsTo(company.owner.email)];
    expect((await runNow(company.as, other._id)).last_run).toMatchObject({ sent: 1, skipped: 0 });
    expect([countMailsTo(outsider), countMailsTo(company.owner.email)]).toEqual([before, owners + 1]);
    await runNow(company.as, schedule._id);
    expect(countMailsTo(outsider)).toBe(before + 1);
    // A mail program that asks again is told the same.
    expect((await pressButton(path)).status).toBe(200);
  });

  it.each<[string, Parameters<typeof call>[2]]>([
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
      { ...ONE_CLICK, headers: { ...ONE_CLICK.headers, origin: 'https://mail.example.com' } },
    ],
  ])('can be requested with %s', async (_what, sending) => {
    const schedule = await createSentSchedule();
    expect((await pressButton(readLinkTo(outsider), sending)).status).toBe(200);
    expect((await readSchedule(schedule)).unsubscribed).toEqual([{ email: outsider }]);
  });

  it('leaves an audit record without its token', async () => {
    await createSentSchedule();
    await pressButton(readLinkTo(outsider));
    const { results } = await must(signed(company.apiKey).get('/admin/audit-events?quantity=100'));
    const found = results.filter(({ action }: { action: string }) => action === 'schedules:unsubscribe');
    expect(found.length).toBeGreaterThan(0);
    expect(JSON.stringify(found)).not.toContain(readLinkTo(outsider).split('/').at(-1));
  });
});

describe('an unsubscribed recipient', () => {
  it('is the only one: a token that was changed, or is for another schedule, unsubscribes nobody', async () => {
    const [schedule, other] = [await createSentSchedule(), await createSentSchedule()];
    const token = readLinkTo(outsider).split('/').at(-1) as string;
    const [version, companyId] = token.split('-') as [string, string];
    // It may have hyphens of its own.
    const signature = token.slice(-43);
    const wrong = [
      `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`,
      `${token}A`,
      token.slice(1),
      token.replace(other._id, schedule._id),
      token.replace(companyId, 'f'.repeat(24)),
      token.replace(/^1-/, '2-'),
      token.replace(/^1-/, '__proto__-'),
      `${version}-${companyId}-${other._id}-${'A'.repeat(43)}`,
      encodeURIComponent(`${token}/../x`),
      'x'.repeat(5000),
      signature,
    ];
    for (const each of wrong) {
      const { status, body } = await pressButton(`/unsubscribe/${each}`);
      expect([each, status, body.error_code]).toEqual([each, 404, 'NOT_FOUND']);
      expect((await call('GET', `/unsubscribe/${each}`)).status).toBe(200);
    }
    expect([(await readSchedule(schedule)).unsubscribed, (await readSchedule(other)).unsubscribed]).toEqual([[], []]);
  });

  it('within the company stays so when the schedule is saved, until removed and added again', async () => {
    const schedule = await createSentSchedule();
    const path = `${SCHEDULES_PATH}/${schedule._id}`;
    const [me, them] = [{ user_id: company.owner.id }, { email: outsider }];
    await pressButton(readLinkTo(company.owner.email));
    const put = (json: object) => must(company.as.put(path, { json }));
    const { unsubscribed } = await put({ name: 'Renamed', recipients: [them, me], status: 'active' });
    expect(unsubscribed).toEqual([me]);
    expect((await put({ recipients: [them] })).unsubscribed).toEqual([]);
    // The old link names nobody then.
    expect((await pressButton(readLinkTo(company.owner.email))).status).toBe(404);
    expect((await put({ recipients: [me] })).unsubscribed).toEqual([]);
    const before = countMailsTo(company.owner.email);
    await runNow(company.as, schedule._id);
    expect(countMailsTo(company.owner.email)).toBe(before + 1);
  });

  it('outside the company stays so even when added again: the address has ended the schedule for good', async () => {
    const schedule = await createSentSchedule();
    const path = `${SCHEDULES_PATH}/${schedule._id}`;
    const [me, them] = [{ user_id: company.owner.id }, { email: outsider }];
    await pressButton(readLinkTo(outsider));
    const put = (json: object) => must(company.as.put(path, { json }));
    expect(await put({ recipients: [me] })).toMatchObject({ recipients: [me], unsubscribed: [] });
    expect(await put({ recipients: [them, me] })).toMatchObject({ recipients: [them, me], unsubscribed: [them] });
    const before = countMailsTo(outsider);
    await runNow(company.as, schedule._id);
    expect(countMailsTo(outsider)).toBe(before);
    expect((await pressButton(readLinkTo(outsider))).status).toBe(200);
  });
});

describe('an outside address', () => {
  const everything = (path: string, sending?: Parameters<typeof call>[2]) =>
    pressButton(`${path}?scope=company`, sending);
  const HTML = { headers: { ...ONE_CLICK.headers, accept: 'text/html,*/*;q=0.8' }, body: '' };

  it('can choose on the page between this mail and all of the company, without scripts', async () => {
    await createSentSchedule();
    const { headers, body } = await call('GET', readLinkTo(outsider));
    expect(headers.get('content-security-policy')).toContain("form-action 'self'");
    expect(body).toMatch(/<form method="post" action="\?locale=en"><button class="primary">Unsubscribe<\/button>/);
    expect(body).toMatch(
      /<form method="post" action="\?scope=company&amp;locale=en"><button class="">Stop all reports /,
    );
    expect(body).not.toContain('<noscript>');
    // Users are people of the company, who can only leave a schedule.
    const users = await call('GET', readLinkTo(company.owner.email));
    expect(users.body.match(/<form/g)).toHaveLength(1);
    expect((await everything(readLinkTo(company.owner.email))).status).toBe(404);
  });

  it('gets a page that names the unsubscribed schedule, if the request is from a browser', async () => {
    const schedule = await createSentSchedule();
    const { status, body } = await pressButton(`${readLinkTo(outsider)}?locale=es`, HTML);
    expect([status, body]).toEqual([200, expect.stringContaining('Listo: no volverás a recibir este correo.')]);
    expect((await readSchedule(schedule)).unsubscribed).toEqual([{ email: outsider }]);
    const unknown = await pressButton('/unsubscribe/nothing', HTML);
    expect(unknown.body).toContain('There is nothing to unsubscribe from');
  });

  it('can unsubscribe for good from all mails of a company, and keeps those of other companies', async () => {
    const email = `tired@${company.slug}.test`;
    const grants = [{ target_type: 'visualization', target_id: chart._id, filter_policies: [] }];
    await aContext(company, grants, [email]);
    await recordAgreement(company, email);
    const [one, two] = [
      await createSchedule(company.as, chart, { recipients: [{ email }] }),
      await createSchedule(company.as, chart, { recipients: [{ email }] }),
    ];
    await runNow(company.as, one._id);
    expect((await everything(readLinkTo(email))).status).toBe(200);
    for (const schedule of [one, two]) {
      expect((await readSchedule(schedule)).unsubscribed).toEqual([{ email }]);
      expect((await runNow(company.as, schedule._id)).last_run).toMatchObject({ sent: 0, status: 'done' });
    }
    // Neither a new schedule nor a sign-in brings it back.
    const later = await createSchedule(company.as, chart, { recipients: [{ email }] });
    expect(later.unsubscribed).toEqual([{ email }]);
    const before = countMailsTo(email);
    await anOutsider(company, email);
    await runNow(company.as, later._id);
    expect(countMailsTo(email)).toBe(before + 1);
    const other = await aProvisionedCompany();
    const theirs = await aVisualization(other.as, 'SELECT 1 AS one');
    await aContext(other, [{ target_type: 'visualization', target_id: theirs._id, filter_policies: [] }], [email]);
    await recordAgreement(other, email);
    const { _id } = await createSchedule(other.as, theirs, { recipients: [{ email }] });
    expect((await runNow(other.as, _id)).last_run.sent).toBe(1);
  });
});

describe('a recipient who unsubscribes while a run is under way', () => {
  it('gets nothing of it', async () => {
    const { id, email } = await aUser(company, { can: ['visualizations:execute'] });
    const schedule = await createSchedule(company.as, chart, { recipients: [{ user_id: id }] });
    await runNow(company.as, schedule._id);
    const path = readLinkTo(email);
    const queue = createHeldQueue();
    await must(company.as.post(`${SCHEDULES_PATH}/${schedule._id}/run`, { env: queue.env }));
    await sendOvertaken(
      /^insert into "schedule_deliveries"/,
      async () => expect((await pressButton(path)).status).toBe(200),
      (env) => deliverMessage(queue.messages[0] as never, { ...queue.env, EMAIL, ...env }),
    );
    expect(countMailsTo(email)).toBe(1);
  });

  it('gets nothing of it either after ending everything of the company', async () => {
    const email = `leaves-all@${company.slug}.test`;
    await aContext(company, [{ target_type: 'visualization', target_id: chart._id, filter_policies: [] }], [email]);
    await recordAgreement(company, email);
    const schedule = await createSchedule(company.as, chart, { recipients: [{ email }] });
    await runNow(company.as, schedule._id);
    const path = readLinkTo(email);
    const queue = createHeldQueue();
    await must(company.as.post(`${SCHEDULES_PATH}/${schedule._id}/run`, { env: queue.env }));
    await sendOvertaken(
      /^insert into "schedule_deliveries"/,
      async () => expect((await pressButton(`${path}?scope=company`)).status).toBe(200),
      (env) => deliverMessage(queue.messages[0] as never, { ...queue.env, EMAIL, ...env }),
    );
    expect(countMailsTo(email)).toBe(1);
  });
});
