import { describe, expect, it } from 'vitest';
import type { ApiResponse } from '../support/api.ts';
import { createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import { selectRow, sendDuringRace } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import { DASHBOARDS_PATH, postDashboard, postVisualization } from '../visualizations/support.ts';
import { createSchedule, createTestQueue, makeScheduleInput, SCHEDULES_PATH } from './support.ts';

const company = await createOwnedCompany();
const chart = await postVisualization(company.as, 'SELECT 1 AS one');
const me = { user_id: company.owner.id };

const SCHEDULE_INSERT_PATTERN = /^insert into "schedules"/;
const SCHEDULE_UPDATE_PATTERN = /^update "schedules"/;
const makePath = ({ _id }: ApiResponse['body']) => `${SCHEDULES_PATH}/${_id}`;

describe('a schedule', () => {
  it('is not created for a dashboard that is deleted meanwhile', async () => {
    const target = await postDashboard(company.as, [chart]);
    const answer = await sendDuringRace(
      SCHEDULE_INSERT_PATTERN,
      () => expectSuccess(company.as.delete(`${DASHBOARDS_PATH}/${target._id}`)),
      (env) => company.as.post(SCHEDULES_PATH, { json: makeScheduleInput(target, { recipients: [me] }), env }),
    );
    expect([answer.status, answer.body.error]).toEqual([404, 'DASHBOARD_NOT_FOUND']);
    expect(await selectRow('select id from schedules where target_id = ?', target._id)).toBeNull();
  });

  it('is not changed to a dashboard that is deleted meanwhile', async () => {
    const schedule = await createSchedule(company.as, chart, { recipients: [me] });
    const target = await postDashboard(company.as, [chart]);
    const other = await createAllowedUser(company);
    const json = { target_type: 'dashboard', target_id: target._id, recipients: [{ user_id: other.id }] };
    const answer = await sendDuringRace(
      SCHEDULE_UPDATE_PATTERN,
      () => expectSuccess(company.as.delete(`${DASHBOARDS_PATH}/${target._id}`)),
      (env) => company.as.put(makePath(schedule), { json, env }),
    );
    expect([answer.status, answer.body.error]).toEqual([404, 'DASHBOARD_NOT_FOUND']);
    expect((await company.as.get(makePath(schedule))).body).toMatchObject({ target_id: chart._id, recipients: [me] });
  });

  it('keeps the changes that others make meanwhile', async () => {
    const schedule = await createSchedule(company.as, chart, { recipients: [me] });
    const other = await createAllowedUser(company);
    const answer = await sendDuringRace(
      SCHEDULE_UPDATE_PATTERN,
      () =>
        expectSuccess(
          company.as.put(makePath(schedule), { json: { name: 'Meanwhile', recipients: [{ user_id: other.id }] } }),
        ),
      (env) => company.as.put(makePath(schedule), { json: { format: 'csv' }, env }),
    );
    expect(answer.body).toMatchObject({ name: 'Meanwhile', format: 'csv', recipients: [{ user_id: other.id }] });
  });

  it('keeps its recipients when its editor meanwhile loses the permission to change it', async () => {
    const otherChart = await postVisualization(company.as, 'SELECT 2 AS two');
    const on = [`arn:svc:visualizations::${company.id}:visualization/${chart._id}`];
    const { as, id } = await createAllowedUser(company, { can: ['visualizations:schedule'], on });
    const schedule = await createSchedule(as, chart, { recipients: [me] });
    const answer = await sendDuringRace(
      SCHEDULE_UPDATE_PATTERN,
      () => expectSuccess(company.as.put(makePath(schedule), { json: { target_id: otherChart._id } })),
      (env) => as.put(makePath(schedule), { json: { recipients: [{ user_id: id }] }, env }),
    );
    expect(answer.status).toBe(403);
    expect((await company.as.get(makePath(schedule))).body).toMatchObject({
      target_id: otherChart._id,
      recipients: [me],
    });
  });

  it('that is deleted meanwhile is not run', async () => {
    const schedule = await createSchedule(company.as, chart, { recipients: [me] });
    const queue = createTestQueue();
    const answer = await sendDuringRace(
      /^insert into "schedule_runs"/,
      () => expectSuccess(company.as.delete(makePath(schedule))),
      (env) => company.as.post(`${makePath(schedule)}/run`, { env: { ...queue.env, ...env } }),
    );
    expect([answer.status, answer.body.error]).toEqual([404, 'SCHEDULE_NOT_FOUND']);
    expect(queue.messages).toEqual([]);
  });
});
