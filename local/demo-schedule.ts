import type { Client } from '../client/client.ts';

const SCHEDULE_NAME = 'Strikes of the week';

/**
 * Has the demo's dashboard mailed to its owner on Monday mornings; locally mails come to `mailbox_url`. @param api client of the
 * company's owner @returns the id of the schedule: also of one that an earlier start made without storing its id
 */
export async function makeSchedule(api: Client, dashboardId: string): Promise<string> {
  const { records } = await api.get('/v1/schedules', { query: { search: SCHEDULE_NAME } });
  const existingSchedule = records.find(({ name }) => name === SCHEDULE_NAME);
  if (existingSchedule) return existingSchedule._id;
  const { user } = await api.get('/v1/auth/me');
  if (!user) throw new Error('The demo is not signed in as a person.');
  const { _id } = await api.post('/v1/schedules', {
    body: {
      name: SCHEDULE_NAME,
      target_type: 'dashboard',
      target_id: dashboardId,
      cron: '0 8 * * 1',
      recipients: [{ user_id: user._id }],
    },
  });
  return _id;
}
