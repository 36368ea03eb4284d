import { env } from 'cloudflare:test';
import { newId } from '../../src/kernel/ids.ts';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import type { Mail } from '../../src/platform/mail.ts';
import type { ApiResponse, Caller } from '../support/api.ts';
import { runScheduled } from '../support/clock.ts';
import type { Company } from '../support/companies.ts';
import { EMAIL, listMailsTo } from '../support/mail.ts';
import { expectSuccess } from '../support/signed.ts';
import { deliverMessage } from '../uploads/support.ts';

export const SCHEDULES_PATH = '/v1/schedules';

/** Creates a queue that keeps its messages until the test delivers them. */
export function createTestQueue() {
  const messages: JobMessage[] = [];
  const delays: (number | undefined)[] = [];
  const keepMessage = (message: JobMessage, delay?: number) => {
    messages.push(message);
    delays.push(delay);
  };
  const SCHEDULES = {
    send: async (message: JobMessage, { delaySeconds }: { delaySeconds?: number } = {}) =>
      keepMessage(message, delaySeconds),
    sendBatch: async (batch: { body: JobMessage }[]) => {
      for (const { body } of batch) keepMessage(body);
    },
  };
  return { messages, delays, env: { SCHEDULES } as unknown as Record<string, string> };
}

export type TestQueue = ReturnType<typeof createTestQueue>;

/** Delivers the messages of a held queue, each once. Messages sent by their handlers stay in the queue. */
export async function deliverTestMessages(queue: TestQueue, changedEnv: Record<string, unknown> = {}): Promise<void> {
  const messages = queue.messages.splice(0);
  queue.delays.splice(0);
  for (const message of messages) {
    if ((await deliverMessage(message, { ...queue.env, EMAIL, ...changedEnv })) === 'again')
      throw new Error('It was not taken.');
  }
}

/** Counts the mails that an address was sent. */
export const countMailsTo = (email: string): number => listMailsTo(email).length;

/** Records that an address agreed to the scheduled mails of a company, without sending a consent request. */
export const recordConsent = ({ id }: Pick<Company, 'id'>, email: string) =>
  env.CONTROL_DB.prepare('insert into mail_consents (id, company_id, email, agreed_at) values (?, ?, ?, ?)')
    .bind(newId(Date.now()), id, email, Date.now())
    .run();

/** A daily cron expression half a day from now, so that the clock of no test reaches it. */
const HALF_DAY_AWAY_CRON = `0 ${(new Date().getUTCHours() + 12) % 24} * * *`;

/** Creates a schedule, once a day by default. @returns its record */
export const createSchedule = (
  as: Caller,
  target: { _id: string; layout?: unknown },
  json: Record<string, unknown> = {},
): Promise<ApiResponse['body']> => expectSuccess(as.post(SCHEDULES_PATH, { json: makeScheduleInput(target, json) }));

export const makeScheduleInput = (target: { _id: string; layout?: unknown }, json: Record<string, unknown> = {}) => ({
  name: 'Every morning',
  target_type: target.layout === undefined ? 'visualization' : 'dashboard',
  target_id: target._id,
  cron: HALF_DAY_AWAY_CRON,
  time_zone: 'UTC',
  ...json,
});

/** Returns the fields of a schedule that may be changed, for clients that send back all of what they read. */
export const toChangeableFields = ({
  name,
  target_type,
  target_id,
  parameters,
  cron,
  time_zone,
  recipients,
  format,
  condition,
  status,
}: ApiResponse['body']) => ({
  name,
  target_type,
  target_id,
  parameters,
  cron,
  time_zone,
  recipients,
  format,
  condition,
  status,
});

/** Runs a schedule and delivers all messages of the run. @returns the schedule afterwards */
export async function runScheduleNow(
  as: Caller,
  id: string,
  changedEnv: Record<string, unknown> = {},
): Promise<ApiResponse['body']> {
  const queue = createTestQueue();
  await expectSuccess(as.post(`${SCHEDULES_PATH}/${id}/run`, { env: queue.env }));
  await deliverTestMessages(queue, changedEnv);
  return expectSuccess(as.get(`${SCHEDULES_PATH}/${id}`));
}

/** Does the scheduled run of this minute, and delivers all messages that it enqueues. */
export async function runDueSchedules(changedEnv: Record<string, unknown> = {}): Promise<TestQueue> {
  const queue = createTestQueue();
  await runScheduled({ ...queue.env, ...changedEnv });
  await deliverTestMessages(queue, changedEnv);
  return queue;
}

/** Returns the unsubscribe link at the end of a mail's text. */
export function readUnsubscribeLink({ text }: Mail): URL {
  const [, link] = /: (https?:\/\/\S+\/unsubscribe\/\S+)$/m.exec(text) ?? [];
  if (!link) throw new Error(`There is no link to unsubscribe in: ${text}`);
  return new URL(link);
}
