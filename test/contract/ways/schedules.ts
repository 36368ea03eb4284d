import type { Action } from '../../../src/permissions/actions.ts';
import { aHeldQueue, aSchedule, SCHEDULES_PATH, scheduleOf } from '../../schedules/support.ts';
import type { Caller } from '../../support/api.ts';
import { aUser, type Company } from '../../support/worlds.ts';
import { aPlacedVisualization, aVisibleVisualization } from './showing.ts';
import { type AccessPath, type AccessTarget, get, post, put, remove, resourceArnOf } from './way.ts';

type Target = Parameters<typeof aSchedule>[1];
type Ask = (company: Company, target: Target) => Promise<AccessTarget['ask']>;

const to = ({ owner }: Company) => ({ recipients: [{ user_id: owner.id }] });
const at = async (company: Company, target: Target) =>
  `${SCHEDULES_PATH}/${(await aSchedule(company.as, target, to(company)))._id}`;

/** @param gives whether it has others sent what it is about, which nobody does who is denied to see it */
const ways = (way: string, route: string, gives: boolean, ask: Ask): AccessPath[] => {
  const seen: Action[] = ['visualizations:get', 'visualizations:execute'];
  return [
    {
      thing: 'dashboard',
      way,
      routes: [route],
      needs: ['dashboards:schedule'],
      denied: ['dashboards:schedule', ...(gives ? (['dashboards:get'] as const) : [])],
      async make(company) {
        const { dashboard } = await aPlacedVisualization(company);
        return { arn: resourceArnOf(company, 'dashboard', dashboard._id), ask: await ask(company, dashboard) };
      },
    },
    {
      thing: 'visualization',
      way,
      routes: [route],
      needs: ['visualizations:schedule'],
      denied: ['visualizations:schedule', ...(gives ? seen : [])],
      async make(company) {
        const made = await aVisibleVisualization(company);
        return { arn: resourceArnOf(company, 'visualization', made._id), ask: await ask(company, made) };
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
              const { dashboard, visualization } = await aPlacedVisualization(company);
              const arn = resourceArnOf(company, 'visualization', visualization._id);
              return { arn, ask: await ask(company, dashboard) };
            },
          },
        ]
      : []),
  ];
};

const run = (path: string) => (as: Caller) => as.post(`${path}/run`, { env: aHeldQueue().env });

/** What is mailed by schedule. */
export const SCHEDULE_WAYS: AccessPath[] = [
  ...ways('scheduled', 'POST /v1/schedules', true, async (company, target) =>
    post(SCHEDULES_PATH, scheduleOf(target, to(company))),
  ),
  ...ways('scheduled otherwise', 'PUT /v1/schedules/{id}', true, async (company, target) =>
    put(await at(company, target), { name: 'Every evening' }),
  ),
  ...ways('sent at once', 'POST /v1/schedules/{id}/run', true, async (company, target) =>
    run(await at(company, target)),
  ),
  // Who is denied to see it can still end it, and read what to end.
  ...ways('its schedule', 'GET /v1/schedules/{id}', false, async (company, target) => get(await at(company, target))),
  ...ways('its schedule, paused', 'PUT /v1/schedules/{id}', false, async (company, target) =>
    put(await at(company, target), { status: 'paused' }),
  ),
  ...ways('its schedule, deleted', 'DELETE /v1/schedules/{id}', false, async (company, target) =>
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
      const { dashboard, visualization } = await aPlacedVisualization(company);
      const path = await at(company, visualization);
      const ask = put(path, { target_type: 'dashboard', target_id: dashboard._id });
      return { arn: resourceArnOf(company, 'dashboard', dashboard._id), ask };
    },
  },
  {
    thing: 'user',
    way: 'recipient of a schedule',
    routes: ['POST /v1/schedules', 'PUT /v1/schedules/{id}'],
    besides: ['dashboards:schedule'],
    denied: ['users:get'],
    async make(company) {
      const { dashboard } = await aPlacedVisualization(company);
      const { id } = await aUser(company);
      const json = scheduleOf(dashboard, { recipients: [{ user_id: id }] });
      return { arn: resourceArnOf(company, 'user', id), ask: post(SCHEDULES_PATH, json) };
    },
  },
];
