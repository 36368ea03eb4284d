import { describe, expect, it } from 'vitest';
import { ALL_ACTIONS } from '../../src/permissions/actions.ts';
import { getManagedPolicyByName } from '../../src/permissions/managed-policies.ts';
import type { Caller } from '../support/api.ts';
import { createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import {
  addToGroups,
  createConsoleGroup,
  createPermission,
  makePolicyInput,
  readInvalidFields,
} from '../support/console.ts';
import {
  createAllowedAccount,
  createKeyedAccount,
  createPolicyGroup,
  createSignedCaller,
  expectSuccess,
  makeAllow,
  makeDeny,
  storePolicy,
} from '../support/signed.ts';

const company = await createOwnedCompany();
const admin = createSignedCaller(company.apiKey);

interface AllowedPrincipal {
  principal: { type: string; id: string; name: string };
  decided_by: Record<string, unknown>;
}

const listAllowedPrincipals = async (
  action: string,
  resource = '*',
  as: Caller = company.as,
): Promise<AllowedPrincipal[]> =>
  (await expectSuccess(as.post('/v1/policies/who-can?per_page=100', { json: { action, resource } }))).records;

const listIds = (allowedPrincipals: AllowedPrincipal[]): string[] =>
  allowedPrincipals.map(({ principal }) => principal.id);

async function createUserWithPolicies(...policyIds: string[]): Promise<{ id: string; as: Caller; groupId: string }> {
  const user = await createAllowedUser(company, { can: [] });
  const group = await createConsoleGroup(company);
  for (const id of policyIds) await expectSuccess(company.as.post(`/v1/groups/${group._id}/policies/${id}`));
  await addToGroups(company, user.id, group._id);
  return { ...user, groupId: group._id };
}

describe('the list of who can do something', () => {
  it('has everybody whom the evaluator allows the action, with the deciding rule, and nobody else', async () => {
    const readingPolicy = await storePolicy(company, [{ ...makeAllow('concepts:list'), sid: 'Reads' }]);
    const denyingPolicy = await storePolicy(company, [makeDeny('concepts:list')]);
    const allowedUser = await createUserWithPolicies(readingPolicy);
    const deniedUser = await createUserWithPolicies(readingPolicy, denyingPolicy);
    const deactivatedUser = await createUserWithPolicies(readingPolicy);
    await expectSuccess(company.as.post(`/v1/users/${deactivatedUser.id}/deactivate`));
    const invitedUser = await expectSuccess(
      company.as.post('/v1/users/invite', { json: { email: 'who@example.com', group_ids: [allowedUser.groupId] } }),
    );
    const roleUser = await createAllowedUser(company, { can: [] });
    const legacyGroup = await createConsoleGroup(company, {
      roles: [{ name: 'R', target: 'concepts', actions: ['read'] }],
    });
    await addToGroups(company, roleUser.id, legacyGroup._id);
    const serviceAccount = await createAllowedAccount(company, makeAllow('concepts:*'));
    const allowedPrincipals = await listAllowedPrincipals('concepts:list');
    expect(listIds(allowedPrincipals)).toEqual(
      expect.arrayContaining([company.owner.id, allowedUser.id, roleUser.id, serviceAccount.id]),
    );
    for (const id of [deniedUser.id, deactivatedUser.id, invitedUser._id])
      expect(listIds(allowedPrincipals)).not.toContain(id);
    const findDecision = (id: string) => allowedPrincipals.find(({ principal }) => principal.id === id)?.decided_by;
    expect(findDecision(company.owner.id)).toMatchObject({ kind: 'owner' });
    expect(findDecision(allowedUser.id)).toEqual({
      kind: 'allow',
      policy_id: readingPolicy,
      sid: 'Reads',
      group_id: allowedUser.groupId,
    });
    expect(findDecision(roleUser.id)).toEqual({
      kind: 'legacy',
      policy_id: null,
      sid: null,
      group_id: legacyGroup._id,
    });
    expect(allowedPrincipals.map(({ principal }) => principal.type)).toEqual(
      allowedPrincipals.map(({ principal }) => principal.type).toSorted((a, b) => (a < b ? 1 : -1)),
    );
  });

  it('agrees with a simulation of each principal, for many actions', async () => {
    const other = await createOwnedCompany();
    const arn = `arn:svc:users::${other.id}:user/*`;
    const user = await createAllowedUser(other, { can: ['users:*', 'groups:list'] });
    const serviceAccount = await createAllowedAccount(other, makeAllow('users:get', 'dashboards:*'));
    const actions = ALL_ACTIONS.filter((action, at) => at % 9 === 0 || action === 'mcp:connect');
    const checks = ['*', arn, 'arn:svc:'].flatMap((resource) => actions.map((action) => ({ action, resource })));
    const whoCan: AllowedPrincipal[][] = [];
    for (const json of checks)
      whoCan.push((await expectSuccess(other.as.post('/v1/policies/who-can', { json }))).records);
    for (const [type, id] of [
      ['user', other.owner.id],
      ['user', user.id],
      ['service_account', serviceAccount.id],
    ] as const) {
      const json = { principal: { type, id }, checks };
      const { results } = await expectSuccess(other.as.post('/v1/policies/simulate', { json }));
      for (const [at, { action, resource, allowed, decided_by }] of results.entries()) {
        const allowedPrincipal = whoCan[at]?.find(({ principal }) => principal.id === id);
        expect([action, resource, id, allowedPrincipal?.decided_by]).toEqual([
          action,
          resource,
          id,
          allowed ? decided_by : undefined,
        ]);
      }
    }
  });

  it('is decided by a Deny before an Allow, and by an Allow before legacy roles and permissions', async () => {
    const accessLayers = {
      permission: await createConsoleGroup(company, {
        permissionIds: [
          await createPermission(company, {
            target: { company_id: company.id, service_name: 'ontology' },
            actions: ['delete'],
          }),
        ],
      }),
      role: await createConsoleGroup(company, { roles: [{ name: 'R', target: 'ontology', actions: ['delete'] }] }),
      allow: await createConsoleGroup(company),
      deny: await createConsoleGroup(company),
    };
    for (const [group, statement] of [
      [accessLayers.allow, makeAllow('ontology:delete')],
      [accessLayers.deny, makeDeny('ontology:delete')],
    ] as const)
      await expectSuccess(
        company.as.post(`/v1/groups/${group._id}/policies/${await storePolicy(company, [statement])}`),
      );
    const { permission, role, allow: allowing, deny: denying } = accessLayers;
    for (const [groups, decidedBy] of [
      [[permission], { kind: 'legacy', group_id: permission._id }],
      [[role], { kind: 'legacy', group_id: role._id }],
      [[permission, role, allowing], { kind: 'allow', group_id: allowing._id }],
      [[permission, role, allowing, denying], undefined],
    ] as const) {
      const { id } = await createAllowedUser(company, { can: [] });
      await addToGroups(company, id, ...groups.map(({ _id }) => _id));
      const decidingRule = (await listAllowedPrincipals('ontology:delete')).find(
        ({ principal }) => principal.id === id,
      )?.decided_by;
      if (decidedBy) expect(decidingRule).toMatchObject(decidedBy);
      else expect(decidingRule).toBeUndefined();
    }
  });

  it('treats the resource `**` as everything, and `arn:*` as everything with an ARN', async () => {
    const [all, named] = [
      await createUserWithPolicies(await storePolicy(company, [{ ...makeAllow('webhooks:list'), resources: ['**'] }])),
      await createUserWithPolicies(
        await storePolicy(company, [{ ...makeAllow('webhooks:list'), resources: ['arn:*'] }]),
      ),
    ];
    const listAllowedIds = async (resource: string) =>
      listIds(await listAllowedPrincipals('webhooks:list', resource)).filter((id) => [all.id, named.id].includes(id));
    expect(await listAllowedIds('*')).toEqual([all.id]);
    expect((await listAllowedIds('arn:svc:')).toSorted()).toEqual([all.id, named.id].toSorted());
  });

  it('includes users by their groups in any account, and service accounts while they are active', async () => {
    const secondAccount = await expectSuccess(admin.post('/accounts', { json: { name: 'Second who can' } }));
    const groupId = await createPolicyGroup(company, await storePolicy(company, [makeAllow('semantic:list')]));
    const user = await createAllowedUser(company, { can: [] });
    const json = { principal_type: 'user', principal_id: user.id, account_id: secondAccount.id };
    await expectSuccess(admin.post(`/groups/${groupId}/bindings`, { json }));
    const serviceAccount = await createKeyedAccount(company, [groupId]);
    expect(listIds(await listAllowedPrincipals('semantic:list'))).toEqual(
      expect.arrayContaining([user.id, serviceAccount.id]),
    );
    await expectSuccess(admin.patch(`/service-accounts/${serviceAccount.id}`, { json: { is_active: false } }));
    expect(listIds(await listAllowedPrincipals('semantic:list'))).not.toContain(serviceAccount.id);
  });

  it('includes everybody without a Deny for mcp:connect, which needs no Allow', async () => {
    const [free, kept] = [
      await createUserWithPolicies(),
      await createUserWithPolicies(await storePolicy(company, [makeDeny('mcp:connect')])),
    ];
    const allowedPrincipals = await listAllowedPrincipals('mcp:connect');
    expect(listIds(allowedPrincipals)).toContain(free.id);
    expect(listIds(allowedPrincipals)).not.toContain(kept.id);
    expect(allowedPrincipals.find(({ principal }) => principal.id === free.id)?.decided_by).toMatchObject({
      kind: 'none',
    });
  });

  it('is answered in pages, with the total', async () => {
    const other = await createOwnedCompany();
    const groupId = await createPolicyGroup(other, getManagedPolicyByName('KnowledgeManager').id);
    for (let created = 0; created < 5; created += 1) {
      await expectSuccess(
        other.as.post(`/v1/users/${(await createAllowedUser(other, { can: [] })).id}/groups`, {
          json: { group_ids: [groupId] },
        }),
      );
    }
    const json = { action: 'concepts:delete', resource: '*' };
    const readPage = async (number: number) =>
      expectSuccess(other.as.post(`/v1/policies/who-can?page=${number}&per_page=3`, { json }));
    const [first, second, third] = [await readPage(1), await readPage(2), await readPage(3)];
    expect(new Set([first, second, third].map(({ total }) => total)).size).toBe(1);
    const allIds = [first, second, third].flatMap(({ records }) => listIds(records));
    expect(new Set(allIds).size).toBe(Math.min(9, first.total));
    expect(first.total).toBeGreaterThanOrEqual(6);
  });

  it('includes nobody whom the caller may not see', async () => {
    const user = await createUserWithPolicies(await storePolicy(company, [makeAllow('ontology:list')]));
    const statements = [
      makeAllow('policies:list'),
      { ...makeDeny('users:get'), resources: [`arn:svc:users::*/${user.id}`] },
    ];
    const { id } = await createAllowedUser(company, { can: [] });
    await addToGroups(company, id, await createPolicyGroup(company, await storePolicy(company, statements)));
    expect(listIds(await listAllowedPrincipals('ontology:list'))).toContain(user.id);
    const listingUser = await createAllowedUser(company, { can: ['policies:list'] });
    const hidingGroup = await createConsoleGroup(company);
    await expectSuccess(
      company.as.post(`/v1/groups/${hidingGroup._id}/policies/${await storePolicy(company, statements)}`),
    );
    await addToGroups(company, listingUser.id, hidingGroup._id);
    expect(listIds(await listAllowedPrincipals('ontology:list', '*', listingUser.as))).not.toContain(user.id);
  });

  it('is refused to callers who may not list policies, and for invalid resources and actions', async () => {
    const { as } = await createAllowedUser(company, { can: ['policies:get'] });
    const json = { action: 'users:list', resource: '*' };
    expect((await as.post('/v1/policies/who-can', { json })).status).toBe(403);
    const wrongResourceAnswer = await company.as.post('/v1/policies/who-can', { json: { ...json, resource: 'users' } });
    expect(readInvalidFields(wrongResourceAnswer)).toEqual([422, 'VALIDATION_ERROR', 'resource']);
    const unknownActionAnswer = await company.as.post('/v1/policies/who-can', {
      json: { ...json, action: 'users:fly' },
    });
    expect(readInvalidFields(unknownActionAnswer)).toEqual([422, 'VALIDATION_ERROR', 'action']);
  });
});

describe('a comparison of policy documents', () => {
  const compareDocuments = (documentsBefore: object[], documentsAfter: object[]) =>
    company.as.post('/v1/policies/compare', {
      json: { before: { documents: documentsBefore }, after: { documents: documentsAfter } },
    });
  const makeDocument = (...statements: Parameters<typeof makePolicyInput>[0]) => makePolicyInput(statements).document;

  it('finds two spellings of the same access equal', async () => {
    const arn = `arn:svc:users::${company.id}:user/`;
    const firstDocument = makeDocument(
      { ...makeAllow('users:get'), resources: [`${arn}*`, `${arn}a*`, '*', '**'] },
      { ...makeDeny('users:get'), resources: [`${arn}x`] },
    );
    const secondDocuments = [
      makeDocument({ ...makeDeny('users:get'), resources: [`${arn}x`] }),
      makeDocument({ ...makeAllow('users:get'), resources: ['*'] }),
    ];
    expect((await compareDocuments([firstDocument], secondDocuments)).body).toEqual({
      equal: true,
      gains: [],
      losses: [],
    });
    expect((await compareDocuments([], [])).body).toEqual({ equal: true, gains: [], losses: [] });
    const allAccess = [makeDocument(makeAllow('*'))];
    const allArns = [makeDocument({ ...makeAllow('*'), resources: ['arn:*'] })];
    const { body } = await compareDocuments(allAccess, allArns);
    expect(body.losses).toHaveLength(ALL_ACTIONS.length - 1);
    expect(body.losses[0].resource).toBe('*');
    expect(
      (await compareDocuments(allArns, [makeDocument({ ...makeAllow('*:*'), resources: ['arn:svc:*'] })])).body.equal,
    ).toBe(true);
  });

  it('names a shortest resource for each action that differs', async () => {
    const arn = `arn:svc:concepts::${company.id}:concept/`;
    const documentsBefore = [makeDocument({ ...makeAllow('concepts:*'), resources: [`${arn}*`] })];
    const documentsAfter = [
      makeDocument(
        { ...makeAllow('concepts:get'), resources: [`${arn}*`, 'arn:svc:concepts::*'] },
        makeDeny('concepts:get'),
      ),
    ];
    const { body } = await compareDocuments(documentsBefore, documentsAfter);
    expect(body.gains).toEqual([]);
    expect(body.losses).toContainEqual({ action: 'concepts:get', resource: arn });
    expect(body.losses).toHaveLength(5);
  });

  it('is refused for patterns that are too complex to compare', async () => {
    const manyWildcards = { ...makeAllow('users:list'), resources: [`arn:svc:${'*a'.repeat(200)}`] };
    expect((await compareDocuments([makeDocument(manyWildcards)], [makeDocument(manyWildcards)])).body.equal).toBe(
      true,
    );
    const endingPatterns = [...'abcdefghijklmnopqrstuvwxyz'].map((letter) => `arn:svc:*${letter}*q`);
    const complexDocument = makeDocument(makeAllow('users:list'), {
      ...makeDeny('users:list'),
      resources: endingPatterns,
    });
    const { status, body } = await compareDocuments(
      [complexDocument],
      [
        makeDocument(
          { ...makeAllow('users:list'), resources: ['*'] },
          { ...makeDeny('users:list'), resources: [`arn:svc:${'*z'.repeat(200)}`] },
        ),
      ],
    );
    expect([status, body.error]).toEqual([422, 'ACCESS_TOO_COMPLEX']);
  });
});
