import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { aStarted, downloadArchive, finish, getExport, objectsOf, oneFile } from '../company-exports/support.ts';
import {
  countMailsTo,
  createSchedule,
  runDue,
  SCHEDULES_PATH,
  createHeldQueue as someSchedules,
} from '../schedules/support.ts';
import { call } from '../support/api.ts';
import { advanceClock, resetClock, runScheduled } from '../support/clock.ts';
import { EMAIL } from '../support/mail.ts';
import { countRows, selectRow, sendOvertaken } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import { rivalBeforeStatement } from '../support/tunnel.ts';
import { aCompany, aProvisionedCompany, type Company, PASSWORD } from '../support/worlds.ts';
import {
  confirmJob,
  createHeldQueue,
  deliverAllMessages,
  deliverMessage,
  makeCsvTable,
  makeFile,
  readJob,
  readRows,
  uploadFiles,
  waitForAnalysis,
} from '../uploads/support.ts';
import { aVisualization } from '../visualizations/support.ts';
import { endAtOnce, findPlaces, makePath, operator, runErasure } from './looking.ts';

const setStatus = (company: Company, status: string) => must(operator.patch(makePath(company), { json: { status } }));
const suspend = (company: Company) => setStatus(company, 'suspended');
const activate = (company: Company) => setStatus(company, 'active');

const ROWS = 300;

/** A load that is confirmed, and whose message the queue of the test holds. */
async function createLoad(company: Company) {
  const queue = createHeldQueue();
  const id = await uploadFiles(company, [makeFile('clientes.csv', makeCsvTable(ROWS))], { env: queue.env });
  await deliverAllMessages(queue);
  const { inferred_schema } = await waitForAnalysis(company, id);
  const json = { display_name: 'clientes', columns: inferred_schema.columns };
  await must(confirmJob(company, id, json, { env: queue.env }));
  return { id, queue, message: queue.messages.shift() as JobMessage };
}

/** A schedule of which a mail to its owner is due, and the message that has it sent. */
async function createDueSchedule(company: Company) {
  const visualization = await aVisualization(company.as, 'SELECT 1 AS one');
  const { _id: id } = await createSchedule(company.as, visualization, { recipients: [{ user_id: company.owner.id }] });
  const queue = someSchedules();
  await must(company.as.post(`${SCHEDULES_PATH}/${id}/run`, { env: queue.env }));
  return { id, queue, message: queue.messages.shift() as JobMessage };
}

/** Of a load that is done but for its commit. */
const INSERT_OUTBOX_EVENT = /^insert into "outbox"/;
const INSERT_DELIVERY = /^insert into "schedule_deliveries"/;
const SELECT_EXPORTED_GROUPS = /^\s*select place[\s\S]* from "groups"/;
const INSERT_SESSION = /^insert into "sessions"/;

const logIn = ({ slug, owner }: Company, changed: Record<string, string>) =>
  call('POST', '/v1/auth/login', {
    json: { company_slug: slug, email: owner.email, password: PASSWORD },
    env: changed,
  });

describe('when a company is suspended meanwhile,', () => {
  it('an upload job loads each row once, now or after the suspension', async () => {
    const company = await aProvisionedCompany();
    const { id, queue, message } = await createLoad(company);
    const rival = () => suspend(company);
    await sendOvertaken(INSERT_OUTBOX_EVENT, rival, (changed) => deliverMessage(message, { ...queue.env, ...changed }));
    expect((await company.as.get('/v1/managed-tables')).status).toBe(403);
    await activate(company);
    await runScheduled(queue.env);
    await deliverAllMessages(queue);
    const job = await readJob(company, id);
    expect([job.status, (await readRows(company, job.user_table_id)).length]).toEqual(['done', ROWS]);
  });

  it('an upload job publishes no row until the suspension has ended', async () => {
    const company = await aProvisionedCompany();
    const { id, queue, message } = await createLoad(company);
    const { outcome } = await rivalBeforeStatement(company.id, /COPY/, () => suspend(company));
    await deliverMessage(message, queue.env);
    await outcome;
    expect(await deliverAllMessages(queue)).toBe(1);
    await activate(company);
    expect((await readJob(company, id)).status).toBe('inserting');
    await runScheduled(queue.env);
    await deliverAllMessages(queue);
    const job = await readJob(company, id);
    expect([job.status, (await readRows(company, job.user_table_id)).length]).toEqual(['done', ROWS]);
  });

  it('a scheduled run mails nothing, and sends its mail once after the suspension', async () => {
    const company = await aProvisionedCompany();
    const { id, queue, message } = await createDueSchedule(company);
    const before = countMailsTo(company.owner.email);
    const sent = await sendOvertaken(
      INSERT_DELIVERY,
      () => suspend(company),
      (changed) => deliverMessage(message, { ...queue.env, ...changed, EMAIL }),
    );
    expect([sent, countMailsTo(company.owner.email)]).toEqual(['done', before]);
    await activate(company);
    advanceClock(5 * 60_000);
    try {
      await runDue();
    } finally {
      resetClock();
    }
    expect(countMailsTo(company.owner.email)).toBe(before + 1);
    expect((await must(company.as.get(`${SCHEDULES_PATH}/${id}`))).last_run).toMatchObject({ status: 'done', sent: 1 });
  });

  it('an export waits, and is completed after the suspension', async () => {
    const company = await aCompany();
    const { id, queue } = await aStarted(company);
    await sendOvertaken(
      SELECT_EXPORTED_GROUPS,
      () => suspend(company),
      (changed) => deliverMessage(queue.messages.shift() as JobMessage, { ...queue.env, ...changed }),
    );
    await finish(queue);
    expect((await company.as.get(`/v1/company/exports/${id}`)).status).toBe(403);
    await activate(company);
    expect((await getExport(company, id)).status).toBe('running');
    await runScheduled(queue.env);
    await finish(queue);
    const { status, url } = await getExport(company, id);
    expect(status).toBe('succeeded');
    expect((await downloadArchive(url)).records('records/users.ndjson')).toHaveLength(1);
  });
});

describe('when a company is erased meanwhile,', () => {
  const erase = async (company: Company) => {
    await endAtOnce(company);
    await runErasure(company);
  };
  /** Nothing is there, and nothing comes once what was under way has ended; nor when it is looked after again. */
  const expectNothing = async (company: Company) => {
    expect(await countRows('companies where id = ?', company.id)).toBe(0);
    advanceClock(2 * 60 * 60_000);
    try {
      await runScheduled();
      expect(await findPlaces([company.id, company.owner.email])).toEqual([]);
    } finally {
      resetClock();
    }
  };

  it('an upload job loads no more rows, and its message is dropped', async () => {
    const company = await aProvisionedCompany();
    const { queue, message } = await createLoad(company);
    const rival = () => erase(company);
    await sendOvertaken(INSERT_OUTBOX_EVENT, rival, (changed) => deliverMessage(message, { ...queue.env, ...changed }));
    expect(await deliverMessage(message, queue.env)).toBe('done');
    expect(await deliverAllMessages(queue)).toBeLessThan(5);
    await expectNothing(company);
  });

  it('a scheduled run mails nothing', async () => {
    const company = await aProvisionedCompany();
    const { queue, message } = await createDueSchedule(company);
    const before = countMailsTo(company.owner.email);
    await sendOvertaken(
      INSERT_DELIVERY,
      () => erase(company),
      (changed) => deliverMessage(message, { ...queue.env, ...changed, EMAIL }),
    );
    expect(await deliverMessage(message, { ...queue.env, EMAIL })).toBe('done');
    expect(countMailsTo(company.owner.email)).toBe(before);
    await expectNothing(company);
  });

  it('an export leaves no part of a file behind', async () => {
    const company = await aCompany();
    const { id, queue } = await aStarted(company);
    await oneFile(company, id);
    const [note] = (await objectsOf(company)).filter((key) => key.endsWith('/upload-under-way'));
    const noted = (await (await env.FILES.get(note as string))?.json()) as { key: string; uploadId: string };
    const { key, uploadId } = noted;
    const message = queue.messages.shift() as JobMessage;
    const rival = () => erase(company);
    await sendOvertaken(SELECT_EXPORTED_GROUPS, rival, (changed) =>
      deliverMessage(message, { ...queue.env, ...changed }),
    );
    expect(await deliverMessage(message, queue.env)).toBe('done');
    await expect(env.FILES.resumeMultipartUpload(key, uploadId).uploadPart(1, 'late')).rejects.toThrow('10024');
    await expectNothing(company);
    expect(await selectRow('select id from company_exports where id = ?', id)).toBeNull();
  });

  it('a sign-in begins no session', async () => {
    const company = await aCompany();
    const late = await sendOvertaken(
      INSERT_SESSION,
      () => erase(company),
      (changed) => logIn(company, changed),
    );
    expect(late.status).toBeGreaterThanOrEqual(400);
    expect(late.body.token).toBeUndefined();
    await expectNothing(company);
  });
});
