import { makeName } from '../../knowledge/support.ts';
import type { Caller } from '../../support/api.ts';
import { type Company, createAllowedUser } from '../../support/companies.ts';
import {
  addToGroups,
  createConsoleGroup,
  createPermission,
  makeGroupInput,
  makePolicyInput,
} from '../../support/console.ts';
import { createAllowedAccount, expectSuccess, makeAllow } from '../../support/signed.ts';
import {
  type AccessPath,
  type AccessTarget,
  type ActionPattern,
  makePostRequest,
  makePutRequest,
  makeResourceArn,
} from './access-path.ts';

const createGroup = async (company: Company): Promise<string> => (await createConsoleGroup(company))._id;

/** Creates a policy that allows very little, so that every tested caller may grant it. */
async function createPolicy({ as }: Company) {
  const json = makePolicyInput([makeAllow('users:list')], { name: makeName('Matrix').replaceAll(' ', '-') });
  return (await expectSuccess(as.post('/v1/policies', { json }))) as { _id: string; arn: string };
}

/** Makes the access path to a group whose id is in a request body. */
const makeNamedGroupPath = (
  label: string,
  route: string,
  otherActions: ActionPattern[],
  makeRequest: (company: Company, groupId: string) => Promise<AccessTarget['ask']>,
): AccessPath => ({
  resourceTitle: 'group',
  description: label,
  routes: [route],
  extraActions: otherActions,
  closingActions: ['groups:get'],
  async createTarget(company) {
    const id = await createGroup(company);
    return { arn: makeResourceArn(company, 'group', id), ask: await makeRequest(company, id) };
  },
});

const makeGroupsUrl = async (company: Company) => `/v1/users/${(await createAllowedUser(company)).id}/groups`;

const makePermissionPath = (method: 'post' | 'put' | 'delete'): AccessPath => ({
  resourceTitle: 'permission',
  description: { post: 'added to a group', put: 'made the only one of a group', delete: 'removed from a group' }[
    method
  ],
  routes: [`${method.toUpperCase()} /v1/groups/{id}/permissions`],
  // Nobody grants what they do not have.
  extraActions: ['groups:update', 'users:*'],
  closingActions: ['permissions:get'],
  async createTarget(company) {
    const id = await createPermission(company);
    const path = `/v1/groups/${await createGroup(company)}/permissions`;
    return {
      arn: makeResourceArn(company, 'permission', id),
      ask: (as) => as[method](path, { json: { permissionIds: [id] } }),
    };
  },
});

const makeAttachmentPath = (surface: 'console' | 'organization', method: 'post' | 'delete'): AccessPath => ({
  resourceTitle: 'policy',
  description: `${method === 'post' ? 'attached to' : 'detached from'} a group, on the ${surface} API`,
  routes: [`${method.toUpperCase()} ${surface === 'console' ? '/v1' : ''}/groups/{id}/policies/{policy_id}`],
  ...(surface === 'organization' && { isSigned: true }),
  extraActions:
    surface === 'console'
      ? ['groups:attach_policy', 'groups:detach_policy', 'users:list']
      : ['groups:AttachPolicy', 'groups:DetachPolicy', 'users:list'],
  closingActions: ['policies:get'],
  async createTarget(company) {
    const { _id, arn } = await createPolicy(company);
    const groupId = await createGroup(company);
    if (method === 'delete') await expectSuccess(company.as.post(`/v1/groups/${groupId}/policies/${_id}`));
    const path = `${surface === 'console' ? '/v1' : ''}/groups/${groupId}/policies/${_id}`;
    return { arn, ask: (as: Caller) => as[method](path) };
  },
});

/** The principals that can be members, with the action that each API checks to read one. */
const PRINCIPALS = [
  {
    thing: 'user',
    onOrganization: 'users:GetUser',
    onConsole: 'users:get',
    made: async (company: Company) => (await createAllowedUser(company)).id,
  },
  {
    thing: 'service account',
    onOrganization: 'service-accounts:GetServiceAccount',
    onConsole: 'service-accounts:GetServiceAccount',
    made: async (company: Company) => (await createAllowedAccount(company)).id,
  },
] as const;

/** Makes the access path to a service account whose keys the console reads or changes: there, each key is a resource. */
const makeKeyPath = (label: string, method: 'get' | 'post' | 'delete', otherAction: ActionPattern): AccessPath => ({
  resourceTitle: 'service account on the console',
  description: label,
  routes: [`${method.toUpperCase()} /v1/service-accounts/{id}/keys${method === 'delete' ? '/{key_id}' : ''}`],
  extraActions: [otherAction],
  closingActions: ['users:list_integration_users'],
  async createTarget(company) {
    const { id, keyId } = await createAllowedAccount(company);
    const path = `/v1/service-accounts/${id}/keys`;
    return {
      arn: makeResourceArn(company, 'service account on the console', id),
      ask: (as) => as[method](method === 'delete' ? `${path}/${keyId}` : path),
    };
  },
});

/** Access paths to users, groups, policies and service accounts that a body or another resource's path names. */
export const NAMED_RESOURCE_PATHS: AccessPath[] = [
  makeKeyPath('its keys', 'get', 'api_keys:list'),
  makeKeyPath('given a key', 'post', 'api_keys:create'),
  makeKeyPath('a key of it, revoked', 'delete', 'api_keys:delete'),
  {
    resourceTitle: 'service account on the console',
    description: 'its permissions, simulated',
    routes: ['POST /v1/policies/simulate'],
    extraActions: ['policies:get'],
    closingActions: ['users:list_integration_users'],
    async createTarget(company) {
      const { id } = await createAllowedAccount(company);
      const json = { principal: { type: 'service_account', id }, checks: [{ action: 'users:list', resource: '*' }] };
      return {
        arn: makeResourceArn(company, 'service account on the console', id),
        ask: makePostRequest('/v1/policies/simulate', json),
      };
    },
  },
  makeNamedGroupPath('entered by a user', 'POST /v1/users/{id}/groups', ['users:assign_groups'], async (company, id) =>
    makePostRequest(await makeGroupsUrl(company), { group_ids: [id] }),
  ),
  makeNamedGroupPath(
    'made the only group of a user',
    'PUT /v1/users/{id}/groups',
    ['users:assign_groups'],
    async (company, id) => makePutRequest(await makeGroupsUrl(company), { group_ids: [id] }),
  ),
  makeNamedGroupPath('left by a user', 'DELETE /v1/users/{id}/groups', ['users:remove_groups'], async (company, id) => {
    const user = await createAllowedUser(company);
    await addToGroups(company, user.id, id);
    return (as) => as.delete(`/v1/users/${user.id}/groups`, { json: { group_ids: [id] } });
  }),
  {
    resourceTitle: 'group',
    description: 'left by a user whose groups are replaced',
    routes: ['PUT /v1/users/{id}/groups'],
    extraActions: ['users:assign_groups'],
    closingActions: ['groups:get'],
    async createTarget(company) {
      const id = await createGroup(company);
      const user = await createAllowedUser(company);
      await addToGroups(company, user.id, id);
      return {
        arn: makeResourceArn(company, 'group', id),
        async ask(as) {
          const answer = await as.put(`/v1/users/${user.id}/groups`, { json: { group_ids: [] } });
          const { group_ids } = await expectSuccess(company.as.get(`/v1/users/${user.id}`));
          return { ...answer, body: group_ids.includes(id) ? 'in' : 'out' };
        },
      };
    },
    isReachedBy: ({ body }) => body === 'out',
  },
  {
    resourceTitle: 'group',
    description: 'whose members are listed',
    routes: ['GET /v1/users'],
    extraActions: ['users:list'],
    closingActions: ['groups:get'],
    async createTarget(company) {
      const id = await createGroup(company);
      await addToGroups(company, (await createAllowedUser(company)).id, id);
      return { arn: makeResourceArn(company, 'group', id), ask: (as) => as.get(`/v1/users?group_id=${id}`) };
    },
    isReachedBy: ({ body }) => body.total === 1,
  },
  makeNamedGroupPath('named in an invitation', 'POST /v1/users/invite', ['users:invite'], async (_, id) =>
    makePostRequest('/v1/users/invite', {
      email: `${makeName('invited').replace(' ', '-')}@matrix.test`,
      group_ids: [id],
    }),
  ),
  ...PRINCIPALS.map(
    ({ thing, onOrganization: action, made }): AccessPath => ({
      resourceTitle: thing,
      description: 'bound to a group',
      routes: ['POST /groups/{id}/bindings'],
      isSigned: true,
      extraActions: ['groups:AddMember'],
      closingActions: [action],
      async createTarget(company) {
        const id = await made(company);
        const type = thing.replace(' ', '_');
        const json = { principal_type: type, principal_id: id, account_id: company.accountId };
        return {
          arn: makeResourceArn(company, thing, id),
          ask: makePostRequest(`/groups/${await createGroup(company)}/bindings`, json),
        };
      },
    }),
  ),
  ...PRINCIPALS.map(
    ({ thing, onConsole: action, made }): AccessPath => ({
      resourceTitle: thing,
      description: 'its permissions, simulated',
      routes: ['POST /v1/policies/simulate'],
      extraActions: ['policies:get'],
      closingActions: [action],
      async createTarget(company) {
        const id = await made(company);
        const json = {
          principal: { type: thing.replace(' ', '_'), id },
          checks: [{ action: 'users:list', resource: '*' }],
        };
        return { arn: makeResourceArn(company, thing, id), ask: makePostRequest('/v1/policies/simulate', json) };
      },
    }),
  ),
  {
    resourceTitle: 'permission',
    description: 'added to a new group',
    routes: ['POST /v1/groups'],
    extraActions: ['groups:create', 'users:*'],
    closingActions: ['permissions:get'],
    async createTarget(company) {
      const id = await createPermission(company);
      return {
        arn: makeResourceArn(company, 'permission', id),
        ask: makePostRequest('/v1/groups', makeGroupInput({ permissionIds: [id] })),
      };
    },
  },
  makePermissionPath('post'),
  makePermissionPath('put'),
  makePermissionPath('delete'),
  ...(['console', 'organization'] as const).flatMap((surface) => [
    makeAttachmentPath(surface, 'post'),
    makeAttachmentPath(surface, 'delete'),
  ]),
  {
    resourceTitle: 'policy',
    description: 'cloned',
    routes: ['POST /v1/policies/{id}/clone'],
    // Nobody makes a policy that allows more than they may do.
    extraActions: ['policies:create', 'users:list'],
    closingActions: ['policies:get'],
    async createTarget(company) {
      const { _id, arn } = await createPolicy(company);
      const json = { name: makeName('Clone').replaceAll(' ', '-') };
      return { arn, ask: makePostRequest(`/v1/policies/${_id}/clone`, json) };
    },
  },
];
