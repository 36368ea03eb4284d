import type { Action } from '../../../src/permissions/actions.ts';
import { createHeldQueue, createSchedule, makeScheduleInput, SCHEDULES_PATH } from '../../schedules/support.ts';
import type { Caller } from '../../support/api.ts';
import { aUser, type Company } from '../../support/worlds.ts';
import { createPlacedVisualization, createVisibleVisualization } from './showing.ts';
import { type AccessPath, type AccessTarget, get, makeResourceArn, post, put, remove } from './way.ts';

type Target = Parameters<typeof createSchedule>[1];
type Ask = (company: Company, target: Target) => Promise<AccessTarget['ask']>;

const makeRecipients = ({ owner }: Company) => ({ recipients: [{ user_id: owner.id }] });
const at = async (company: Company, target: Target) =>
  `${SCHEDULES_PATH}/${(await createSchedule(company.as, target, makeRecipients(company)))._id}`;

/** @param gives whether it has others sent what it is about, which nobody does who is denied to see it */
const makeWays = (way: string, route: string, gives: boolean, ask: Ask): AccessPath[] => {
  const seen: Action[] = ['visualizations:get', 'visualizations:execute'];
  return [
    {
      thing: 'dashboard',
      way,
      routes: [route],
      needs: ['dashboards:schedule'],
      denied: ['dashboards:schedule', ...(gives ? (['dashboards:get'] as const) : [])],
      async make(company) {
        const { dashboard } = await createPlacedVisualization(company);
        return { arn: makeResourceArn(company, 'dashboard', dashboard._id), ask: await ask(company, dashboard) };
      },
    },
    {
      thing: 'visualization',
      way,
      routes: [route],
      needs: ['visualizations:schedule'],
      denied: ['visualizations:schedule', ...(gives ? seen : [])],
      async make(company) {
        const made = await createVisibleVisualization(company);
        return { arn: makeResourceArn(company, 'visualization', made._id), ask: await ask(company, made) };
      },
    },
    ...(gives
      ? [
          {
            thing: 'visualization',
            way: `on a dashboard that is ${way}`,
            routes: [route],
            besides: ['dashboards:schedule'] as Action[],
            denied: seen,
            async make(company: Company) {
              const { dashboard, visualization } = await createPlacedVisualization(company);
              const arn = makeResourceArn(company, 'visualization', visualization._id);
              return { arn, ask: await ask(company, dashboard) };
            },
          },
        ]
      : []),
  ];
};

const makeRun = (path: string) => (as: Caller) => as.post(`${path}/run`, { env: createHeldQueue().env });

/** What is mailed by schedule. */
export const SCHEDULE_WAYS: AccessPath[] = [
  ...makeWays('scheduled', 'POST /v1/schedules', true, async (company, target) =>
    post(SCHEDULES_PATH, makeScheduleInput(target, makeRecipients(company))),
  ),
  ...makeWays('scheduled otherwise', 'PUT /v1/schedules/{id}', true, async (company, target) =>
    put(await at(company, target), { name: 'Every evening' }),
  ),
  ...makeWays('sent at once', 'POST /v1/schedules/{id}/run', true, async (company, target) =>
    makeRun(await at(company, target)),
  ),
  // Who is denied to see it can still end it, and read what to end.
  ...makeWays('its schedule', 'GET /v1/schedules/{id}', false, async (company, target) =>
    get(await at(company, target)),
  ),
  ...makeWays('its schedule, paused', 'PUT /v1/schedules/{id}', false, async (company, target) =>
    put(await at(company, target), { status: 'paused' }),
  ),
  ...makeWays('its schedule, deleted', 'DELETE /v1/schedules/{id}', false, async (company, target) =>
    remove(await at(company, target)),
  ),
  {
    thing: 'dashboard',
    way: 'scheduled in the place of another',
    routes: ['PUT /v1/schedules/{id}'],
    besides: ['visualizations:schedule'],
    needs: ['dashboards:schedule'],
    denied: ['dashboards:schedule', 'dashboards:get'],
    async make(company) {
      const { dashboard, visualization } = await createPlacedVisualization(company);
      const path = await at(company, visualization);
      const ask = put(path, { target_type: 'dashboard', target_id: dashboard._id });
      return { arn: makeResourceArn(company, 'dashboard', dashboard._id), ask };
    },
  },
  {
    thing: 'user',
    way: 'recipient of a schedule',
    routes: ['POST /v1/schedules', 'PUT /v1/schedules/{id}'],
    besides: ['dashboards:schedule'],
    denied: ['users:get'],
    async make(company) {
      const { dashboard } = await createPlacedVisualization(company);
      const { id } = await aUser(company);
      const json = makeScheduleInput(dashboard, { recipients: [{ user_id: id }] });
      return { arn: makeResourceArn(company, 'user', id), ask: post(SCHEDULES_PATH, json) };
    },
  },
];
