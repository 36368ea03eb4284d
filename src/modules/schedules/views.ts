import { z } from 'zod';
import type { LastRun } from '../../db/schema/schedules.ts';
import { makeView } from '../../http/wire.ts';
import { timestampSchema } from '../../kernel/fields.ts';
import { lastRunView, recipientView, scheduleFields } from './fields.ts';
import type { Schedule } from './service.ts';

/** A schedule in the API's responses. */
export const scheduleRecord = z
  .object({
    _id: z.string(),
    ...scheduleFields,
    recipients: z.array(recipientView),
    unsubscribed: z.array(recipientView).meta({
      description: 'The recipients who have unsubscribed, from this schedule or from all of the company.',
    }),
    next_run_at: timestampSchema.nullable().meta({ description: 'Null while it is paused.' }),
    last_run: lastRunView.nullable().meta({
      description: 'Null before the first run, and for callers who may not see the data of its condition.',
    }),
    created_by_user_id: z.string(),
    created_at: timestampSchema,
    updated_at: timestampSchema,
  })
  .meta({ id: 'Schedule' });

const viewRecipient = ({ kind, subject }: Schedule['recipients'][number]) =>
  kind === 'user' ? { user_id: subject } : { email: subject };

const viewLastRun = ({ about: _hiddenSubject, ...told }: LastRun): z.input<typeof lastRunView> => told;

const viewScheduleRecord = makeView(scheduleRecord);
export const viewSchedule = (schedule: Schedule) =>
  viewScheduleRecord({
    ...schedule,
    recipients: schedule.recipients.map(viewRecipient),
    unsubscribed: schedule.recipients.filter(({ unsubscribedAt }) => unsubscribedAt !== null).map(viewRecipient),
    lastRun: schedule.lastRun && viewLastRun(schedule.lastRun),
  });
