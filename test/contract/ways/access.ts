import { makeName } from '../../knowledge/support.ts';
import type { Caller } from '../../support/api.ts';
import {
  addToGroups,
  createConsoleGroup,
  createPermission,
  makeGroupInput,
  makePolicyInput,
} from '../../support/console.ts';
import { allow, aServiceAccountThat, must } from '../../support/signed.ts';
import { aUser, type Company } from '../../support/worlds.ts';
import { type AccessPath, type AccessTarget, type ActionPattern, makeResourceArn, post, put } from './way.ts';

const createGroup = async (company: Company): Promise<string> => (await createConsoleGroup(company))._id;

/** A policy that allows next to nothing, so that whoever is asked may grant it. */
async function createPolicy({ as }: Company) {
  const json = makePolicyInput([allow('users:list')], { name: makeName('Matrix').replaceAll(' ', '-') });
  return (await must(as.post('/v1/policies', { json }))) as { _id: string; arn: string };
}

/** A group that is named in a body, by its id. */
const makeNamedGroupWay = (
  way: string,
  route: string,
  besides: ActionPattern[],
  askOf: (company: Company, groupId: string) => Promise<AccessTarget['ask']>,
): AccessPath => ({
  thing: 'group',
  way,
  routes: [route],
  besides,
  denied: ['groups:get'],
  async make(company) {
    const id = await createGroup(company);
    return { arn: makeResourceArn(company, 'group', id), ask: await askOf(company, id) };
  },
});

const makeGroupsWay = async (company: Company) => `/v1/users/${(await aUser(company)).id}/groups`;

const makePermissionWay = (method: 'post' | 'put' | 'delete'): AccessPath => ({
  thing: 'permission',
  way: { post: 'added to a group', put: 'made the only one of a group', delete: 'removed from a group' }[method],
  routes: [`${method.toUpperCase()} /v1/groups/{id}/permissions`],
  // Nobody grants what they do not have.
  besides: ['groups:update', 'users:*'],
  denied: ['permissions:get'],
  async make(company) {
    const id = await createPermission(company);
    const path = `/v1/groups/${await createGroup(company)}/permissions`;
    return {
      arn: makeResourceArn(company, 'permission', id),
      ask: (as) => as[method](path, { json: { permissionIds: [id] } }),
    };
  },
});

const makeAttachmentWay = (surface: 'console' | 'organization', method: 'post' | 'delete'): AccessPath => ({
  thing: 'policy',
  way: `${method === 'post' ? 'attached to' : 'detached from'} a group, on the ${surface} API`,
  routes: [`${method.toUpperCase()} ${surface === 'console' ? '/v1' : ''}/groups/{id}/policies/{policy_id}`],
  ...(surface === 'organization' && { signed: true }),
  besides:
    surface === 'console'
      ? ['groups:attach_policy', 'groups:detach_policy', 'users:list']
      : ['groups:AttachPolicy', 'groups:DetachPolicy', 'users:list'],
  denied: ['policies:get'],
  async make(company) {
    const { _id, arn } = await createPolicy(company);
    const groupId = await createGroup(company);
    if (method === 'delete') await must(company.as.post(`/v1/groups/${groupId}/policies/${_id}`));
    const path = `${surface === 'console' ? '/v1' : ''}/groups/${groupId}/policies/${_id}`;
    return { arn, ask: (as: Caller) => as[method](path) };
  },
});

/** Who may have access, with the action that each surface asks to get one. */
const PRINCIPALS = [
  {
    thing: 'user',
    onOrganization: 'users:GetUser',
    onConsole: 'users:get',
    made: async (company: Company) => (await aUser(company)).id,
  },
  {
    thing: 'service account',
    onOrganization: 'service-accounts:GetServiceAccount',
    onConsole: 'service-accounts:GetServiceAccount',
    made: async (company: Company) => (await aServiceAccountThat(company)).id,
  },
] as const;

/** A service account whose keys are asked for on the console, where each key is a thing of its own. */
const makeKeyWay = (way: string, method: 'get' | 'post' | 'delete', besides: ActionPattern): AccessPath => ({
  thing: 'service account on the console',
  way,
  routes: [`${method.toUpperCase()} /v1/service-accounts/{id}/keys${method === 'delete' ? '/{key_id}' : ''}`],
  besides: [besides],
  denied: ['users:list_integration_users'],
  async make(company) {
    const { id, keyId } = await aServiceAccountThat(company);
    const path = `/v1/service-accounts/${id}/keys`;
    return {
      arn: makeResourceArn(company, 'service account on the console', id),
      ask: (as) => as[method](method === 'delete' ? `${path}/${keyId}` : path),
    };
  },
});

/** People, groups, policies and service accounts that are named in a body, or beside another thing. */
export const NAMED_RESOURCE_WAYS: AccessPath[] = [
  makeKeyWay('its keys', 'get', 'api_keys:list'),
  makeKeyWay('given a key', 'post', 'api_keys:create'),
  makeKeyWay('a key of it, revoked', 'delete', 'api_keys:delete'),
  {
    thing: 'service account on the console',
    way: 'its permissions, simulated',
    routes: ['POST /v1/policies/simulate'],
    besides: ['policies:get'],
    denied: ['users:list_integration_users'],
    async make(company) {
      const { id } = await aServiceAccountThat(company);
      const json = { principal: { type: 'service_account', id }, checks: [{ action: 'users:list', resource: '*' }] };
      return {
        arn: makeResourceArn(company, 'service account on the console', id),
        ask: post('/v1/policies/simulate', json),
      };
    },
  },
  makeNamedGroupWay('entered by a user', 'POST /v1/users/{id}/groups', ['users:assign_groups'], async (company, id) =>
    post(await makeGroupsWay(company), { group_ids: [id] }),
  ),
  makeNamedGroupWay(
    'made the only group of a user',
    'PUT /v1/users/{id}/groups',
    ['users:assign_groups'],
    async (company, id) => put(await makeGroupsWay(company), { group_ids: [id] }),
  ),
  makeNamedGroupWay('left by a user', 'DELETE /v1/users/{id}/groups', ['users:remove_groups'], async (company, id) => {
    const user = await aUser(company);
    await addToGroups(company, user.id, id);
    return (as) => as.delete(`/v1/users/${user.id}/groups`, { json: { group_ids: [id] } });
  }),
  {
    thing: 'group',
    way: 'left by a user whose groups are replaced',
    routes: ['PUT /v1/users/{id}/groups'],
    besides: ['users:assign_groups'],
    denied: ['groups:get'],
    async make(company) {
      const id = await createGroup(company);
      const user = await aUser(company);
      await addToGroups(company, user.id, id);
      return {
        arn: makeResourceArn(company, 'group', id),
        async ask(as) {
          const answer = await as.put(`/v1/users/${user.id}/groups`, { json: { group_ids: [] } });
          const { group_ids } = await must(company.as.get(`/v1/users/${user.id}`));
          return { ...answer, body: group_ids.includes(id) ? 'in' : 'out' };
        },
      };
    },
    reached: ({ body }) => body === 'out',
  },
  {
    thing: 'group',
    way: 'whose members are listed',
    routes: ['GET /v1/users'],
    besides: ['users:list'],
    denied: ['groups:get'],
    async make(company) {
      const id = await createGroup(company);
      await addToGroups(company, (await aUser(company)).id, id);
      return { arn: makeResourceArn(company, 'group', id), ask: (as) => as.get(`/v1/users?group_id=${id}`) };
    },
    reached: ({ body }) => body.total === 1,
  },
  makeNamedGroupWay('named in an invitation', 'POST /v1/users/invite', ['users:invite'], async (_, id) =>
    post('/v1/users/invite', {
      email: `${makeName('invited').replace(' ', '-')}@matrix.test`,
      group_ids: [id],
    }),
  ),
  ...PRINCIPALS.map(
    ({ thing, onOrganization: action, made }): AccessPath => ({
      thing,
      way: 'bound to a group',
      routes: ['POST /groups/{id}/bindings'],
      signed: true,
      besides: ['groups:AddMember'],
      denied: [action],
      async make(company) {
        const id = await made(company);
        const type = thing.replace(' ', '_');
        const json = { principal_type: type, principal_id: id, account_id: company.accountId };
        return {
          arn: makeResourceArn(company, thing, id),
          ask: post(`/groups/${await createGroup(company)}/bindings`, json),
        };
      },
    }),
  ),
  ...PRINCIPALS.map(
    ({ thing, onConsole: action, made }): AccessPath => ({
      thing,
      way: 'its permissions, simulated',
      routes: ['POST /v1/policies/simulate'],
      besides: ['policies:get'],
      denied: [action],
      async make(company) {
        const id = await made(company);
        const json = {
          principal: { type: thing.replace(' ', '_'), id },
          checks: [{ action: 'users:list', resource: '*' }],
        };
        return { arn: makeResourceArn(company, thing, id), ask: post('/v1/policies/simulate', json) };
      },
    }),
  ),
  {
    thing: 'permission',
    way: 'added to a new group',
    routes: ['POST /v1/groups'],
    besides: ['groups:create', 'users:*'],
    denied: ['permissions:get'],
    async make(company) {
      const id = await createPermission(company);
      return {
        arn: makeResourceArn(company, 'permission', id),
        ask: post('/v1/groups', makeGroupInput({ permissionIds: [id] })),
      };
    },
  },
  makePermissionWay('post'),
  makePermissionWay('put'),
  makePermissionWay('delete'),
  ...(['console', 'organization'] as const).flatMap((surface) => [
    makeAttachmentWay(surface, 'post'),
    makeAttachmentWay(surface, 'delete'),
  ]),
  {
    thing: 'policy',
    way: 'cloned',
    routes: ['POST /v1/policies/{id}/clone'],
    // Nobody makes a policy that allows more than they may do.
    besides: ['policies:create', 'users:list'],
    denied: ['policies:get'],
    async make(company) {
      const { _id, arn } = await createPolicy(company);
      const json = { name: makeName('Clone').replaceAll(' ', '-') };
      return { arn, ask: post(`/v1/policies/${_id}/clone`, json) };
    },
  },
];
