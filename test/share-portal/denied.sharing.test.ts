import { beforeAll, describe, expect, it } from 'vitest';
import { must } from '../support/signed.ts';
import { aProvisionedCompany, aUser, type Company } from '../support/worlds.ts';
import { aDashboard, aVisualization } from '../visualizations/support.ts';
import { aContext, aMember, anOutsider, dashboardGrant } from './support.ts';

const PORTAL_PATH = '/api/v1/share-portal';

let company: Company;
let hidden: { _id: string };
let open: { _id: string };
let contextId: string;
beforeAll(async () => {
  company = await aProvisionedCompany();
  const visualization = await aVisualization(company.as, 'SELECT 1');
  hidden = await aDashboard(company.as, [visualization]);
  open = await aDashboard(company.as, [visualization]);
  contextId = (await aContext(company, [dashboardGrant(hidden._id), dashboardGrant(open._id)])).id;
});

const memberDenied = async (action: string) => {
  const resource = `arn:svc:dashboards::${company.id}:dashboard/${hidden._id}`;
  const { id, as } = await aUser(company, { denied: [action], deniedOn: [resource] });
  await aMember(company.as, contextId, { member_type: 'internal_user', member_id: id });
  return as;
};
const idsIn = (body: { records: { id: string }[] }) => body.records.map(({ id }) => id);

describe('the portal', () => {
  it.each(['dashboards:get', 'dashboards:list'])(
    'lists no dashboard for a user of the company who is denied %s on it',
    async (action) => {
      const as = await memberDenied(action);
      for (const path of [`dashboards?context_id=${contextId}`, `${company.slug}/dashboards`]) {
        const body = await must(as.get(`${PORTAL_PATH}/${path}`));
        expect([body.total, idsIn(body)]).toEqual([1, [open._id]]);
      }
    },
  );

  it('shows outsiders all that their contexts grant', async () => {
    const email = 'guest@portal-denied.test';
    await aMember(company.as, contextId, { member_type: 'external_email', email });
    const { as } = await anOutsider(company, email);
    expect((await must(as.get(`${PORTAL_PATH}/dashboards?context_id=${contextId}`))).total).toBe(2);
  });
});
