import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import {
  deliverUntilEmpty,
  downloadArchive,
  exportOneFile,
  getExport,
  listExportObjects,
  startExport,
} from '../company-exports/support.ts';
import {
  countMailsTo,
  createSchedule,
  runDueSchedules,
  SCHEDULES_PATH,
  createTestQueue as someSchedules,
} from '../schedules/support.ts';
import { callApi } from '../support/api.ts';
import { advanceClock, resetClock, runScheduled } from '../support/clock.ts';
import { type Company, createOwnedCompany, createProvisionedCompany, PASSWORD } from '../support/companies.ts';
import { EMAIL } from '../support/mail.ts';
import { countRows, runSql, selectRow, sendDuringRace } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import { runBeforeNextStatement } from '../support/tunnel.ts';
import {
  confirmJob,
  createTestQueue,
  deliverAllMessages,
  deliverMessage,
  makeCsvTable,
  makeFile,
  readJob,
  readRows,
  uploadFiles,
  waitForAnalysis,
} from '../uploads/support.ts';
import { postVisualization } from '../visualizations/support.ts';
import { deleteAtOnce, findStoredPlaces, makePath, operator, runErasure } from './support.ts';

const setStatus = (company: Company, status: string) =>
  expectSuccess(operator.patch(makePath(company), { json: { status } }));
const suspend = (company: Company) => setStatus(company, 'suspended');
const activate = (company: Company) => setStatus(company, 'active');

const ROW_COUNT = 300;

/** Creates a confirmed load job whose message is held in the queue of the test. */
async function createLoad(company: Company) {
  const queue = createTestQueue();
  const id = await uploadFiles(company, [makeFile('clientes.csv', makeCsvTable(ROW_COUNT))], { env: queue.env });
  await deliverAllMessages(queue);
  const { inferred_schema } = await waitForAnalysis(company, id);
  const json = { display_name: 'clientes', columns: inferred_schema.columns };
  await expectSuccess(confirmJob(company, id, json, { env: queue.env }));
  return { id, queue, message: queue.messages.shift() as JobMessage };
}

/** Creates a schedule that has a due mail to its owner, and the message that sends the mail. */
async function createDueSchedule(company: Company) {
  const visualization = await postVisualization(company.as, 'SELECT 1 AS one');
  const { _id: id } = await createSchedule(company.as, visualization, { recipients: [{ user_id: company.owner.id }] });
  const queue = someSchedules();
  await expectSuccess(company.as.post(`${SCHEDULES_PATH}/${id}/run`, { env: queue.env }));
  return { id, queue, message: queue.messages.shift() as JobMessage };
}

/** Matches the last write of a load before its commit. */
const INSERT_OUTBOX_EVENT_PATTERN = /^insert into "outbox"/;
const INSERT_DELIVERY_PATTERN = /^insert into "schedule_deliveries"/;
const SELECT_EXPORTED_GROUPS_PATTERN = /^\s*select place[\s\S]* from "groups"/;
const INSERT_SESSION_PATTERN = /^insert into "sessions"/;

const logIn = ({ slug, owner }: Company, changedEnv: Record<string, string>) =>
  callApi('POST', '/v1/auth/login', {
    json: { company_slug: slug, email: owner.email, password: PASSWORD },
    env: changedEnv,
  });

describe('when a company is suspended meanwhile,', () => {
  it('an upload job loads each row once, now or after the suspension', async () => {
    const company = await createProvisionedCompany();
    const { id, queue, message } = await createLoad(company);
    const suspendCompany = () => suspend(company);
    await sendDuringRace(INSERT_OUTBOX_EVENT_PATTERN, suspendCompany, (changedEnv) =>
      deliverMessage(message, { ...queue.env, ...changedEnv }),
    );
    expect((await company.as.get('/v1/managed-tables')).status).toBe(403);
    await activate(company);
    await runScheduled(queue.env);
    await deliverAllMessages(queue);
    const job = await readJob(company, id);
    expect([job.status, (await readRows(company, job.user_table_id)).length]).toEqual(['done', ROW_COUNT]);
  });

  it('an upload job publishes no row until the suspension has ended', async () => {
    const company = await createProvisionedCompany();
    const { id, queue, message } = await createLoad(company);
    const { outcome } = await runBeforeNextStatement(company.id, /COPY/, () => suspend(company));
    await deliverMessage(message, queue.env);
    await outcome;
    expect(await deliverAllMessages(queue)).toBe(1);
    await activate(company);
    expect((await readJob(company, id)).status).toBe('inserting');
    await runScheduled(queue.env);
    await deliverAllMessages(queue);
    const job = await readJob(company, id);
    expect([job.status, (await readRows(company, job.user_table_id)).length]).toEqual(['done', ROW_COUNT]);
  });

  it('a scheduled run sends no mail during the suspension, and sends its mail once after it', async () => {
    const company = await createProvisionedCompany();
    const { id, queue, message } = await createDueSchedule(company);
    const mailCountBefore = countMailsTo(company.owner.email);
    const deliveryResult = await sendDuringRace(
      INSERT_DELIVERY_PATTERN,
      () => suspend(company),
      (changedEnv) => deliverMessage(message, { ...queue.env, ...changedEnv, EMAIL }),
    );
    expect([deliveryResult, countMailsTo(company.owner.email)]).toEqual(['done', mailCountBefore]);
    await activate(company);
    advanceClock(5 * 60_000);
    await runDueSchedules();
    resetClock();
    expect(countMailsTo(company.owner.email)).toBe(mailCountBefore + 1);
    expect((await expectSuccess(company.as.get(`${SCHEDULES_PATH}/${id}`))).last_run).toMatchObject({
      status: 'done',
      sent: 1,
    });
  });

  it('the last try of a scheduled run is made after the suspension, however often it was begun before', async () => {
    const company = await createProvisionedCompany();
    const { id, queue, message } = await createDueSchedule(company);
    await runSql('update schedule_runs set attempt = 2 where schedule_id = ?', id);
    const mailCountBefore = countMailsTo(company.owner.email);
    await sendDuringRace(
      INSERT_DELIVERY_PATTERN,
      () => suspend(company),
      (changedEnv) => deliverMessage(message, { ...queue.env, ...changedEnv, EMAIL }),
    );
    for (const minutes of [5, 10, 15, 20]) {
      advanceClock(minutes * 60_000);
      expect(await deliverMessage(message, { ...queue.env, EMAIL })).toBe('done');
    }
    expect(countMailsTo(company.owner.email)).toBe(mailCountBefore);
    await activate(company);
    advanceClock(25 * 60_000);
    await runDueSchedules();
    resetClock();
    expect(countMailsTo(company.owner.email)).toBe(mailCountBefore + 1);
    expect((await expectSuccess(company.as.get(`${SCHEDULES_PATH}/${id}`))).last_run).toMatchObject({
      status: 'done',
      sent: 1,
    });
  });

  it.each([
    ['that reaches nobody', 0],
    ['that was begun too often', 3],
  ])('a scheduled run %s ends after the suspension', async (_what, attempts) => {
    const company = await createProvisionedCompany();
    const { id, queue, message } = await createDueSchedule(company);
    await runSql('update schedule_recipients set subject = ? where schedule_id = ?', 'of nobody', id);
    await runSql('update schedule_runs set attempt = ? where schedule_id = ?', attempts, id);
    const selectRun = () => selectRow('select status, attempt from schedule_runs where schedule_id = ?', id);
    await sendDuringRace(
      /^update "schedule_runs" set "status"/,
      () => suspend(company),
      (changedEnv) => deliverMessage(message, { ...queue.env, ...changedEnv, EMAIL }),
    );
    expect(await selectRun()).toEqual({ status: 'queued', attempt: attempts });
    await activate(company);
    advanceClock(5 * 60_000);
    await runDueSchedules();
    resetClock();
    expect(await selectRun()).toEqual({ status: 'ended', attempt: attempts + 1 });
  });

  it('an export waits, and is completed after the suspension', async () => {
    const company = await createOwnedCompany();
    const { id, queue } = await startExport(company);
    await sendDuringRace(
      SELECT_EXPORTED_GROUPS_PATTERN,
      () => suspend(company),
      (changedEnv) => deliverMessage(queue.messages.shift() as JobMessage, { ...queue.env, ...changedEnv }),
    );
    await deliverUntilEmpty(queue);
    expect((await company.as.get(`/v1/company/exports/${id}`)).status).toBe(403);
    await activate(company);
    expect((await getExport(company, id)).status).toBe('running');
    await runScheduled(queue.env);
    await deliverUntilEmpty(queue);
    const { status, url } = await getExport(company, id);
    expect(status).toBe('succeeded');
    expect((await downloadArchive(url)).readRecords('records/users.ndjson')).toHaveLength(1);
  });
});

describe('when a company is erased meanwhile,', () => {
  const eraseCompany = async (company: Company) => {
    await deleteAtOnce(company);
    await runErasure(company);
  };
  /** Expects no data of the company, also after the work in progress has ended and after another scheduled run. */
  const expectNothing = async (company: Company) => {
    expect(await countRows('companies where id = ?', company.id)).toBe(0);
    advanceClock(2 * 60 * 60_000);
    await runScheduled();
    expect(await findStoredPlaces([company.id, company.owner.email])).toEqual([]);
    resetClock();
  };

  it('an upload job loads no more rows, and its message is dropped', async () => {
    const company = await createProvisionedCompany();
    const { queue, message } = await createLoad(company);
    const eraseMeanwhile = () => eraseCompany(company);
    await sendDuringRace(INSERT_OUTBOX_EVENT_PATTERN, eraseMeanwhile, (changedEnv) =>
      deliverMessage(message, { ...queue.env, ...changedEnv }),
    );
    expect(await deliverMessage(message, queue.env)).toBe('done');
    expect(await deliverAllMessages(queue)).toBeLessThan(5);
    await expectNothing(company);
  });

  it('a scheduled run sends no mail', async () => {
    const company = await createProvisionedCompany();
    const { queue, message } = await createDueSchedule(company);
    const mailCountBefore = countMailsTo(company.owner.email);
    await sendDuringRace(
      INSERT_DELIVERY_PATTERN,
      () => eraseCompany(company),
      (changedEnv) => deliverMessage(message, { ...queue.env, ...changedEnv, EMAIL }),
    );
    expect(await deliverMessage(message, { ...queue.env, EMAIL })).toBe('done');
    expect(countMailsTo(company.owner.email)).toBe(mailCountBefore);
    await expectNothing(company);
  });

  it('an export leaves no part of a file behind', async () => {
    const company = await createOwnedCompany();
    const { id, queue } = await startExport(company);
    await exportOneFile(company, id);
    const [note] = (await listExportObjects(company)).filter((key) => key.endsWith('/upload-under-way'));
    const unfinishedUpload = (await (await env.FILES.get(note as string))?.json()) as { key: string; uploadId: string };
    const { key, uploadId } = unfinishedUpload;
    const message = queue.messages.shift() as JobMessage;
    const eraseMeanwhile = () => eraseCompany(company);
    await sendDuringRace(SELECT_EXPORTED_GROUPS_PATTERN, eraseMeanwhile, (changedEnv) =>
      deliverMessage(message, { ...queue.env, ...changedEnv }),
    );
    expect(await deliverMessage(message, queue.env)).toBe('done');
    await expect(env.FILES.resumeMultipartUpload(key, uploadId).uploadPart(1, 'late')).rejects.toThrow('10024');
    await expectNothing(company);
    expect(await selectRow('select id from company_exports where id = ?', id)).toBeNull();
  });

  it('a sign-in begins no session', async () => {
    const company = await createOwnedCompany();
    const lateSignIn = await sendDuringRace(
      INSERT_SESSION_PATTERN,
      () => eraseCompany(company),
      (changedEnv) => logIn(company, changedEnv),
    );
    expect(lateSignIn.status).toBeGreaterThanOrEqual(400);
    expect(lateSignIn.body.token).toBeUndefined();
    await expectNothing(company);
  });
});
