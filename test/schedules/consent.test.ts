import { describe, expect, it } from 'vitest';
import { newId } from '../../src/kernel/ids.ts';
import { createShareContext, signInOutsider } from '../share-portal/support.ts';
import { type ApiResponse, callApi } from '../support/api.ts';
import { advanceClock, runScheduled } from '../support/clock.ts';
import { createAllowedUser, createProvisionedCompany } from '../support/companies.ts';
import { EMAIL, readLink, readNewestMail, runWhileMailIsRefused } from '../support/mail.ts';
import { countRows, runSql, sendDuringRace } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import { deliverMessage } from '../uploads/support.ts';
import { postVisualization } from '../visualizations/support.ts';
import {
  countMailsTo,
  createSchedule,
  createTestQueue,
  deliverTestMessages,
  makeScheduleInput,
  recordConsent,
  runScheduleNow,
  SCHEDULES_PATH,
} from './support.ts';

const company = await createProvisionedCompany();
const chart = await postVisualization(company.as, `SELECT 'see evil.example now' AS "visit evil.example"`, {
  name: 'Prizes at https://evil.example/win',
  chart: { type: 'table' },
});

const HOUR_MS = 60 * 60 * 1000;
let addressCount = 0;
/** Returns a new outside address to which a context of the company shows the chart, and that was never asked for consent. */
async function createStranger(inCompany = company, target = chart): Promise<string> {
  const email = `stranger-${++addressCount}@${inCompany.slug}.test`;
  await createShareContext(
    inCompany,
    [{ target_type: 'visualization', target_id: target._id, filter_policies: [] }],
    [email],
  );
  return email;
}
const createScheduleTo = (email: string, json: object = {}) =>
  createSchedule(company.as, chart, { recipients: [{ email }], ...json });
const pressButton = (path: string) => callApi('POST', path, { body: '' });
const runSchedule = async ({ _id }: ApiResponse['body']) => (await runScheduleNow(company.as, _id)).last_run;

/** Makes the counted mails of an address a day older; moving the clock instead would end the sessions. */
const ageByDay = (table: string, column: string, email: string) =>
  runSql(`update ${table} set ${column} = ${column} - ${25 * HOUR_MS} where email = ?`, email);

describe('an outside address that has not agreed to scheduled mails', () => {
  it('is asked for consent once, however many schedules name it, and sent nothing else', async () => {
    const email = await createStranger();
    const [firstSchedule, secondSchedule] = [
      await createScheduleTo(email, { name: 'Win at evil.example' }),
      await createScheduleTo(email),
    ];
    for (const createdSchedule of [firstSchedule, secondSchedule, firstSchedule]) {
      expect(await runSchedule(createdSchedule)).toMatchObject({
        status: 'done',
        sent: 0,
        skipped: 1,
        problems: ['not_agreed'],
      });
    }
    expect(countMailsTo(email)).toBe(1);
    const { subject, text, html, headers } = readNewestMail(email);
    expect(subject).toMatch(/^Would you like to get mails from Company/);
    // Nothing that the maker of the schedule has written.
    for (const part of [subject, text, html]) expect(part).not.toMatch(/evil|Prizes|Win at/);
    expect(readLink(readNewestMail(email)).href).toMatch(/^https:\/\/api\.test\/mail-consent\/[\w-]{90,120}$/);
    expect(headers?.['List-Unsubscribe']).toMatch(/^<https:\/\/api\.test\/unsubscribe\/[\w-]{90,120}>$/);
    expect(headers?.['List-Unsubscribe-Post']).toBe('List-Unsubscribe=One-Click');
  });

  it('is not asked for consent by a paused schedule before it runs', async () => {
    const email = await createStranger();
    const schedule = await createScheduleTo(email, { status: 'paused' });
    expect(countMailsTo(email)).toBe(0);
    await runSchedule(schedule);
    expect(countMailsTo(email)).toBe(1);
  });

  it('agrees by a plain HTML form, and not by opening its page', async () => {
    const email = await createStranger();
    const schedule = await createScheduleTo(email);
    const { pathname } = readLink(readNewestMail(email));
    const { status, headers, body } = await callApi('GET', `${pathname}?locale=pt-BR`);
    expect([status, headers.get('content-language')]).toEqual([200, 'pt-BR']);
    expect(headers.get('content-security-policy')).toContain("form-action 'self'; frame-ancestors 'none'");
    expect(body).toMatch(/<form method="post" action="\?locale=pt-BR"><button class="primary">Sim, quero recebê-los</);
    await callApi('HEAD', pathname);
    expect((await runSchedule(schedule)).sent).toBe(0);
    expect((await pressButton(pathname)).status).toBe(200);
    expect((await runSchedule(schedule)).sent).toBe(1);
    expect(countMailsTo(email)).toBe(2);
    // Whoever presses twice is told the same.
    expect((await pressButton(pathname)).status).toBe(200);
  });

  it('agrees by signing in to the portal', async () => {
    const email = await createStranger();
    const schedule = await createScheduleTo(email);
    expect((await runSchedule(schedule)).sent).toBe(0);
    await signInOutsider(company, email);
    expect((await runSchedule(schedule)).sent).toBe(1);
  });

  it.each([
    ['the page', (path: string) => pressButton(`${path}?answer=no`)],
    [
      'unsubscribing in its mail program',
      (path: string) => pressButton(path.replace('/mail-consent/', '/unsubscribe/')),
    ],
  ])('can refuse for good by %s', async (_what, refuse) => {
    const email = await createStranger();
    const schedule = await createScheduleTo(email);
    const { pathname } = readLink(readNewestMail(email));
    expect((await refuse(pathname)).status).toBe(200);
    expect((await pressButton(pathname)).status).toBe(404);
    expect(await runSchedule(schedule)).toMatchObject({ sent: 0, skipped: 0 });
    expect((await expectSuccess(company.as.get(`${SCHEDULES_PATH}/${schedule._id}`))).unsubscribed).toEqual([
      { email },
    ]);
    expect(countMailsTo(email)).toBe(1);
  });

  it('is asked for consent again only if the mail service did not accept the consent mail', async () => {
    const email = await createStranger();
    const triedSchedule = await runWhileMailIsRefused('E_RATE_LIMIT_EXCEEDED', () => createScheduleTo(email));
    expect([triedSchedule, countMailsTo(email)]).toEqual([1, 0]);
    advanceClock(2 * 60_000);
    await runScheduled();
    expect(countMailsTo(email)).toBe(1);
    advanceClock(HOUR_MS);
    await runScheduled();
    expect(countMailsTo(email)).toBe(1);
  });

  it('is asked once when two schedules are created at the same time', async () => {
    const email = await createStranger();
    await sendDuringRace(
      /^insert into "mail_consents"/,
      () => createScheduleTo(email),
      (changedEnv) =>
        expectSuccess(
          company.as.post(SCHEDULES_PATH, {
            json: makeScheduleInput(chart, { recipients: [{ email }] }),
            env: changedEnv,
          }),
        ),
    );
    expect(countMailsTo(email)).toBe(1);
  });

  it('is not asked if it has agreed or refused meanwhile', async () => {
    const [signsIn, refuses] = [await createStranger(), await createStranger()];
    const answerConsent = (email: string, action: string) =>
      runSql(
        `insert into mail_consents (id, company_id, email, ${action}) values (?, ?, ?, 1)`,
        newId(Date.now()),
        company.id,
        email,
      );
    for (const [email, action] of [
      [signsIn, 'agreed_at'],
      [refuses, 'ended_at'],
    ] as const) {
      await sendDuringRace(
        /^insert into "mail_consents"/,
        () => answerConsent(email, action),
        (changedEnv) =>
          expectSuccess(
            company.as.post(SCHEDULES_PATH, {
              json: makeScheduleInput(chart, { recipients: [{ email }] }),
              env: changedEnv,
            }),
          ),
      );
      expect(countMailsTo(email)).toBe(0);
    }
  });

  it('is sent at most five consent requests a day', async () => {
    const email = await createStranger();
    for (let count = 0; count < 5; count += 1) {
      const now = Date.now();
      await runSql(
        `insert into mail_requests (id, kind, company_id, email, counted_as, requested_at, attempts) values (?, 'schedule_consent', 'x', ?, ?, ?, 0)`,
        newId(now),
        email,
        `schedule_consent:${email}`,
        now,
      );
    }
    const schedule = await createScheduleTo(email);
    expect(countMailsTo(email)).toBe(0);
    await ageByDay('mail_requests', 'requested_at', email);
    await runSchedule(schedule);
    expect(countMailsTo(email)).toBe(1);
  });

  it('does not agree by a token that was changed or that is for unsubscribing', async () => {
    const email = await createStranger();
    await createScheduleTo(email);
    const { pathname } = readLink(readNewestMail(email));
    const ownersSchedule = await createSchedule(company.as, chart, { recipients: [{ user_id: company.owner.id }] });
    await runSchedule(ownersSchedule);
    const [, token = ''] = /\/unsubscribe\/([\w-]+)/.exec(readNewestMail(company.owner.email).text) ?? [];
    for (const wrongPath of [`${pathname}A`, `/mail-consent/${token}`, '/mail-consent/none']) {
      expect([wrongPath, (await pressButton(wrongPath)).status]).toEqual([wrongPath, 404]);
      expect((await callApi('GET', wrongPath)).body).not.toContain('<form');
    }
  });
});

it('the address of a user of the company is sent mails without being asked for consent', async () => {
  const { email } = await createAllowedUser(company);
  await createShareContext(
    company,
    [{ target_type: 'visualization', target_id: chart._id, filter_policies: [] }],
    [email],
  );
  const schedule = await createScheduleTo(email);
  expect((await runSchedule(schedule)).sent).toBe(1);
  expect(countMailsTo(email)).toBe(1);
});

describe('an outside address that agreed to scheduled mails', () => {
  /** Stores mails of other companies that an address was just sent. */
  async function storeSentMails(email: string, count: number): Promise<void> {
    await runSql(
      `insert into scheduled_mails (company_id, run_id, email, sent_at) select 'other', value, ?, ? from json_each(?)`,
      email,
      Date.now(),
      JSON.stringify(Array.from({ length: count }, (_, at) => `run-${at}`)),
    );
  }

  it('gets at most fifty scheduled mails a day from all companies together', async () => {
    const email = await createStranger();
    await recordConsent(company, email);
    await storeSentMails(email, 49);
    const schedule = await createScheduleTo(email);
    expect((await runSchedule(schedule)).sent).toBe(1);
    expect(await runSchedule(schedule)).toMatchObject({
      status: 'done',
      sent: 0,
      skipped: 1,
      problems: ['too_many_mails'],
    });
    // A new schedule does not begin to count anew.
    await expectSuccess(company.as.delete(`${SCHEDULES_PATH}/${schedule._id}`));
    expect(await runSchedule(await createScheduleTo(email))).toMatchObject({ sent: 0, problems: ['too_many_mails'] });
    await ageByDay('scheduled_mails', 'sent_at', email);
    expect((await runSchedule(await createScheduleTo(email))).sent).toBe(1);
    // What is not counted any more is forgotten.
    await runScheduled();
    expect(await countRows('scheduled_mails where email = ?', email)).toBe(1);
  });

  it('gets at most fifty a day, too, if runs of two companies send at the same time', async () => {
    const email = await createStranger();
    const other = await createProvisionedCompany();
    const otherChart = await postVisualization(other.as, 'SELECT 1 AS one');
    await createShareContext(
      other,
      [{ target_type: 'visualization', target_id: otherChart._id, filter_policies: [] }],
      [email],
    );
    for (const consentingCompany of [company, other]) await recordConsent(consentingCompany, email);
    await storeSentMails(email, 49);
    const ownSchedule = await createScheduleTo(email);
    const { _id } = await createSchedule(other.as, otherChart, { recipients: [{ email }] });
    const queue = createTestQueue();
    await expectSuccess(company.as.post(`${SCHEDULES_PATH}/${ownSchedule._id}/run`, { env: queue.env }));
    await sendDuringRace(
      /^insert into "schedule_deliveries"/,
      async () => expect((await runScheduleNow(other.as, _id)).last_run.sent).toBe(1),
      (changedEnv) => deliverMessage(queue.messages[0] as never, { ...queue.env, EMAIL, ...changedEnv }),
    );
    expect(countMailsTo(email)).toBe(1);
    // What was not sent does not count.
    expect(await countRows('scheduled_mails where email = ?', email)).toBe(50);
    const { last_run } = await expectSuccess(company.as.get(`${SCHEDULES_PATH}/${ownSchedule._id}`));
    expect(last_run).toMatchObject({ sent: 0, skipped: 1, problems: ['too_many_mails'] });
  });

  it('has no mail counted that the mail service did not accept', async () => {
    const email = await createStranger();
    await recordConsent(company, email);
    await storeSentMails(email, 49);
    const schedule = await createScheduleTo(email);
    const queue = createTestQueue();
    await expectSuccess(company.as.post(`${SCHEDULES_PATH}/${schedule._id}/run`, { env: queue.env }));
    await runWhileMailIsRefused('E_RATE_LIMIT_EXCEEDED', () => deliverTestMessages(queue));
    advanceClock(2 * 60_000);
    await deliverTestMessages(queue);
    expect(countMailsTo(email)).toBe(1);
  });

  it('is sent no web addresses that people of the company wrote', async () => {
    const email = await createStranger();
    await recordConsent(company, email);
    const { id, email: insiderEmail } = await createAllowedUser(company, { can: ['visualizations:execute'] });
    const schedule = await createSchedule(company.as, chart, {
      name: 'Win at evil.example/win',
      recipients: [{ email }, { user_id: id }],
    });
    expect((await runSchedule(schedule)).sent).toBe(2);
    const { subject, text, html } = readNewestMail(email);
    for (const part of [subject, text, html]) expect(part).not.toMatch(/evil\.example/i);
    expect(text).toContain('PRIZES AT …\n');
    expect(text).toContain('visit evil example\n');
    expect(text).toContain('see evil example now\n');
    expect(readNewestMail(insiderEmail).text).toContain('see evil.example now\n');
  });
});
