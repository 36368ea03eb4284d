import { env } from 'cloudflare:test';
import { newId } from '../../src/kernel/ids.ts';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import type { Mail } from '../../src/platform/mail.ts';
import type { ApiResponse, Caller } from '../support/api.ts';
import { runScheduled } from '../support/clock.ts';
import { EMAIL, listMailsTo } from '../support/mail.ts';
import { must } from '../support/signed.ts';
import type { Company } from '../support/worlds.ts';
import { deliverMessage } from '../uploads/support.ts';

export const SCHEDULES_PATH = '/v1/schedules';

/** A queue that keeps its messages until the test delivers them. */
export function createHeldQueue() {
  const messages: JobMessage[] = [];
  const delays: (number | undefined)[] = [];
  const keep = (message: JobMessage, delay?: number) => {
    messages.push(message);
    delays.push(delay);
  };
  const SCHEDULES = {
    send: async (message: JobMessage, { delaySeconds }: { delaySeconds?: number } = {}) => keep(message, delaySeconds),
    sendBatch: async (batch: { body: JobMessage }[]) => {
      for (const { body } of batch) keep(body);
    },
  };
  return { messages, delays, env: { SCHEDULES } as unknown as Record<string, string> };
}

export type HeldQueue = ReturnType<typeof createHeldQueue>;

/** Delivers what a queue holds, each message once. What they lead to later stays in it. */
export async function deliverHeld(queue: HeldQueue, changed: Record<string, unknown> = {}): Promise<void> {
  const messages = queue.messages.splice(0);
  queue.delays.splice(0);
  for (const message of messages) {
    if ((await deliverMessage(message, { ...queue.env, EMAIL, ...changed })) === 'again')
      throw new Error('It was not taken.');
  }
}

/** How many mails an address was sent. */
export const countMailsTo = (email: string): number => listMailsTo(email).length;

/** Makes an address one that has agreed to the scheduled mails of a company, without a mail that asks. */
export const recordAgreement = ({ id }: Pick<Company, 'id'>, email: string) =>
  env.CONTROL_DB.prepare('insert into mail_consents (id, company_id, email, agreed_at) values (?, ?, ?, ?)')
    .bind(newId(Date.now()), id, email, Date.now())
    .run();

/** Half a day from now, so that no clock of a test comes to it, whatever the hour is. */
const FAR_CRON = `0 ${(new Date().getUTCHours() + 12) % 24} * * *`;

/** Makes a schedule, once a day unless said otherwise, and answers its record. */
export const createSchedule = (
  as: Caller,
  target: { _id: string; layout?: unknown },
  json: Record<string, unknown> = {},
): Promise<ApiResponse['body']> => must(as.post(SCHEDULES_PATH, { json: makeScheduleInput(target, json) }));

export const makeScheduleInput = (target: { _id: string; layout?: unknown }, json: Record<string, unknown> = {}) => ({
  name: 'Every morning',
  target_type: target.layout === undefined ? 'visualization' : 'dashboard',
  target_id: target._id,
  cron: FAR_CRON,
  time_zone: 'UTC',
  ...json,
});

/** What a schedule may be changed to, as its record shows it: for clients that send back all of what they read. */
export const toChangeable = ({
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

/** Runs a schedule and does all that the run leads to. @returns the schedule afterwards */
export async function runNow(
  as: Caller,
  id: string,
  changed: Record<string, unknown> = {},
): Promise<ApiResponse['body']> {
  const queue = createHeldQueue();
  await must(as.post(`${SCHEDULES_PATH}/${id}/run`, { env: queue.env }));
  await deliverHeld(queue, changed);
  return must(as.get(`${SCHEDULES_PATH}/${id}`));
}

/** The scheduled run of this minute, and all that it hands out. */
export async function runDue(changed: Record<string, unknown> = {}): Promise<HeldQueue> {
  const queue = createHeldQueue();
  await runScheduled({ ...queue.env, ...changed });
  await deliverHeld(queue, changed);
  return queue;
}

/** The link that the foot of a mail ends with. */
export function unsubscribeLinkIn({ text }: Mail): URL {
  const [, link] = /: (https?:\/\/\S+\/unsubscribe\/\S+)$/m.exec(text) ?? [];
  if (!link) throw new Error(`There is no link to unsubscribe in: ${text}`);
  return new URL(link);
}
