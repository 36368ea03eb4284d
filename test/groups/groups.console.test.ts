import { describe, expect, it } from 'vitest';
import { getManagedPolicyByName } from '../../src/permissions/managed-policies.ts';
import { createAllowedUser, createOwnedCompany } from '../support/companies.ts';
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
import { createSignedCaller, expectSuccess, makeAllow, storePolicy } from '../support/signed.ts';

const READER_ROLE = { name: 'Reader', target: 'users', actions: ['read' as const] };
const VIEW_POLICY = getManagedPolicyByName('VisualizationViewer').id;

const company = await createOwnedCompany();

const postGroup = (json: Record<string, unknown>) => company.as.post('/v1/groups', { json });
const readGroup = (id: string) => company.as.get(`/v1/groups/${id}`);

describe('a group', () => {
  it('is made with roles and permissions, and returned as it was made', async () => {
    const permissionId = await createPermission(company);
    const input = makeGroupInput({ roles: [READER_ROLE, { name: 'All', target: 'content', actions: ['*'] }] });
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
    [{ slug: 'Upper' }, 'slug'],
    [{ slug: 'a--b' }, 'slug'],
    [{ slug: 'a_b' }, 'slug'],
    [{ slug: '-a' }, 'slug'],
    [{ slug: 'a'.repeat(64) }, 'slug'],
    [{ description: 'nine char' }, 'description'],
    [{ roles: [{ ...READER_ROLE, actions: [] }] }, 'roles.0.actions'],
    [{ roles: Array.from({ length: 51 }, () => READER_ROLE) }, 'roles'],
  ])('with %j is not valid', async (wrongFields, field) => {
    expect(readInvalidFields(await postGroup(makeGroupInput(wrongFields)))).toEqual([422, 'VALIDATION_ERROR', field]);
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
    const secondGroup = (await postGroup(makeGroupInput())).body;
    const putGroup = (json: object) => company.as.put(`/v1/groups/${secondGroup._id}`, { json });
    expect(readStatusAndCode(await putGroup({ name: first.name }))).toEqual([409, 'GROUP_NAME_DUPLICATE']);
    expect(readStatusAndCode(await putGroup({ slug: first.slug }))).toEqual([409, 'GROUP_SLUG_DUPLICATE']);
    const other = await createOwnedCompany();
    expect((await other.as.post('/v1/groups', { json: makeGroupInput({ slug: first.slug }) })).status).toBe(201);
    await company.as.delete(`/v1/groups/${first._id}`);
    expect((await postGroup(makeGroupInput({ name: first.name, slug: first.slug }))).status).toBe(201);
  });

  it('keeps the fields that a change does not send', async () => {
    const groupBefore = (await postGroup(makeGroupInput({ roles: [READER_ROLE] }))).body;
    const putGroup = async (json: object) => {
      const { status, body } = await company.as.put(`/v1/groups/${groupBefore._id}`, { json });
      expect(status).toBe(200);
      return body;
    };
    const { name, slug } = makeGroupInput();
    expect(await putGroup({ name })).toEqual({ ...groupBefore, name, updated_at: expect.any(String) });
    expect(await putGroup({ slug })).toMatchObject({
      name,
      slug,
      description: groupBefore.description,
      roles: [READER_ROLE],
    });
    expect(await putGroup({ description: 'Another description.' })).toMatchObject({ name, slug });
    expect(await putGroup({})).toMatchObject({ description: 'Another description.' });
    const invalidAnswer = await company.as.put(`/v1/groups/${groupBefore._id}`, {
      json: { name: 'x', slug: 'A', description: '' },
    });
    expect(readInvalidFields(invalidAnswer).toSorted()).toEqual([
      422,
      'VALIDATION_ERROR',
      'description',
      'name',
      'slug',
    ]);
  });

  it('is returned without policies and permissions that are denied to the caller', async () => {
    const [hiddenPermission, shownPermission] = [await createPermission(company), await createPermission(company)];
    const policies = await Promise.all([1, 2].map(() => storePolicy(company, [makeAllow('users:list')])));
    const { _id } = (await postGroup(makeGroupInput({ permissionIds: [hiddenPermission, shownPermission] }))).body;
    for (const id of policies) await expectSuccess(company.as.post(`/v1/groups/${_id}/policies/${id}`));
    const { arn } = await expectSuccess(company.as.get(`/v1/policies/${policies[0]}`));
    const deniedArns = [arn, `arn:svc:permissions::${company.id}:permission/${hiddenPermission}`];
    const { as } = await createAllowedUser(company, {
      can: ['*'],
      denied: ['policies:get', 'permissions:get'],
      deniedArns,
    });
    const remainingGrants = { permissionIds: [shownPermission], attached_policies: [policies[1]] };
    expect((await as.get(`/v1/groups/${_id}`)).body).toMatchObject(remainingGrants);
    const { records } = (await as.get('/v1/groups?per_page=100')).body;
    expect(records.find((record: { _id: string }) => record._id === _id)).toMatchObject(remainingGrants);
    expect((await as.put(`/v1/groups/${_id}`, { json: { name: 'Denied in part' } })).body).toMatchObject(
      remainingGrants,
    );
    const replacedPermissions = await as.put(`/v1/groups/${_id}/permissions`, { json: { permissionIds: [] } });
    expect(replacedPermissions.body.permissionIds).toEqual([]);
    expect((await readGroup(_id)).body.permissionIds).toEqual([hiddenPermission]);
  });

  it('of the organization API can be sent back as it was read, though its texts are shorter than the console accepts', async () => {
    const createdGroup = (await createSignedCaller(company.apiKey).post('/groups', { json: { name: 'x' } })).body;
    const groupRecord = (await readGroup(createdGroup.id)).body;
    const putGroup = (json: object) => company.as.put(`/v1/groups/${createdGroup.id}`, { json });
    const slug = `sent-back-${createdGroup.id.slice(-6)}`;
    expect((await putGroup({ ...groupRecord, slug })).body).toMatchObject({
      name: groupRecord.name,
      description: '',
      slug,
    });
    expect(readInvalidFields(await putGroup({ ...groupRecord, name: 'y' }))).toEqual([422, 'VALIDATION_ERROR', 'name']);
    expect(readInvalidFields(await putGroup({ name: groupRecord.name, description: 'short' }))).toEqual([
      422,
      'VALIDATION_ERROR',
      'description',
    ]);
  });

  it('is deleted once, with its memberships', async () => {
    const { _id } = await createConsoleGroup(company);
    const user = await createAllowedUser(company);
    await addToGroups(company, user.id, _id);
    expect((await company.as.delete(`/v1/groups/${_id}`)).status).toBe(204);
    for (const secondAnswer of [await company.as.delete(`/v1/groups/${_id}`), await readGroup(_id)]) {
      expect(readStatusAndCode(secondAnswer)).toEqual([404, 'GROUP_NOT_FOUND']);
      expect(JSON.stringify(secondAnswer.body)).not.toContain('deleted');
    }
    expect((await company.as.get(`/v1/users/${user.id}`)).body.group_ids).not.toContain(_id);
  });
});

describe('a global group', () => {
  it('can be neither changed nor deleted, even by the owner', async () => {
    const { viewers, administrators } = await readGlobalGroups(company);
    for (const id of [viewers, administrators]) {
      const groupBefore = (await readGroup(id)).body;
      expect(groupBefore.is_global).toBe(true);
      for (const json of [{ name: 'Other' }, { slug: 'other' }, { description: 'Something else.' }]) {
        const answer = await company.as.put(`/v1/groups/${id}`, { json });
        expect(readStatusAndCode(answer)).toEqual([400, 'CANNOT_MODIFY_GLOBAL']);
      }
      expect(readStatusAndCode(await company.as.delete(`/v1/groups/${id}`))).toEqual([400, 'CANNOT_DELETE_GLOBAL']);
      expect((await readGroup(id)).body).toEqual(groupBefore);
    }
  });

  it('can be given permissions and policies', async () => {
    const { viewers } = await readGlobalGroups(company);
    const permissionId = await createPermission(company);
    const json = { permissionIds: [permissionId] };
    expect((await company.as.post(`/v1/groups/${viewers}/permissions`, { json })).status).toBe(200);
    expect((await company.as.post(`/v1/groups/${viewers}/policies/${VIEW_POLICY}`)).status).toBe(204);
    expect((await readGroup(viewers)).body).toMatchObject({
      permissionIds: [permissionId],
      attached_policies: [getManagedPolicyByName('ReadOnly').id, VIEW_POLICY].toSorted(),
    });
  });
});

it('the list of groups pages through all groups once, with or without the global groups', async () => {
  const crowdedCompany = await createOwnedCompany();
  const createdIds: string[] = [];
  for (let count = 0; count < 3; count += 1) createdIds.push((await createConsoleGroup(crowdedCompany))._id);
  const { administrators, viewers } = await readGlobalGroups(crowdedCompany);
  const readIds = async (query: string) => {
    const seenIds: string[] = [];
    for (const page of [1, 2, 3]) {
      const { body } = await crowdedCompany.as.get(`/v1/groups?page=${page}&per_page=2${query}`);
      seenIds.push(...body.records.map((group: { _id: string }) => group._id));
      expect([body.quantity, body.records.length]).toEqual([body.records.length, body.quantity]);
      expect(body.total).toBe(query.endsWith('false') ? 3 : 5);
    }
    return seenIds.toSorted();
  };
  expect(await readIds('')).toEqual([...createdIds, administrators, viewers].toSorted());
  expect(await readIds('&include_global=true')).toEqual([...createdIds, administrators, viewers].toSorted());
  expect(await readIds('&include_global=false')).toEqual(createdIds.toSorted());
});

describe('the permissions of a group', () => {
  const changePermissions = (method: 'post' | 'put' | 'delete', id: string, permissionIds: unknown) =>
    company.as[method](`/v1/groups/${id}/permissions`, { json: { permissionIds } });

  it('are replaced, except permissions that the caller is denied to get', async () => {
    const [hidden, other, wanted] = [
      await createPermission(company),
      await createPermission(company),
      await createPermission(company),
    ];
    const { _id } = await createConsoleGroup(company);
    await expectSuccess(changePermissions('put', _id, [hidden, other]));
    const deniedArns = [`arn:svc:permissions::${company.id}:permission/${hidden}`];
    const { as } = await createAllowedUser(company, { can: ['*'], denied: ['permissions:get'], deniedArns });
    await expectSuccess(as.put(`/v1/groups/${_id}/permissions`, { json: { permissionIds: [wanted] } }));
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
      const { status, body } = await changePermissions(method, _id, sent);
      expect([status, body._id, body.permissionIds]).toEqual([200, _id, left.toSorted()]);
      expect((await readGroup(_id)).body.permissionIds).toEqual(left.toSorted());
    }
  });

  it('are refused when one of them does not exist', async () => {
    const { _id } = await createConsoleGroup(company);
    const ownPermission = await createPermission(company);
    const foreignPermission = await createPermission(await createOwnedCompany());
    for (const unknownId of [foreignPermission, UNKNOWN_ID, 'x']) {
      const answers = [
        await postGroup(makeGroupInput({ permissionIds: [ownPermission, unknownId] })),
        ...(await Promise.all(
          (['post', 'put', 'delete'] as const).map((method) =>
            changePermissions(method, _id, [ownPermission, unknownId]),
          ),
        )),
      ];
      for (const answer of answers) {
        expect(readStatusAndCode(answer)).toEqual([404, 'PERMISSION_NOT_FOUND']);
        expect(answer.body.details).toMatchObject({ field: 'permissionIds', ids: [unknownId] });
      }
    }
    expect((await readGroup(_id)).body.permissionIds).toEqual([]);
  });

  it('are refused by a POST of none', async () => {
    expect(readInvalidFields(await changePermissions('post', UNKNOWN_ID, []))).toEqual([
      422,
      'VALIDATION_ERROR',
      'permissionIds',
    ]);
  });
});

describe('the policies of a group', () => {
  it('are attached and detached, with effect on the next request', async () => {
    const { as, id } = await createAllowedUser(company);
    const { _id } = await createConsoleGroup(company);
    await addToGroups(company, id, _id);
    const path = `/v1/groups/${_id}/policies/${getManagedPolicyByName('UserManager').id}`;
    for (const status of [204, 204]) expect((await company.as.post(path)).status).toBe(status);
    expect((await readGroup(_id)).body.attached_policies).toEqual([getManagedPolicyByName('UserManager').id]);
    expect((await as.get('/v1/users')).status).toBe(200);
    expect((await company.as.delete(path)).status).toBe(204);
    expect((await as.get('/v1/users')).status).toBe(403);
    expect(readStatusAndCode(await company.as.delete(path))).toEqual([404, 'POLICY_NOT_FOUND']);
  });

  it('are refused when one of them does not exist', async () => {
    const { _id } = await createConsoleGroup(company);
    for (const method of ['post', 'delete'] as const) {
      const answer = await company.as[method](`/v1/groups/${_id}/policies/${UNKNOWN_ID}`);
      expect(readStatusAndCode(answer)).toEqual([404, 'POLICY_NOT_FOUND']);
    }
  });
});

describe('the groups of the organization API', () => {
  const createSigner = () => createSignedCaller(company.apiKey);

  it('include groups that the console made', async () => {
    const group = await createConsoleGroup(company, { roles: [READER_ROLE] });
    const { status, body } = await createSigner().get(`/groups/${group._id}`);
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
    await expectSuccess(createSigner().post(`/groups/${group._id}/policies/${VIEW_POLICY}`));
    expect((await readGroup(group._id)).body.attached_policies).toEqual([VIEW_POLICY]);
  });

  it('are shown by the console, with a slug from the name and no roles', async () => {
    const createdGroup = await expectSuccess(createSigner().post('/groups', { json: { name: 'Vendas São Paulo' } }));
    expect((await readGroup(createdGroup.id)).body).toMatchObject({
      slug: 'vendas-sao-paulo',
      roles: [],
      permissionIds: [],
      attached_policies: [],
      is_global: false,
    });
    await createConsoleGroup(company);
    const groupWithSlug = (await postGroup(makeGroupInput({ slug: 'taken-here' }))).body;
    const otherGroup = await expectSuccess(createSigner().post('/groups', { json: { name: 'Taken here' } }));
    expect((await readGroup(otherGroup.id)).body.slug).toMatch(/^taken-here-[a-f0-9]{8}$/);
    expect((await readGroup(groupWithSlug._id)).body.slug).toBe('taken-here');
  });
});
