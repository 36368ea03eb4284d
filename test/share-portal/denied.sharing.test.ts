import { describe, expect, it } from 'vitest';
import { createAllowedUser, createProvisionedCompany } from '../support/companies.ts';
import { expectSuccess } from '../support/signed.ts';
import { postDashboard, postVisualization } from '../visualizations/support.ts';
import { addContextMember, createShareContext, makeDashboardGrant, signInOutsider } from './support.ts';

const PORTAL_PATH = '/api/v1/share-portal';

const company = await createProvisionedCompany();
const visualization = await postVisualization(company.as, 'SELECT 1');
const hiddenDashboard: { _id: string } = await postDashboard(company.as, [visualization]);
const openDashboard: { _id: string } = await postDashboard(company.as, [visualization]);
const contextId = (
  await createShareContext(company, [makeDashboardGrant(hiddenDashboard._id), makeDashboardGrant(openDashboard._id)])
).id;

const createDeniedMember = async (action: string) => {
  const resource = `arn:svc:dashboards::${company.id}:dashboard/${hiddenDashboard._id}`;
  const { id, as } = await createAllowedUser(company, { denied: [action], deniedArns: [resource] });
  await addContextMember(company.as, contextId, { member_type: 'internal_user', member_id: id });
  return as;
};
const listIds = (body: { records: { id: string }[] }) => body.records.map(({ id }) => id);

describe('the portal', () => {
  it.each(['dashboards:get', 'dashboards:list'])(
    'lists no dashboard for a user of the company who is denied %s on it',
    async (action) => {
      const as = await createDeniedMember(action);
      for (const path of [`dashboards?context_id=${contextId}`, `${company.slug}/dashboards`]) {
        const body = await expectSuccess(as.get(`${PORTAL_PATH}/${path}`));
        expect([body.total, listIds(body)]).toEqual([1, [openDashboard._id]]);
      }
    },
  );

  it('shows outsiders everything that their contexts grant', async () => {
    const email = 'guest@portal-denied.test';
    await addContextMember(company.as, contextId, { member_type: 'external_email', email });
    const { as } = await signInOutsider(company, email);
    expect((await expectSuccess(as.get(`${PORTAL_PATH}/dashboards?context_id=${contextId}`))).total).toBe(2);
  });
});
