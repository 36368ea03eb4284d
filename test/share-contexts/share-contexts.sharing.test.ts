import { describe, expect, it } from 'vitest';
import { addContextMember, CONTEXTS_PATH, createShareContext, makeDashboardGrant } from '../share-portal/support.ts';
import { createShare, makePolicy } from '../shares/support.ts';
import { createCaller } from '../support/api.ts';
import { type Company, createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import { makeParameter, postDashboard, postVisualization } from '../visualizations/support.ts';

const UNKNOWN_ID = '0'.repeat(24);

const company = await createOwnedCompany();
const visualization: { _id: string } = await postVisualization(
  company.as,
  'SELECT 1 WHERE {{region}} = ANY({{regions}})',
  {
    parameters: [makeParameter('regions', 'multi_select'), makeParameter('region', 'select')],
  },
);
const dashboard: { _id: string } = await postDashboard(company.as, [visualization], {
  filters: [{ slug: 'regions', label: 'Regions', kind: 'multi_select', options: [{ label: 'N', value: 'n' }] }],
});

const makeVisualizationGrant = (id: string, policies: unknown[] = []) => ({
  target_type: 'visualization',
  target_id: id,
  filter_policies: policies,
});
const putGrants = (id: string, grants: unknown, as = company.as) =>
  as.put(`${CONTEXTS_PATH}/${id}/grants`, { json: { grants } });

describe('a share context', () => {
  it('is created with its grants', async () => {
    const grants = [
      makeDashboardGrant(dashboard._id, [makePolicy('regions', 'locked', ['n'])]),
      makeVisualizationGrant(visualization._id),
    ];
    const json = { name: 'Região Sul', description: 'Partners', grants };
    const { status, body } = await company.as.post(CONTEXTS_PATH, { json });
    expect([status, body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^[0-9a-f]{24}$/),
        name: 'Região Sul',
        slug: 'regiao-sul',
        description: 'Partners',
        grants,
        member_count: 0,
        created_at: expect.any(String),
        updated_at: expect.any(String),
      },
    ]);
    expect((await company.as.get(`${CONTEXTS_PATH}/${body.id}`)).body).toEqual(body);
    expect((await company.as.get(CONTEXTS_PATH)).body).toMatchObject({
      total: 1,
      page: 1,
      per_page: 20,
      records: [body],
    });
    const repeatedContext = await company.as.post(CONTEXTS_PATH, { json });
    expect(repeatedContext.body.slug).toMatch(/^regiao-sul-[0-9a-f]{8}$/);
    const takenSlugAnswer = await company.as.post(CONTEXTS_PATH, { json: { ...json, slug: 'regiao-sul' } });
    expect([takenSlugAnswer.status, takenSlugAnswer.body.error_code]).toEqual([409, 'SLUG_DUPLICATE']);
  });

  it('keeps the fields that a change does not send', async () => {
    const { id, slug } = await createShareContext(company, [makeDashboardGrant(dashboard._id)]);
    const { status, body } = await company.as.put(`${CONTEXTS_PATH}/${id}`, { json: { name: 'Other' } });
    expect([status, body]).toMatchObject([200, { name: 'Other', slug, grants: [makeDashboardGrant(dashboard._id)] }]);
    const other = await createShareContext(company);
    const takenSlugAnswer = await company.as.put(`${CONTEXTS_PATH}/${other.id}`, { json: { slug } });
    expect([takenSlugAnswer.status, takenSlugAnswer.body.error_code]).toEqual([409, 'SLUG_DUPLICATE']);
  });

  it('replaces its grants', async () => {
    const { id } = await createShareContext(company, [makeDashboardGrant(dashboard._id)]);
    const { status, body } = await putGrants(id, [makeVisualizationGrant(visualization._id)]);
    expect([status, body.grants]).toEqual([200, [makeVisualizationGrant(visualization._id)]]);
    expect((await company.as.get(`${CONTEXTS_PATH}/${id}`)).body.grants).toEqual([
      makeVisualizationGrant(visualization._id),
    ]);
    expect((await putGrants(id, [])).body.grants).toEqual([]);
  });

  it('is deleted, with its shares revoked', async () => {
    const { id } = await createShareContext(company, [makeDashboardGrant(dashboard._id)], ['a@x.test']);
    const share = await createShare(company, dashboard._id, { share_context_id: id });
    expect((await company.as.delete(`${CONTEXTS_PATH}/${id}`)).status).toBe(204);
    for (const answer of [
      await company.as.get(`${CONTEXTS_PATH}/${id}`),
      await company.as.delete(`${CONTEXTS_PATH}/${id}`),
      await company.as.get(`${CONTEXTS_PATH}/${id}/members`),
    ]) {
      expect([answer.status, answer.body.error_code]).toEqual([404, 'NOT_FOUND']);
    }
    const { body } = await company.as.get(`/api/v1/dashboards/${dashboard._id}/shares`);
    expect(body.records.find((record: { id: string }) => record.id === share.id).status).toBe('revoked');
  });

  it('is refused a member that does not exist, and names the allowed types of members', async () => {
    const { id } = await createShareContext(company);
    const addMember = async (json: object) =>
      (await company.as.post(`${CONTEXTS_PATH}/${id}/members`, { json })).body.details;
    for (const member_type of ['internal_user', 'group'])
      expect(await addMember({ member_type, member_id: UNKNOWN_ID })).toMatchObject({
        field: 'member_id',
        reason: 'not_found',
      });
    expect(await addMember({ member_type: 'team', member_id: UNKNOWN_ID })).toEqual([
      {
        field: 'member_type',
        reason: 'not_one_of',
        message: 'must be one of external_email, internal_user, group',
      },
    ]);
  });

  it('loses its grants of deleted dashboards', async () => {
    const deletedDashboard = await postDashboard(company.as, [visualization]);
    const { id } = await createShareContext(company, [
      makeDashboardGrant(deletedDashboard._id),
      makeDashboardGrant(dashboard._id),
    ]);
    await company.as.delete(`/v1/dashboards/${deletedDashboard._id}`);
    expect((await company.as.get(`${CONTEXTS_PATH}/${id}`)).body.grants).toEqual([makeDashboardGrant(dashboard._id)]);
  });

  it.each([
    ['no name', { name: '' }],
    ['a malformed slug', { slug: 'Not A Slug' }],
    ['too many grants', { grants: Array.from({ length: 101 }, () => makeDashboardGrant(UNKNOWN_ID)) }],
  ])('is refused with %s', async (_what, otherFields) => {
    const { status, body } = await company.as.post(CONTEXTS_PATH, { json: { name: 'Circle', ...otherFields } });
    expect([status, body.error_code]).toEqual([422, 'VALIDATION_ERROR']);
  });

  it('is refused with the same grant twice, and with policies that do not fit', async () => {
    const repeatedGrants = [makeDashboardGrant(dashboard._id), makeDashboardGrant(dashboard._id)];
    const unfitGrants = [makeDashboardGrant(dashboard._id, [makePolicy('nothing', 'hidden')])];
    const listGrants = [
      makeVisualizationGrant(visualization._id, [makePolicy('region', 'locked', ['a', 'b'], 'select')]),
    ];
    for (const grants of [repeatedGrants, unfitGrants, listGrants]) {
      const { status, body } = await company.as.post(CONTEXTS_PATH, { json: { name: 'Circle', grants } });
      expect([status, body.error_code]).toEqual([422, 'VALIDATION_ERROR']);
      expect(body.details[0].field).toMatch(/^grants\.\d+\./);
    }
  });

  it('is refused with targets that do not exist or belong to another company', async () => {
    const other = await createOwnedCompany();
    const foreignChart = await postVisualization(other.as, 'SELECT 1');
    for (const id of [UNKNOWN_ID, foreignChart._id, 'x']) {
      const json = { name: 'Circle', grants: [makeVisualizationGrant(id)] };
      expect((await company.as.post(CONTEXTS_PATH, { json })).status).toBe(404);
    }
  });
});

describe('the permission to share', () => {
  const createUsers = async () => ({
    dashboards: (await createAllowedUser(company, { can: ['dashboards:share'] })).as,
    visualizations: (await createAllowedUser(company, { can: ['visualizations:share'] })).as,
    both: (await createAllowedUser(company, { can: ['dashboards:share', 'visualizations:share'] })).as,
    neither: (await createAllowedUser(company, { can: ['dashboards:get', 'visualizations:get'] })).as,
  });

  it('is required for every type of target, and for one type if there are no grants', async () => {
    const contexts = {
      dashboard: (await createShareContext(company, [makeDashboardGrant(dashboard._id)])).id,
      visualization: (await createShareContext(company, [makeVisualizationGrant(visualization._id)])).id,
      mixed: (
        await createShareContext(company, [
          makeDashboardGrant(dashboard._id),
          makeVisualizationGrant(visualization._id),
        ])
      ).id,
      empty: (await createShareContext(company)).id,
    };
    const allowedContexts = {
      dashboards: { dashboard: 200, visualization: 403, mixed: 403, empty: 200 },
      visualizations: { dashboard: 403, visualization: 200, mixed: 403, empty: 200 },
      both: { dashboard: 200, visualization: 200, mixed: 200, empty: 200 },
      neither: { dashboard: 403, visualization: 403, mixed: 403, empty: 403 },
    };
    const callers = await createUsers();
    for (const [who, row] of Object.entries(allowedContexts)) {
      const as = callers[who as keyof typeof allowedContexts];
      for (const [what, expected] of Object.entries(row)) {
        const id = contexts[what as keyof typeof contexts];
        const allowedAnswers = [
          await as.get(`${CONTEXTS_PATH}/${id}`),
          await as.put(`${CONTEXTS_PATH}/${id}`, { json: { description: 'x' } }),
          await as.get(`${CONTEXTS_PATH}/${id}/members`),
        ];
        for (const { status } of allowedAnswers) expect([who, what, status]).toEqual([who, what, expected]);
        if (expected === 403) {
          const refusedAnswers = [
            await putGrants(id, [], as),
            await as.delete(`${CONTEXTS_PATH}/${id}`),
            await as.post(`${CONTEXTS_PATH}/${id}/members`, {
              json: { member_type: 'external_email', email: 'a@b.test' },
            }),
          ];
          for (const { status, body } of refusedAnswers) expect([status, body.error_code]).toEqual([403, 'FORBIDDEN']);
        }
      }
      const { status, body } = await as.get(`${CONTEXTS_PATH}?per_page=100`);
      if (who === 'neither') expect(status).toBe(403);
      else {
        const listedIds = body.records.map(({ id }: { id: string }) => id);
        for (const [what, expected] of Object.entries(row)) {
          expect(listedIds.includes(contexts[what as keyof typeof contexts])).toBe(expected === 200);
        }
        expect(body.total).toBe(body.records.length);
      }
    }
  });

  it('is required for the targets that are granted, and checked before validation', async () => {
    const { dashboards, both, neither } = await createUsers();
    const { id } = await createShareContext(company);
    expect((await putGrants(id, [makeVisualizationGrant(visualization._id)], dashboards)).status).toBe(403);
    // Whoever shares a dashboard shares what stands on it.
    expect((await putGrants(id, [makeDashboardGrant(dashboard._id)], dashboards)).status).toBe(403);
    const emptyDashboard = await postDashboard(company.as, []);
    expect((await putGrants(id, [makeDashboardGrant(emptyDashboard._id)], dashboards)).status).toBe(200);
    expect((await putGrants(id, [makeDashboardGrant(dashboard._id)], both)).status).toBe(200);
    const json = { name: 'Circle', grants: [makeVisualizationGrant(visualization._id)] };
    expect((await dashboards.post(CONTEXTS_PATH, { json })).status).toBe(403);
    expect((await neither.post(CONTEXTS_PATH, { json: {} })).status).toBe(403);
    expect((await neither.get(`${CONTEXTS_PATH}/${UNKNOWN_ID}`)).status).toBe(403);
    expect((await createCaller('x').post(CONTEXTS_PATH, { json: {} })).status).toBe(401);
  });
});

describe('a request that is invalid', () => {
  it('is answered with 403 and not 422 to callers who may not share everything that its path names', async () => {
    const { as } = await createAllowedUser(company, { can: ['dashboards:share'] });
    const { id } = await createShareContext(company, [makeVisualizationGrant(visualization._id)]);
    const sendInvalidRequests = async (caller: Company['as']) => {
      const answers = [
        await caller.get(`${CONTEXTS_PATH}/${id}?unknown=1`),
        await caller.put(`${CONTEXTS_PATH}/${id}`, { json: { name: '' } }),
        await caller.put(`${CONTEXTS_PATH}/${id}`, { json: { unknown: 1 } }),
        await caller.put(`${CONTEXTS_PATH}/${id}/grants`, { json: {} }),
        await caller.get(`${CONTEXTS_PATH}/${id}/members?page=0`),
        await caller.post(`${CONTEXTS_PATH}/${id}/members`, { json: {} }),
        await caller.delete(`${CONTEXTS_PATH}/${id}?unknown=1`),
        await caller.post(`/api/v1/dashboards/${dashboard._id}/shares`, { json: {} }),
        await caller.post(`/api/v1/embed/dashboards/${dashboard._id}`, { json: { expires_in: 1 } }),
      ];
      return answers.map(({ status }) => status);
    };
    expect(new Set(await sendInvalidRequests(as))).toEqual(new Set([403]));
    expect(new Set(await sendInvalidRequests(company.as))).toEqual(new Set([422]));
  });
});

describe('the members of a share context', () => {
  it('are users and groups of the company, and e-mail addresses from outside', async () => {
    const { id } = await createShareContext(company);
    const user = await createAllowedUser(company);
    const groups = await company.as.get('/v1/groups?per_page=1');
    const group = groups.body.records[0]._id;
    const outsideMember = await company.as.post(`${CONTEXTS_PATH}/${id}/members`, {
      json: { member_type: 'external_email', email: 'Ana@Partner.test' },
    });
    expect([outsideMember.status, outsideMember.body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^[0-9a-f]{24}$/),
        member_type: 'external_email',
        member_id: null,
        email: 'ana@partner.test',
        created_at: expect.any(String),
      },
    ]);
    const insideMember = await addContextMember(company.as, id, { member_type: 'internal_user', member_id: user.id });
    expect(insideMember).toMatchObject({ member_id: user.id, email: user.email });
    expect(await addContextMember(company.as, id, { member_type: 'group', member_id: group })).toMatchObject({
      member_id: group,
      email: null,
    });
    const { body } = await company.as.get(`${CONTEXTS_PATH}/${id}/members`);
    expect([body.total, body.records.map((member: { member_type: string }) => member.member_type).sort()]).toEqual([
      3,
      ['external_email', 'group', 'internal_user'],
    ]);
    expect((await company.as.get(`${CONTEXTS_PATH}/${id}`)).body.member_count).toBe(3);

    const { as } = await createAllowedUser(company, {
      can: ['dashboards:share', 'visualizations:share'],
      denied: ['users:get', 'groups:get'],
      deniedArns: [`arn:svc:users::${company.id}:user/${user.id}`, `arn:svc:groups::${company.id}:group/${group}`],
    });
    expect((await as.get(`${CONTEXTS_PATH}/${id}/members`)).body.total).toBe(1);
    expect((await as.get(`${CONTEXTS_PATH}/${id}`)).body.member_count).toBe(1);
    const listedContexts = (await as.get(`${CONTEXTS_PATH}?per_page=100`)).body.records;
    expect(listedContexts.find((context: { id: string }) => context.id === id).member_count).toBe(1);
  });

  it('are added once, and refused with 409 after that', async () => {
    const { id } = await createShareContext(company);
    const json = { member_type: 'external_email', email: 'a@b.test' };
    const addMember = () => company.as.post(`${CONTEXTS_PATH}/${id}/members`, { json });
    expect((await addMember()).status).toBe(201);
    const repeatedMember = await addMember();
    expect([repeatedMember.status, repeatedMember.body.error_code]).toEqual([409, 'MEMBER_DUPLICATE']);
  });

  it('are removed once, and then not found', async () => {
    const { id, members } = await createShareContext(company, [], ['a@b.test']);
    const path = `${CONTEXTS_PATH}/${id}/members/${members[0]?.id}`;
    expect((await company.as.delete(path)).status).toBe(204);
    expect((await company.as.delete(path)).status).toBe(404);
    expect((await company.as.get(`${CONTEXTS_PATH}/${id}/members`)).body.total).toBe(0);
  });

  it.each([
    ['an unknown type', { member_type: 'robot', email: 'a@b.test' }, 422],
    ['no address', { member_type: 'external_email' }, 422],
    ['an invalid address', { member_type: 'external_email', email: 'nobody' }, 422],
    ['no id', { member_type: 'internal_user' }, 422],
    ['an unknown user', { member_type: 'internal_user', member_id: UNKNOWN_ID }, 404],
    ['an unknown group', { member_type: 'group', member_id: 'x' }, 404],
  ])('are refused with %s', async (_what, json, expected) => {
    const { id } = await createShareContext(company);
    expect((await company.as.post(`${CONTEXTS_PATH}/${id}/members`, { json })).status).toBe(expected);
  });

  it('are not users or groups of another company', async () => {
    const other = await createOwnedCompany();
    const { id } = await createShareContext(company);
    const json = { member_type: 'internal_user', member_id: other.owner.id };
    expect((await company.as.post(`${CONTEXTS_PATH}/${id}/members`, { json })).status).toBe(404);
  });
});
