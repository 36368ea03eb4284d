import { createSchedule, createTestQueue, makeScheduleInput, SCHEDULES_PATH } from '../../schedules/support.ts';
import type { Caller } from '../../support/api.ts';
import { type Company, createAllowedUser } from '../../support/companies.ts';
import {
  type AccessPath,
  type AccessTarget,
  makeDeleteRequest,
  makeGetRequest,
  makePostRequest,
  makePutRequest,
  makeResourceArn,
  VIEWING_ACTIONS,
} from './access-path.ts';
import { createVisualizationOnDashboard, makeDashboardPath, makeVisualizationPath } from './results.ts';

type ScheduleTarget = Parameters<typeof createSchedule>[1];
type RequestMaker = (company: Company, target: ScheduleTarget) => Promise<AccessTarget['ask']>;

const makeRecipients = ({ owner }: Company) => ({ recipients: [{ user_id: owner.id }] });
const createSchedulePath = async (company: Company, target: ScheduleTarget) =>
  `${SCHEDULES_PATH}/${(await createSchedule(company.as, target, makeRecipients(company)))._id}`;

/**
 * Makes the access paths of a schedule route. @param sendsContent true if the schedule mails its target's content, which callers
 * who are denied to see it may not do
 */
const makeSchedulePaths = (
  label: string,
  route: string,
  sendsContent: boolean,
  makeRequest: RequestMaker,
): AccessPath[] => {
  return [
    makeDashboardPath({
      resourceTitle: 'dashboard',
      description: label,
      routes: [route],
      neededActions: ['dashboards:schedule'],
      closingActions: ['dashboards:schedule', ...(sendsContent ? (['dashboards:get'] as const) : [])],
      ask: ({ dashboard }, company) => makeRequest(company, dashboard),
    }),
    makeVisualizationPath({
      description: label,
      routes: [route],
      neededActions: ['visualizations:schedule'],
      closingActions: ['visualizations:schedule', ...(sendsContent ? VIEWING_ACTIONS : [])],
      ask: ({ visualization }, company) => makeRequest(company, visualization),
    }),
    ...(sendsContent
      ? [
          makeDashboardPath({
            description: `on a dashboard that is ${label}`,
            routes: [route],
            extraActions: ['dashboards:schedule'],
            closingActions: VIEWING_ACTIONS,
            ask: ({ dashboard }, company) => makeRequest(company, dashboard),
          }),
        ]
      : []),
  ];
};

const makeRunRequest = (path: string) => (as: Caller) => as.post(`${path}/run`, { env: createTestQueue().env });

/** Access paths to dashboards and visualizations that are mailed by schedule. */
export const SCHEDULE_PATHS: AccessPath[] = [
  ...makeSchedulePaths('scheduled', 'POST /v1/schedules', true, async (company, target) =>
    makePostRequest(SCHEDULES_PATH, makeScheduleInput(target, makeRecipients(company))),
  ),
  ...makeSchedulePaths('scheduled otherwise', 'PUT /v1/schedules/{id}', true, async (company, target) =>
    makePutRequest(await createSchedulePath(company, target), { name: 'Every evening' }),
  ),
  ...makeSchedulePaths('sent at once', 'POST /v1/schedules/{id}/run', true, async (company, target) =>
    makeRunRequest(await createSchedulePath(company, target)),
  ),
  // Who is denied to see it can still end it, and read what to end.
  ...makeSchedulePaths('its schedule', 'GET /v1/schedules/{id}', false, async (company, target) =>
    makeGetRequest(await createSchedulePath(company, target)),
  ),
  ...makeSchedulePaths('its schedule, paused', 'PUT /v1/schedules/{id}', false, async (company, target) =>
    makePutRequest(await createSchedulePath(company, target), { status: 'paused' }),
  ),
  ...makeSchedulePaths('its schedule, deleted', 'DELETE /v1/schedules/{id}', false, async (company, target) =>
    makeDeleteRequest(await createSchedulePath(company, target)),
  ),
  makeDashboardPath({
    resourceTitle: 'dashboard',
    description: 'scheduled in the place of another',
    routes: ['PUT /v1/schedules/{id}'],
    extraActions: ['visualizations:schedule'],
    neededActions: ['dashboards:schedule'],
    closingActions: ['dashboards:schedule', 'dashboards:get'],
    async ask({ visualization, dashboard }, company) {
      const path = await createSchedulePath(company, visualization);
      return makePutRequest(path, { target_type: 'dashboard', target_id: dashboard._id });
    },
  }),
  {
    resourceTitle: 'user',
    description: 'recipient of a schedule',
    routes: ['POST /v1/schedules', 'PUT /v1/schedules/{id}'],
    extraActions: ['dashboards:schedule'],
    closingActions: ['users:get'],
    async createTarget(company) {
      const { dashboard } = await createVisualizationOnDashboard(company);
      const { id } = await createAllowedUser(company);
      const json = makeScheduleInput(dashboard, { recipients: [{ user_id: id }] });
      return { arn: makeResourceArn(company, 'user', id), ask: makePostRequest(SCHEDULES_PATH, json) };
    },
  },
];
