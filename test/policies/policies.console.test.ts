import { describe, expect, it } from 'vitest';
import { ALL_ACTIONS } from '../../src/permissions/actions.ts';
import { getManagedPolicyByName, MANAGED_POLICIES } from '../../src/permissions/managed-policies.ts';
import { createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import {
  addToGroups,
  createConsoleGroup,
  makePolicyInput,
  readInvalidFields,
  readStatusAndCode,
  UNKNOWN_ID,
} from '../support/console.ts';
import { selectRow } from '../support/race.ts';
import { expectSuccess, makeAllow, makeDeny } from '../support/signed.ts';

const READ_STATEMENTS = [makeAllow('users:list')];

const company = await createOwnedCompany();

const postPolicy = (json: Record<string, unknown>) => company.as.post('/v1/policies', { json });
const createPolicy = async (statements = READ_STATEMENTS) => (await postPolicy(makePolicyInput(statements))).body;

describe('a policy', () => {
  it('is created, and shown as it was sent', async () => {
    const input = makePolicyInput(
      [{ sid: 'Read', effect: 'Allow', actions: ['users:list', 'groups:*'], resources: ['*'] }],
      {
        name: 'Leitura São Paulo',
        description: 'Reads.',
      },
    );
    const { status, body } = await postPolicy(input);
    expect([status, body]).toEqual([
      201,
      {
        ...input,
        _id: expect.stringMatching(/^[a-f0-9]{24}$/),
        arn: `arn:svc:iam::${company.id}:policy/inline/Leitura São Paulo`,
        type: 'inline',
        is_deprecated: false,
        created_at: expect.any(String),
        updated_at: expect.any(String),
      },
    ]);
    expect((await company.as.get(`/v1/policies/${body._id}`)).body).toEqual(body);
  });

  it.each([
    [{ name: ' ' }, 'name'],
    [{ name: 'a*' }, 'name'],
    [{ name: 'a\nb' }, 'name'],
    [{ name: 'x'.repeat(129) }, 'name'],
    [{ document: undefined }, 'document'],
    [{ document: { version: '2012-10-17', statements: READ_STATEMENTS } }, 'document.version'],
    [{ document: { version: '2024-01-01', statements: [] } }, 'document.statements'],
    [{ document: { version: '2024-01-01', statements: READ_STATEMENTS, id: 'x' } }, 'document.id'],
  ])('with %j is not valid', async (wrongFields, field) => {
    expect(readInvalidFields(await postPolicy(makePolicyInput(READ_STATEMENTS, wrongFields)))).toEqual([
      422,
      'VALIDATION_ERROR',
      field,
    ]);
  });

  it.each([
    [{ actions: ['users:fly'] }, 'actions.0'],
    [{ actions: ['nothing:*'] }, 'actions.0'],
    [{ actions: [] }, 'actions'],
    [{ resources: ['arn:aws:s3:::x'] }, 'resources.0'],
    [{ resources: ['arn:svc:users::*:user/a '] }, 'resources.0'],
    [{ resources: ['arn:svc:users::*:user/a\nb'] }, 'resources.0'],
    [{ condition: {} }, 'condition'],
    [{ sid: '' }, 'sid'],
  ])('with a statement of %j is not valid', async (wrongFields, field) => {
    const statements = [{ ...makeAllow('users:list'), ...wrongFields }];
    const answer = await postPolicy(makePolicyInput(statements as never));
    expect(readInvalidFields(answer)).toEqual([422, 'VALIDATION_ERROR', `document.statements.0.${field}`]);
  });

  it('is refused over the limit of its length', async () => {
    const resources = Array.from({ length: 100 }, (_, n) => `arn:svc:users::${company.id}:user/${n}${'x'.repeat(400)}`);
    const answer = await postPolicy(makePolicyInput([{ ...makeAllow('users:list'), resources }]));
    expect(readStatusAndCode(answer)).toEqual([409, 'POLICY_LIMIT_EXCEEDED']);
  });

  it('is refused a name that another policy has, including managed policies', async () => {
    const { name } = await createPolicy();
    expect(readStatusAndCode(await postPolicy(makePolicyInput(READ_STATEMENTS, { name })))).toEqual([
      409,
      'POLICY_NAME_DUPLICATE',
    ]);
    expect(readStatusAndCode(await postPolicy(makePolicyInput(READ_STATEMENTS, { name: 'FullAdmin' })))).toEqual([
      409,
      'POLICY_NAME_DUPLICATE',
    ]);
    const { _id } = await createPolicy();
    for (const takenName of [name, 'ReadOnly']) {
      const answer = await company.as.put(`/v1/policies/${_id}`, { json: { name: takenName } });
      expect(readStatusAndCode(answer)).toEqual([409, 'POLICY_NAME_DUPLICATE']);
    }
    const other = await createOwnedCompany();
    expect((await other.as.post('/v1/policies', { json: makePolicyInput(READ_STATEMENTS, { name }) })).status).toBe(
      201,
    );
  });

  it('is changed only in the fields that are sent', async () => {
    const policyBefore = await createPolicy();
    const putPolicy = async (json: object) => (await company.as.put(`/v1/policies/${policyBefore._id}`, { json })).body;
    const renamedPolicy = await putPolicy({ name: 'Renamed' });
    expect(renamedPolicy).toEqual({
      ...policyBefore,
      name: 'Renamed',
      arn: `arn:svc:iam::${company.id}:policy/inline/Renamed`,
      updated_at: expect.any(String),
    });
    const { document } = makePolicyInput([makeAllow('groups:*'), makeDeny('groups:delete')]);
    expect(await putPolicy({ document, description: 'Groups.' })).toMatchObject({ name: 'Renamed', document });
    expect(await putPolicy({})).toMatchObject({ description: 'Groups.', document });
    const invalidAnswer = await company.as.put(`/v1/policies/${policyBefore._id}`, {
      json: { document: { statements: READ_STATEMENTS } },
    });
    expect(readInvalidFields(invalidAnswer)).toEqual([422, 'VALIDATION_ERROR', 'document.version']);
  });

  it('is deleted once, and not while a group uses it', async () => {
    const { _id } = await createPolicy();
    const group = await createConsoleGroup(company);
    await expectSuccess(company.as.post(`/v1/groups/${group._id}/policies/${_id}`));
    const refusedDeletion = await company.as.delete(`/v1/policies/${_id}`);
    expect([...readStatusAndCode(refusedDeletion), refusedDeletion.body.details.groups]).toEqual([
      409,
      'POLICY_IN_USE',
      1,
    ]);
    await expectSuccess(company.as.delete(`/v1/groups/${group._id}`));
    expect((await company.as.delete(`/v1/policies/${_id}`)).status).toBe(204);
    expect(readStatusAndCode(await company.as.delete(`/v1/policies/${_id}`))).toEqual([404, 'POLICY_NOT_FOUND']);
  });
});

describe('a managed policy', () => {
  it.each(MANAGED_POLICIES.map(({ id, name }) => [name, id]))(
    '%s is shown, and can be neither changed nor deleted',
    async (name, id) => {
      const { status, body } = await company.as.get(`/v1/policies/${id}`);
      expect([status, body]).toMatchObject([
        200,
        { _id: id, name, type: 'managed', arn: `arn:svc:iam:::policy/managed/${name}` },
      ]);
      for (const answer of [
        await company.as.put(`/v1/policies/${id}`, { json: { description: 'Mine' } }),
        await company.as.delete(`/v1/policies/${id}`),
      ]) {
        expect(readStatusAndCode(answer)).toEqual([400, 'POLICY_NOT_MODIFIABLE']);
      }
      expect((await company.as.get(`/v1/policies/${id}`)).body).toEqual(body);
    },
  );
});

describe('the clone of a policy', () => {
  it('is a policy of the company with the same document', async () => {
    const { id, document, description } = getManagedPolicyByName('UserManager');
    const { status, body } = await company.as.post(`/v1/policies/${id}/clone`, { json: { name: 'Our managers' } });
    expect([status, body]).toMatchObject([201, { name: 'Our managers', type: 'inline', document, description }]);
    const changedClone = await company.as.put(`/v1/policies/${body._id}`, {
      json: makePolicyInput(READ_STATEMENTS, { name: 'Ours' }),
    });
    expect(changedClone.status).toBe(200);
    expect((await company.as.get(`/v1/policies/${id}`)).body.document).toEqual(document);
    const secondClone = await company.as.post(`/v1/policies/${body._id}/clone`, {
      json: { name: 'Copy', description: 'New' },
    });
    expect(secondClone.body).toMatchObject({ description: 'New', document: changedClone.body.document });
  });

  it('is refused with a name that another policy has', async () => {
    const path = `/v1/policies/${getManagedPolicyByName('UserManager').id}/clone`;
    expect(readInvalidFields(await company.as.post(path, { json: {} }))).toEqual([422, 'VALIDATION_ERROR', 'name']);
    for (const name of ['UserManager', (await createPolicy()).name]) {
      expect(readStatusAndCode(await company.as.post(path, { json: { name } }))).toEqual([
        409,
        'POLICY_NAME_DUPLICATE',
      ]);
    }
  });
});

describe('the list of policies', () => {
  it('has the managed policies first and then the company’s own, in pages', async () => {
    const crowdedCompany = await createOwnedCompany();
    const createdIds: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      createdIds.push(
        (await expectSuccess(crowdedCompany.as.post('/v1/policies', { json: makePolicyInput(READ_STATEMENTS) })))._id,
      );
    }
    const managed = MANAGED_POLICIES.map(({ id }) => id);
    const oldestFirstIds = createdIds.toReversed();
    for (const [at, id] of oldestFirstIds.entries())
      await selectRow('update policies set created_at = ? where id = ?', at + 1, id);
    const expectedIds = [...managed, ...createdIds];
    for (const perPage of [1, 4, 13, 14, 15, 100]) {
      const listedIds: string[] = [];
      for (let page = 1; (page - 1) * perPage < expectedIds.length + perPage; page += 1) {
        const { body } = await crowdedCompany.as.get(`/v1/policies?page=${page}&per_page=${perPage}`);
        expect([body.total, body.quantity]).toEqual([expectedIds.length, body.records.length]);
        listedIds.push(...body.records.map(({ _id }: { _id: string }) => _id));
      }
      expect(listedIds).toEqual(expectedIds);
    }
    const listSortedIds = async (by: string) =>
      (await crowdedCompany.as.get(`/v1/policies?sort_by=${by}`)).body.records.map(({ _id }: { _id: string }) => _id);
    expect(await listSortedIds('type')).toEqual(expectedIds);
    expect(await listSortedIds('-type')).toEqual([...createdIds, ...managed]);
    expect((await listSortedIds('created_at')).slice(0, 5)).toEqual(oldestFirstIds);
    expect((await listSortedIds('-created_at')).slice(-5)).toEqual(createdIds);
  });
});

it('the list of actions is returned to any signed-in caller, by service and as a whole', async () => {
  const { as } = await createAllowedUser(company);
  const { status, body } = await as.get('/v1/policies/actions');
  expect([status, body.all]).toEqual([200, ALL_ACTIONS]);
  expect(Object.values(body.services).flat()).toEqual(body.all);
  expect(body.services.company).toEqual(['company:get', 'company:update', 'company:update_sso']);
});

describe('the access to single policies', () => {
  const makePolicyArn = (name: string) => `arn:svc:iam::${company.id}:policy/inline/${name}`;

  it('is granted by their name, and shows nothing of other policies', async () => {
    const namedPolicy = (await postPolicy(makePolicyInput(READ_STATEMENTS, { name: 'Team North' }))).body;
    const otherPolicy = await createPolicy();
    const { as } = await createAllowedUser(company, { can: ['policies:*'], on: [makePolicyArn('Team*')] });
    expect((await as.get(`/v1/policies/${namedPolicy._id}`)).status).toBe(200);
    // One that is there, a managed one, one that is not: all the same, and before the body is looked at.
    for (const id of [otherPolicy._id, getManagedPolicyByName('ReadOnly').id, UNKNOWN_ID]) {
      const answers = [
        await as.get(`/v1/policies/${id}`),
        await as.put(`/v1/policies/${id}`, { json: { name: 7 } }),
        await as.delete(`/v1/policies/${id}`),
      ];
      for (const answer of answers) expect(readStatusAndCode(answer)).toEqual([403, 'FORBIDDEN']);
    }
    expect((await as.get('/v1/policies')).status).toBe(403);
    expect((await as.post(`/v1/policies/${namedPolicy._id}/clone`, { json: { name: 'Team South' } })).status).toBe(403);
    expect((await as.post('/v1/policies', { json: makePolicyInput(READ_STATEMENTS) })).status).toBe(403);
    expect((await as.put(`/v1/policies/${namedPolicy._id}`, { json: { description: 'Ours' } })).status).toBe(200);
  });

  it('is granted for managed policies by their ARN, which names no company', async () => {
    const { as } = await createAllowedUser(company, {
      can: ['policies:get'],
      on: ['arn:svc:iam:::policy/managed/Read*'],
    });
    expect((await as.get(`/v1/policies/${getManagedPolicyByName('ReadOnly').id}`)).status).toBe(200);
    expect((await as.get(`/v1/policies/${getManagedPolicyByName('FullAdmin').id}`)).status).toBe(403);
    expect((await as.get(`/v1/policies/${(await createPolicy())._id}`)).status).toBe(403);
  });

  it('can be denied for a single policy', async () => {
    const hiddenPolicy = (await postPolicy(makePolicyInput(READ_STATEMENTS, { name: 'Hidden from all' }))).body;
    const { _id: visiblePolicyId } = await createPolicy();
    const { _id: group } = await createConsoleGroup(company);
    const denyingPolicy = (
      await postPolicy(makePolicyInput([{ ...makeDeny('policies:get'), resources: [hiddenPolicy.arn] }]))
    ).body;
    await expectSuccess(company.as.post(`/v1/groups/${group}/policies/${denyingPolicy._id}`));
    const { as, id } = await createAllowedUser(company, { can: ['policies:get'] });
    await addToGroups(company, id, group);
    expect((await as.get(`/v1/policies/${visiblePolicyId}`)).status).toBe(200);
    expect((await as.get(`/v1/policies/${hiddenPolicy._id}`)).status).toBe(403);
    expect(readStatusAndCode(await as.get(`/v1/policies/${UNKNOWN_ID}`))).toEqual([404, 'POLICY_NOT_FOUND']);
  });
});
