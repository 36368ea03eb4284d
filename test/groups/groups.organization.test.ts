import { describe, expect, it } from 'vitest';
import { createOwnedCompany } from '../support/companies.ts';
import { createPolicyGroup, createSignedCaller, makeAllow, storePolicy } from '../support/signed.ts';

const [company, other] = await Promise.all([createOwnedCompany(), createOwnedCompany()]);
const admin = createSignedCaller(company.apiKey);

let nameCount = 0;
const makeName = () => `Team ${nameCount++}`;
const UNKNOWN_ID = '0'.repeat(24);

describe('a group', () => {
  it('is made without members', async () => {
    const json = { name: makeName(), description: 'Who reads' };
    const { status, body } = await admin.post('/groups', { json });
    expect(status).toBe(201);
    expect(body).toEqual({
      ...json,
      id: expect.stringMatching(/^[a-f0-9]{24}$/),
      organization_id: company.id,
      attached_policies: [],
      member_count: 0,
      created_at: expect.stringMatching(/Z$/),
      updated_at: body.created_at,
      deleted_at: null,
    });
    expect((await admin.get(`/groups/${body.id}`)).body).toEqual(body);
  });

  it('may have a name whose slug is taken, or from which no slug can be made', async () => {
    for (const name of ['Ação São João', 'acao sao joao', 'ACAO-SAO-JOAO', '日本語', '한국어', '---']) {
      expect((await admin.post('/groups', { json: { name } })).status).toBe(201);
    }
  });
});

describe('an attached policy', () => {
  it('is refused when it is neither a policy of the organization nor a managed policy', async () => {
    const groupId = await createPolicyGroup(company);
    const foreignPolicy = await storePolicy(other, [makeAllow('users:ListUsers')]);
    for (const policyId of [UNKNOWN_ID, 'nonsense', foreignPolicy]) {
      const { status, body } = await admin.post(`/groups/${groupId}/policies/${policyId}`);
      expect([status, body.error, body.details.field]).toEqual([404, 'NotFound', 'policy_id']);
      expect((await admin.delete(`/groups/${groupId}/policies/${policyId}`)).status).toBe(404);
    }
  });
});
