import { setTimeout as sleep } from 'node:timers/promises';
import { demo, requestApi } from './demo-company.ts';

export interface SentMail {
  text: string;
  html: string;
  headers?: Record<string, string>;
}

/** Creates a schedule of a dashboard, and waits for its mail to the owner of the demo's company. */
export async function sendScheduledMail(target_id: string): Promise<{ id: string; mail: SentMail }> {
  const { user } = await requestApi<{ user: { _id: string } }>('GET', '/v1/auth/me');
  const { _id: id } = await requestApi<{ _id: string }>('POST', '/v1/schedules', {
    name: 'Daily',
    target_type: 'dashboard',
    target_id,
    cron: '0 8 * * *',
    recipients: [{ user_id: user._id }],
  });
  await requestApi('POST', `/v1/schedules/${id}/run`);
  const isSent = async () =>
    (await requestApi<{ last_run: { sent: number } | null }>('GET', `/v1/schedules/${id}`)).last_run?.sent === 1;
  while (!(await isSent())) await sleep(50);
  const mails = (await (await fetch(`${demo.mailbox_url}?to=${demo.owner.email}`)).json()) as SentMail[];
  // Its link to unsubscribe names the schedule.
  return { id, mail: mails.find(({ text }) => text.includes(id)) as SentMail };
}
