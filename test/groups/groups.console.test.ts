import { beforeAll, describe, expect, it } from 'vitest';
import { managedPolicyNamed } from '../../src/permissions/managed-policies.ts';
import {
  addToGroups,
  createConsoleGroup,
  createPermission,
  makeGroupInput,
  readGlobalGroups,
  readInvalidFields,
  readStatusAndCode,
  UNKNOWN_ID,
} from '../support/console.ts';
import { allow, aPolicy, must, signed } from '../support/signed.ts';
import { aCompany, aUser, type Company } from '../support/worlds.ts';

const READER = { name: 'Reader', target: 'users', actions: ['read' as const] };
const VIEWS = managedPolicyNamed('VisualizationViewer').id;

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});

const postGroup = (json: Record<string, unknown>) => company.as.post('/v1/groups', { json });
const readGroup = (id: string) => company.as.get(`/v1/groups/${id}`);

describe('a group', () => {
  it('is made with roles and permissions, and shown as it was made', async () => {
    const permissionId = await createPermission(company);
    const input = makeGroupInput({ roles: [READER, { name: 'All', target: 'content', actions: ['*'] }] });
    const { status, body } = await postGroup({ ...input, permissionIds: [permissionId, permissionId] });
    expect([status, body]).toEqual([
      201,
      {
        ...input,
        _id: expect.stringMatching(/^[a-f0-9]{24}$/),
        company_id: company.id,
        is_global: false,
        permissionIds: [permissionId],
        attached_policies: [],
        created_at: expect.any(String),
        updated_at: expect.any(String),
      },
    ]);
    expect((await readGroup(body._id)).body).toEqual(body);
  });

  it.each([
    [{ name: 'x' }, 'name'],
    [{ name: ' x ' }, 'name'],
    [{ name: 'x'.repeat(201) }, 'name'],
    [{ name: undefined }, 'name'],
    [{ slug: undefined }, 'slug'],
    [{ slug: 'Upper' }, 'slug'],
    [{ slug: 'a--b' }, 'slug'],
    [{ slug: 'a_b' }, 'slug'],
    [{ slug: '-a' }, 'slug'],
    [{ slug: 'a'.repeat(64) }, 'slug'],
    [{ description: 'nine char' }, 'description'],
    [{ description: undefined }, 'description'],
    [{ roles: [{ ...READER, actions: [] }] }, 'roles.0.actions'],
    [{ roles: [{ ...READER, actions: ['write'] }] }, 'roles.0.actions.0'],
    [{ roles: [{ name: 'R', actions: ['read'] }] }, 'roles.0.target'],
    [{ roles: [{ target: 'users', actions: ['read'] }] }, 'roles.0.name'],
    [{ roles: Array.from({ length: 51 }, () => READER) }, 'roles'],
    [{ permissionIds: 'x' }, 'permissionIds'],
  ])('with %j is not valid', async (wrong, field) => {
    expect(readInvalidFields(await postGroup(makeGroupInput(wrong)))).toEqual([422, 'VALIDATION_ERROR', field]);
  });

  it('is refused a name or slug that another group has', async () => {
    const first = (await postGroup(makeGroupInput())).body;
    expect(readStatusAndCode(await postGroup(makeGroupInput({ name: first.name })))).toEqual([
      409,
      'GROUP_NAME_DUPLICATE',
    ]);
    expect(readStatusAndCode(await postGroup(makeGroupInput({ slug: first.slug })))).toEqual([
      409,
      'GROUP_SLUG_DUPLICATE',
    ]);
    const second = (await postGroup(makeGroupInput())).body;
    const put = (json: object) => company.as.put(`/v1/groups/${second._id}`, { json });
    expect(readStatusAndCode(await put({ name: first.name }))).toEqual([409, 'GROUP_NAME_DUPLICATE']);
    expect(readStatusAndCode(await put({ slug: first.slug }))).toEqual([409, 'GROUP_SLUG_DUPLICATE']);
    const other = await aCompany();
    expect((await other.as.post('/v1/groups', { json: makeGroupInput({ slug: first.slug }) })).status).toBe(201);
    await company.as.delete(`/v1/groups/${first._id}`);
    expect((await postGroup(makeGroupInput({ name: first.name, slug: first.slug }))).status).toBe(201);
  });

  it('keeps the fields that a change does not send', async () => {
    const before = (await postGroup(makeGroupInput({ roles: [READER] }))).body;
    const put = async (json: object) => {
      const { status, body } = await company.as.put(`/v1/groups/${before._id}`, { json });
      expect(status).toBe(200);
      return body;
    };
    const { name, slug } = makeGroupInput();
    expect(await put({ name })).toEqual({ ...before, name, updated_at: expect.any(String) });
    expect(await put({ slug })).toMatchObject({ name, slug, description: before.description, roles: [READER] });
    expect(await put({ description: 'Another description.' })).toMatchObject({ name, slug });
    expect(await put({})).toMatchObject({ description: 'Another description.' });
    const bad = await company.as.put(`/v1/groups/${before._id}`, { json: { name: 'x', slug: 'A', description: '' } });
    expect(readInvalidFields(bad).toSorted()).toEqual([422, 'VALIDATION_ERROR', 'description', 'name', 'slug']);
  });

  it('names no policy and no permission that is denied to the caller', async () => {
    const [hidden, shown] = [await createPermission(company), await createPermission(company)];
    const policies = await Promise.all([1, 2].map(() => aPolicy(company, [allow('users:list')])));
    const { _id } = (await postGroup(makeGroupInput({ permissionIds: [hidden, shown] }))).body;
    for (const id of policies) await must(company.as.post(`/v1/groups/${_id}/policies/${id}`));
    const { arn } = await must(company.as.get(`/v1/policies/${policies[0]}`));
    const deniedOn = [arn, `arn:svc:permissions::${company.id}:permission/${hidden}`];
    const { as } = await aUser(company, { can: ['*'], denied: ['policies:get', 'permissions:get'], deniedOn });
    const left = { permissionIds: [shown], attached_policies: [policies[1]] };
    expect((await as.get(`/v1/groups/${_id}`)).body).toMatchObject(left);
    const { records } = (await as.get('/v1/groups?per_page=100')).body;
    expect(records.find((record: { _id: string }) => record._id === _id)).toMatchObject(left);
    expect((await as.put(`/v1/groups/${_id}`, { json: { name: 'Denied in part' } })).body).toMatchObject(left);
    const replaced = await as.put(`/v1/groups/${_id}/permissions`, { json: { permissionIds: [] } });
    expect(replaced.body.permissionIds).toEqual([]);
    expect((await readGroup(_id)).body.permissionIds).toEqual([hidden]);
  });

  it('of the organization API can be sent back as it was read, though its texts are shorter than the console takes', async () => {
    const made = (await signed(company.apiKey).post('/groups', { json: { name: 'x' } })).body;
    const read = (await readGroup(made.id)).body;
    const put = (json: object) => company.as.put(`/v1/groups/${made.id}`, { json });
    const slug = `sent-back-${made.id.slice(-6)}`;
    expect((await put({ ...read, slug })).body).toMatchObject({ name: read.name, description: '', slug });
    expect(readInvalidFields(await put({ ...read, name: 'y' }))).toEqual([422, 'VALIDATION_ERROR', 'name']);
    expect(readInvalidFields(await put({ name: read.name, description: 'short' }))).toEqual([
      422,
      'VALIDATION_ERROR',
      'description',
    ]);
  });

  it('is deleted once, with its memberships', async () => {
    const { _id } = await createConsoleGroup(company);
    const user = await aUser(company);
    await addToGroups(company, user.id, _id);
    expect((await company.as.delete(`/v1/groups/${_id}`)).status).toBe(204);
    for (const again of [await company.as.delete(`/v1/groups/${_id}`), await readGroup(_id)]) {
      expect(readStatusAndCode(again)).toEqual([404, 'GROUP_NOT_FOUND']);
      expect(JSON.stringify(again.body)).not.toContain('deleted');
    }
    expect((await company.as.get(`/v1/users/${user.id}`)).body.group_ids).not.toContain(_id);
  });
});

describe('a global group', () => {
  it('can be neither changed nor deleted, even by the owner', async () => {
    const { viewers, administrators } = await readGlobalGroups(company);
    for (const id of [viewers, administrators]) {
      const before = (await readGroup(id)).body;
      expect(before.is_global).toBe(true);
      for (const json of [{ name: 'Other' }, { slug: 'other' }, { description: 'Something else.' }]) {
        const answer = await company.as.put(`/v1/groups/${id}`, { json });
        expect(readStatusAndCode(answer)).toEqual([400, 'CANNOT_MODIFY_GLOBAL']);
      }
      expect(readStatusAndCode(await company.as.delete(`/v1/groups/${id}`))).toEqual([400, 'CANNOT_DELETE_GLOBAL']);
      expect((await readGroup(id)).body).toEqual(before);
    }
  });

  it('can be given permissions and policies', async () => {
    const { viewers } = await readGlobalGroups(company);
    const permissionId = await createPermission(company);
    const json = { permissionIds: [permissionId] };
    expect((await company.as.post(`/v1/groups/${viewers}/permissions`, { json })).status).toBe(200);
    expect((await company.as.post(`/v1/groups/${viewers}/policies/${VIEWS}`)).status).toBe(204);
    expect((await readGroup(viewers)).body).toMatchObject({
      permissionIds: [permissionId],
      attached_policies: [managedPolicyNamed('ReadOnly').id, VIEWS].toSorted(),
    });
  });
});

describe('the list of groups', () => {
  it('pages through all groups once, with or without the global ones', async () => {
    const crowd = await aCompany();
    const made: string[] = [];
    for (let count = 0; count < 3; count += 1) made.push((await createConsoleGroup(crowd))._id);
    const { administrators, viewers } = await readGlobalGroups(crowd);
    const read = async (query: string) => {
      const seen: string[] = [];
      for (const page of [1, 2, 3]) {
        const { body } = await crowd.as.get(`/v1/groups?page=${page}&per_page=2${query}`);
        seen.push(...body.records.map((group: { _id: string }) => group._id));
        expect([body.quantity, body.records.length]).toEqual([body.records.length, body.quantity]);
        expect(body.total).toBe(query.endsWith('false') ? 3 : 5);
      }
      return seen.toSorted();
    };
    expect(await read('')).toEqual([...made, administrators, viewers].toSorted());
    expect(await read('&include_global=true')).toEqual([...made, administrators, viewers].toSorted());
    expect(await read('&include_global=false')).toEqual(made.toSorted());
  });
});

describe('the permissions of a group', () => {
  const change = (method: 'post' | 'put' | 'delete', id: string, permissionIds: unknown) =>
    company.as[method](`/v1/groups/${id}/permissions`, { json: { permissionIds } });

  it('are replaced, except those that the caller is denied to get', async () => {
    const [hidden, other, wanted] = [
      await createPermission(company),
      await createPermission(company),
      await createPermission(company),
    ];
    const { _id } = await createConsoleGroup(company);
    await must(change('put', _id, [hidden, other]));
    const deniedOn = [`arn:svc:permissions::${company.id}:permission/${hidden}`];
    const { as } = await aUser(company, { can: ['*'], denied: ['permissions:get'], deniedOn });
    await must(as.put(`/v1/groups/${_id}/permissions`, { json: { permissionIds: [wanted] } }));
    expect((await readGroup(_id)).body.permissionIds.toSorted()).toEqual([hidden, wanted].toSorted());
    expect((await as.put(`/v1/groups/${_id}/permissions`, { json: { permissionIds: [hidden] } })).status).toBe(404);
  });

  it('are added, replaced, removed and cleared', async () => {
    const { _id } = await createConsoleGroup(company);
    const [a, b, c] = [
      await createPermission(company),
      await createPermission(company),
      await createPermission(company),
    ];
    const steps = [
      ['post', [a, b, a], [a, b]],
      ['post', [b], [a, b]],
      ['put', [b, c], [b, c]],
      ['delete', [a, b], [c]],
      ['put', [], []],
      ['delete', [], []],
    ] as const;
    for (const [method, sent, left] of steps) {
      const { status, body } = await change(method, _id, sent);
      expect([status, body._id, body.permissionIds]).toEqual([200, _id, left.toSorted()]);
      expect((await readGroup(_id)).body.permissionIds).toEqual(left.toSorted());
    }
  });

  it('are refused when one of them does not exist', async () => {
    const { _id } = await createConsoleGroup(company);
    const mine = await createPermission(company);
    const foreign = await createPermission(await aCompany());
    for (const unknown of [foreign, UNKNOWN_ID, 'x']) {
      const answers = [
        await postGroup(makeGroupInput({ permissionIds: [mine, unknown] })),
        ...(await Promise.all(
          (['post', 'put', 'delete'] as const).map((method) => change(method, _id, [mine, unknown])),
        )),
      ];
      for (const answer of answers) {
        expect(readStatusAndCode(answer)).toEqual([404, 'PERMISSION_NOT_FOUND']);
        expect(answer.body.details).toMatchObject({ field: 'permissionIds', ids: [unknown] });
      }
    }
    expect((await readGroup(_id)).body.permissionIds).toEqual([]);
  });

  it.each([
    ['post', []],
    ['post', undefined],
    ['put', undefined],
    ['delete', 7],
  ] as const)('are refused by a %s with %j', async (method, sent) => {
    expect(readInvalidFields(await change(method, UNKNOWN_ID, sent))).toEqual([
      422,
      'VALIDATION_ERROR',
      'permissionIds',
    ]);
  });
});

describe('the policies of a group', () => {
  it('are attached and detached, with effect on the next request', async () => {
    const { as, id } = await aUser(company);
    const { _id } = await createConsoleGroup(company);
    await addToGroups(company, id, _id);
    const path = `/v1/groups/${_id}/policies/${managedPolicyNamed('UserManager').id}`;
    for (const status of [204, 204]) expect((await company.as.post(path)).status).toBe(status);
    expect((await readGroup(_id)).body.attached_policies).toEqual([managedPolicyNamed('UserManager').id]);
    expect((await as.get('/v1/users')).status).toBe(200);
    expect((await company.as.delete(path)).status).toBe(204);
    expect((await as.get('/v1/users')).status).toBe(403);
    expect(readStatusAndCode(await company.as.delete(path))).toEqual([404, 'POLICY_NOT_FOUND']);
  });

  it('are refused when one does not exist', async () => {
    const { _id } = await createConsoleGroup(company);
    for (const method of ['post', 'delete'] as const) {
      const answer = await company.as[method](`/v1/groups/${_id}/policies/${UNKNOWN_ID}`);
      expect(readStatusAndCode(answer)).toEqual([404, 'POLICY_NOT_FOUND']);
    }
  });
});

describe('the groups of the organization API', () => {
  const admin = () => signed(company.apiKey);

  it('include those that the console made', async () => {
    const group = await createConsoleGroup(company, { roles: [READER] });
    const { status, body } = await admin().get(`/groups/${group._id}`);
    expect([status, body]).toEqual([
      200,
      {
        id: group._id,
        name: group.name,
        description: group.description,
        organization_id: company.id,
        attached_policies: [],
        member_count: 0,
        created_at: group.created_at,
        updated_at: group.updated_at,
        deleted_at: null,
      },
    ]);
    await must(admin().post(`/groups/${group._id}/policies/${VIEWS}`));
    expect((await readGroup(group._id)).body.attached_policies).toEqual([VIEWS]);
  });

  it('are shown by the console, with a slug from the name and no roles', async () => {
    const made = await must(admin().post('/groups', { json: { name: 'Vendas São Paulo' } }));
    expect((await readGroup(made.id)).body).toMatchObject({
      slug: 'vendas-sao-paulo',
      roles: [],
      permissionIds: [],
      attached_policies: [],
      is_global: false,
    });
    await createConsoleGroup(company);
    const taken = (await postGroup(makeGroupInput({ slug: 'taken-here' }))).body;
    const other = await must(admin().post('/groups', { json: { name: 'Taken here' } }));
    expect((await readGroup(other.id)).body.slug).toMatch(/^taken-here-[a-f0-9]{8}$/);
    expect((await readGroup(taken._id)).body.slug).toBe('taken-here');
  });
});
