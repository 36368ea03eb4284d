import { beforeAll, describe, expect, it } from 'vitest';
import { aContext, aMember, CONTEXTS_PATH, dashboardGrant } from '../share-portal/support.ts';
import { aShare, policy } from '../shares/support.ts';
import { createCaller } from '../support/api.ts';
import { aCompany, aUser, type Company } from '../support/worlds.ts';
import { aDashboard, aVisualization, parameter } from '../visualizations/support.ts';

const UNKNOWN = '0'.repeat(24);

let company: Company;
let visualization: { _id: string };
let dashboard: { _id: string };
beforeAll(async () => {
  company = await aCompany();
  visualization = await aVisualization(company.as, 'SELECT 1 WHERE {{region}} = ANY({{regions}})', {
    parameters: [parameter('regions', 'multi_select'), parameter('region', 'select')],
  });
  dashboard = await aDashboard(company.as, [visualization], {
    filters: [{ slug: 'regions', label: 'Regions', kind: 'multi_select', options: [{ label: 'N', value: 'n' }] }],
  });
});

const visualizationGrant = (id: string, policies: unknown[] = []) => ({
  target_type: 'visualization',
  target_id: id,
  filter_policies: policies,
});
const put = (id: string, grants: unknown, as = company.as) =>
  as.put(`${CONTEXTS_PATH}/${id}/grants`, { json: { grants } });

describe('a share context', () => {
  it('is made with its grants', async () => {
    const grants = [
      dashboardGrant(dashboard._id, [policy('regions', 'locked', ['n'])]),
      visualizationGrant(visualization._id),
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
    const again = await company.as.post(CONTEXTS_PATH, { json });
    expect(again.body.slug).toMatch(/^regiao-sul-[0-9a-f]{8}$/);
    const taken = await company.as.post(CONTEXTS_PATH, { json: { ...json, slug: 'regiao-sul' } });
    expect([taken.status, taken.body.error_code]).toEqual([409, 'SLUG_DUPLICATE']);
  });

  it('keeps the fields that a change does not send', async () => {
    const { id, slug } = await aContext(company, [dashboardGrant(dashboard._id)]);
    const { status, body } = await company.as.put(`${CONTEXTS_PATH}/${id}`, { json: { name: 'Other' } });
    expect([status, body]).toMatchObject([200, { name: 'Other', slug, grants: [dashboardGrant(dashboard._id)] }]);
    const other = await aContext(company);
    const taken = await company.as.put(`${CONTEXTS_PATH}/${other.id}`, { json: { slug } });
    expect([taken.status, taken.body.error_code]).toEqual([409, 'SLUG_DUPLICATE']);
  });

  it('replaces its grants', async () => {
    const { id } = await aContext(company, [dashboardGrant(dashboard._id)]);
    const { status, body } = await put(id, [visualizationGrant(visualization._id)]);
    expect([status, body.grants]).toEqual([200, [visualizationGrant(visualization._id)]]);
    expect((await company.as.get(`${CONTEXTS_PATH}/${id}`)).body.grants).toEqual([
      visualizationGrant(visualization._id),
    ]);
    expect((await put(id, [])).body.grants).toEqual([]);
  });

  it('is deleted, with its shares revoked', async () => {
    const { id } = await aContext(company, [dashboardGrant(dashboard._id)], ['a@x.test']);
    const share = await aShare(company, dashboard._id, { share_context_id: id });
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

  it('names the member that it does not find, and the types of members that there are', async () => {
    const { id } = await aContext(company);
    const add = async (json: object) =>
      (await company.as.post(`${CONTEXTS_PATH}/${id}/members`, { json })).body.details;
    for (const member_type of ['internal_user', 'group'])
      expect(await add({ member_type, member_id: UNKNOWN })).toMatchObject({ field: 'member_id', reason: 'not_found' });
    expect(await add({ member_type: 'team', member_id: UNKNOWN })).toEqual([
      {
        field: 'member_type',
        reason: 'not_one_of',
        message: 'must be one of external_email, internal_user, group',
      },
    ]);
  });

  it('has no grants of deleted dashboards', async () => {
    const gone = await aDashboard(company.as, [visualization]);
    const { id } = await aContext(company, [dashboardGrant(gone._id), dashboardGrant(dashboard._id)]);
    await company.as.delete(`/v1/dashboards/${gone._id}`);
    expect((await company.as.get(`${CONTEXTS_PATH}/${id}`)).body.grants).toEqual([dashboardGrant(dashboard._id)]);
  });

  it.each([
    ['no name', { name: '' }],
    ['a malformed slug', { slug: 'Not A Slug' }],
    ['an unknown target type', { grants: [{ target_type: 'table', target_id: UNKNOWN }] }],
    ['too many grants', { grants: Array.from({ length: 101 }, () => dashboardGrant(UNKNOWN)) }],
  ])('is refused with %s', async (_what, more) => {
    const { status, body } = await company.as.post(CONTEXTS_PATH, { json: { name: 'Circle', ...more } });
    expect([status, body.error_code]).toEqual([422, 'VALIDATION_ERROR']);
  });

  it('is refused with the same grant twice, and with policies that do not fit', async () => {
    const twice = [dashboardGrant(dashboard._id), dashboardGrant(dashboard._id)];
    const unfit = [dashboardGrant(dashboard._id, [policy('nothing', 'hidden')])];
    const compared = [visualizationGrant(visualization._id, [policy('region', 'locked', ['a', 'b'], 'select')])];
    for (const grants of [twice, unfit, compared]) {
      const { status, body } = await company.as.post(CONTEXTS_PATH, { json: { name: 'Circle', grants } });
      expect([status, body.error_code]).toEqual([422, 'VALIDATION_ERROR']);
      expect(body.details[0].field).toMatch(/^grants\.\d+\./);
    }
  });

  it('is refused with targets that do not exist or are another company’s', async () => {
    const other = await aCompany();
    const foreign = await aVisualization(other.as, 'SELECT 1');
    for (const id of [UNKNOWN, foreign._id, 'x']) {
      const json = { name: 'Circle', grants: [visualizationGrant(id)] };
      expect((await company.as.post(CONTEXTS_PATH, { json })).status).toBe(404);
    }
  });
});

describe('the permission to share', () => {
  const users = async () => ({
    dashboards: (await aUser(company, { can: ['dashboards:share'] })).as,
    visualizations: (await aUser(company, { can: ['visualizations:share'] })).as,
    both: (await aUser(company, { can: ['dashboards:share', 'visualizations:share'] })).as,
    neither: (await aUser(company, { can: ['dashboards:get', 'visualizations:get'] })).as,
  });

  it('is needed for every type of target, and for one type if there are no grants', async () => {
    const contexts = {
      dashboard: (await aContext(company, [dashboardGrant(dashboard._id)])).id,
      visualization: (await aContext(company, [visualizationGrant(visualization._id)])).id,
      mixed: (await aContext(company, [dashboardGrant(dashboard._id), visualizationGrant(visualization._id)])).id,
      empty: (await aContext(company)).id,
    };
    const may = {
      dashboards: { dashboard: 200, visualization: 403, mixed: 403, empty: 200 },
      visualizations: { dashboard: 403, visualization: 200, mixed: 403, empty: 200 },
      both: { dashboard: 200, visualization: 200, mixed: 200, empty: 200 },
      neither: { dashboard: 403, visualization: 403, mixed: 403, empty: 403 },
    };
    const callers = await users();
    for (const [who, row] of Object.entries(may)) {
      const as = callers[who as keyof typeof may];
      for (const [what, expected] of Object.entries(row)) {
        const id = contexts[what as keyof typeof contexts];
        const answers = [
          await as.get(`${CONTEXTS_PATH}/${id}`),
          await as.put(`${CONTEXTS_PATH}/${id}`, { json: { description: 'x' } }),
          await as.get(`${CONTEXTS_PATH}/${id}/members`),
        ];
        for (const { status } of answers) expect([who, what, status]).toEqual([who, what, expected]);
        if (expected === 403) {
          const refused = [
            await put(id, [], as),
            await as.delete(`${CONTEXTS_PATH}/${id}`),
            await as.post(`${CONTEXTS_PATH}/${id}/members`, {
              json: { member_type: 'external_email', email: 'a@b.test' },
            }),
          ];
          for (const { status, body } of refused) expect([status, body.error_code]).toEqual([403, 'FORBIDDEN']);
        }
      }
      const { status, body } = await as.get(`${CONTEXTS_PATH}?per_page=100`);
      if (who === 'neither') expect(status).toBe(403);
      else {
        const listed = body.records.map(({ id }: { id: string }) => id);
        for (const [what, expected] of Object.entries(row)) {
          expect(listed.includes(contexts[what as keyof typeof contexts])).toBe(expected === 200);
        }
        expect(body.total).toBe(body.records.length);
      }
    }
  });

  it('is needed for the targets that are granted, and checked before validation', async () => {
    const { dashboards, both, neither } = await users();
    const { id } = await aContext(company);
    expect((await put(id, [visualizationGrant(visualization._id)], dashboards)).status).toBe(403);
    // Whoever shares a dashboard shares what stands on it.
    expect((await put(id, [dashboardGrant(dashboard._id)], dashboards)).status).toBe(403);
    const bare = await aDashboard(company.as, []);
    expect((await put(id, [dashboardGrant(bare._id)], dashboards)).status).toBe(200);
    expect((await put(id, [dashboardGrant(dashboard._id)], both)).status).toBe(200);
    const json = { name: 'Circle', grants: [visualizationGrant(visualization._id)] };
    expect((await dashboards.post(CONTEXTS_PATH, { json })).status).toBe(403);
    expect((await neither.post(CONTEXTS_PATH, { json: {} })).status).toBe(403);
    expect((await neither.get(`${CONTEXTS_PATH}/${UNKNOWN}`)).status).toBe(403);
    expect((await createCaller('x').post(CONTEXTS_PATH, { json: {} })).status).toBe(401);
  });
});

describe('the members of a share context', () => {
  it('are people and groups of the company, and addresses from outside', async () => {
    const { id } = await aContext(company);
    const user = await aUser(company);
    const groups = await company.as.get('/v1/groups?per_page=1');
    const group = groups.body.records[0]._id;
    const outside = await company.as.post(`${CONTEXTS_PATH}/${id}/members`, {
      json: { member_type: 'external_email', email: 'Ana@Partner.test' },
    });
    expect([outside.status, outside.body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^[0-9a-f]{24}$/),
        member_type: 'external_email',
        member_id: null,
        email: 'ana@partner.test',
        created_at: expect.any(String),
      },
    ]);
    const inside = await aMember(company.as, id, { member_type: 'internal_user', member_id: user.id });
    expect(inside).toMatchObject({ member_id: user.id, email: user.email });
    expect(await aMember(company.as, id, { member_type: 'group', member_id: group })).toMatchObject({
      member_id: group,
      email: null,
    });
    const { body } = await company.as.get(`${CONTEXTS_PATH}/${id}/members`);
    expect([body.total, body.records.map((member: { member_type: string }) => member.member_type).sort()]).toEqual([
      3,
      ['external_email', 'group', 'internal_user'],
    ]);
    expect((await company.as.get(`${CONTEXTS_PATH}/${id}`)).body.member_count).toBe(3);

    const { as } = await aUser(company, {
      can: ['dashboards:share', 'visualizations:share'],
      denied: ['users:get', 'groups:get'],
      deniedOn: [`arn:svc:users::${company.id}:user/${user.id}`, `arn:svc:groups::${company.id}:group/${group}`],
    });
    expect((await as.get(`${CONTEXTS_PATH}/${id}/members`)).body.total).toBe(1);
    expect((await as.get(`${CONTEXTS_PATH}/${id}`)).body.member_count).toBe(1);
    const listed = (await as.get(`${CONTEXTS_PATH}?per_page=100`)).body.records;
    expect(listed.find((context: { id: string }) => context.id === id).member_count).toBe(1);
  });

  it('are added once, and refused with 409 after that', async () => {
    const { id } = await aContext(company);
    const json = { member_type: 'external_email', email: 'a@b.test' };
    const add = () => company.as.post(`${CONTEXTS_PATH}/${id}/members`, { json });
    expect((await add()).status).toBe(201);
    const again = await add();
    expect([again.status, again.body.error_code]).toEqual([409, 'MEMBER_DUPLICATE']);
  });

  it('are removed once, and then not found', async () => {
    const { id, members } = await aContext(company, [], ['a@b.test']);
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
    ['an unknown user', { member_type: 'internal_user', member_id: UNKNOWN }, 404],
    ['an unknown group', { member_type: 'group', member_id: 'x' }, 404],
  ])('are refused with %s', async (_what, json, expected) => {
    const { id } = await aContext(company);
    expect((await company.as.post(`${CONTEXTS_PATH}/${id}/members`, { json })).status).toBe(expected);
  });

  it('are not users or groups of another company', async () => {
    const other = await aCompany();
    const { id } = await aContext(company);
    const json = { member_type: 'internal_user', member_id: other.owner.id };
    expect((await company.as.post(`${CONTEXTS_PATH}/${id}/members`, { json })).status).toBe(404);
  });
});
