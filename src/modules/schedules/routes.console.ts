import { z } from 'zod';
import { isDenied } from '../../access/denials.ts';
import { accessDenied } from '../../access/failures.ts';
import { concurrentChange } from '../../db/failures.ts';
import { accepted, created, declareVersion, noContent, ok } from '../../http/endpoint.ts';
import { searchableListQuery } from '../../http/list-query.ts';
import { endpoint, makeListSchema, viewList } from '../../http/surfaces/console.ts';
import { toBodyFields } from '../../http/wire.ts';
import { writtenRecordSchema } from '../../http/written-records.ts';
import { dashboardNotFound } from '../dashboards/failures.ts';
import { visualizationNotFound } from '../visualizations/failures.ts';
import { scheduleNotFound, tooManyRuns, tooManySchedules } from './failures.ts';
import { newScheduleInput, scheduleChangesInput, toRecipient } from './fields.ts';
import {
  changeSchedule,
  createSchedule,
  findSchedule,
  getSchedule,
  listSchedules,
  removeSchedule,
  requireRunnableSchedule,
  runSchedule,
  type ScheduleInput,
} from './service.ts';
import { scheduleRecord, viewSchedule } from './views.ts';

const TARGET_AUTHORIZATION = {
  decidedBy: 'dashboards:schedule or visualizations:schedule, on the dashboard or visualization that is sent',
  anyOf: ['dashboards:schedule', 'visualizations:schedule'],
} as const;

const toScheduleInput = ({
  recipients,
  ...changes
}: z.output<typeof scheduleChangesInput>): Partial<ScheduleInput> => ({
  ...toBodyFields(changes),
  ...(recipients !== undefined && { recipients: recipients.map(toRecipient) }),
});

const CONDITION_DESCRIPTION = 'If it has a condition, the caller must be allowed to see the data of the condition';

const SENDING_DESCRIPTION =
  'Users are sent what they may see, and addresses what their share context lets them see; addresses get files only if the context allows downloads, otherwise the summary. After three failed runs in a row the schedule is paused, and its creator is notified, or the administrators if the creator gets no mail.';

const targetFailures = [dashboardNotFound, visualizationNotFound, accessDenied, concurrentChange] as const;

export const scheduleEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/schedules',
      access: TARGET_AUTHORIZATION,
      operationId: 'listSchedules',
      summary: 'List schedules',
      description: 'Schedules of the dashboards and visualizations that the caller may schedule. Newest first.',
      query: searchableListQuery,
      returns: ok(makeListSchema(scheduleRecord)),
      fails: [accessDenied],
    },
    async ({ ctx, query: { page, per_page: perPage, search } }) =>
      viewList(await listSchedules(ctx, { page, perPage, search }), viewSchedule),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/schedules',
      access: TARGET_AUTHORIZATION,
      operationId: 'createSchedule',
      summary: 'Create a schedule',
      description: `Mails a dashboard or visualization at the times of \`cron\`. ${CONDITION_DESCRIPTION}. ${SENDING_DESCRIPTION} A company can have at most 1,000 schedules.`,
      body: newScheduleInput,
      exactNumbers: 'text',
      returns: created(scheduleRecord),
      fails: [...targetFailures, tooManySchedules],
    },
    async ({ ctx, body }) => viewSchedule(await createSchedule(ctx, toScheduleInput(body) as ScheduleInput)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/schedules/{id}',
      access: TARGET_AUTHORIZATION,
      checkPath: (ctx, { id = '' }) => getSchedule(ctx, id),
      operationId: 'getSchedule',
      summary: 'Get a schedule',
      description: 'What it sends, when, under which condition and to whom, with the outcome of its last run.',
      returns: ok(scheduleRecord),
      versionDeclaration: declareVersion('next_run_at', 'last_run'),
      fails: [scheduleNotFound, accessDenied],
    },
    async ({ ctx, params }) => viewSchedule(await getSchedule(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/schedules/{id}',
      access: TARGET_AUTHORIZATION,
      checkPath: (ctx, { id = '' }) => findSchedule(ctx, id),
      operationId: 'updateSchedule',
      summary: 'Update a schedule',
      description: `Changes only the fields that are sent. Recipients who have unsubscribed stay so; users can be removed and added again, addresses never come back. ${CONDITION_DESCRIPTION}, except to send only \`status: paused\`. ${SENDING_DESCRIPTION}`,
      body: scheduleChangesInput,
      exactNumbers: 'text',
      returns: ok(z.union([scheduleRecord, writtenRecordSchema._id])),
      fails: [scheduleNotFound, ...targetFailures],
    },
    async ({ ctx, params, body }) => {
      const schedule = await changeSchedule(ctx, params.id, toScheduleInput(body));
      return isDenied(ctx.actor, schedule.targetType, schedule.targetId)
        ? { _id: schedule.id }
        : viewSchedule(schedule);
    },
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/schedules/{id}',
      access: TARGET_AUTHORIZATION,
      checkPath: (ctx, { id = '' }) => findSchedule(ctx, id),
      operationId: 'deleteSchedule',
      summary: 'Delete a schedule',
      description: 'Nothing more is sent. The dashboard or visualization that it sent stays.',
      returns: noContent,
      fails: [scheduleNotFound, accessDenied],
    },
    ({ ctx, params }) => removeSchedule(ctx, params.id),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/schedules/{id}/run',
      access: TARGET_AUTHORIZATION,
      checkPath: (ctx, { id = '' }) => requireRunnableSchedule(ctx, id),
      operationId: 'runSchedule',
      summary: 'Run a schedule',
      description: `Sends now, once to each recipient, even while the schedule is paused. Its condition applies. ${CONDITION_DESCRIPTION}. At most 5 times in ten minutes.`,
      returns: accepted(z.object({ run_id: z.string() })),
      fails: [scheduleNotFound, accessDenied, concurrentChange, tooManyRuns],
    },
    async ({ ctx, params }) => ({ run_id: await runSchedule(ctx, params.id) }),
  ),
];
