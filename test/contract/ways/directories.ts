import type { Action } from '../../../src/permissions/actions.ts';
import {
  aDirectory,
  aDirectoryGroup,
  aDirectoryUser,
  GROUPS_PATH,
  groupInput,
  patch as operations,
  USERS_PATH,
} from '../../directory/support.ts';
import type { Company } from '../../support/worlds.ts';
import { type AccessPath, patch, post, put, resourceArnOf } from './way.ts';

const SEARCH_PATH = '/scim/v2/.search';

const found = (id: string) => ({ filter: `id eq "${id}"` });

/** A user or a group that a directory finds. */
const listed = (thing: 'user' | 'group', route: string, denied: Action[], besides: Action[]): AccessPath => ({
  thing,
  way: `found by a directory, ${route}`,
  routes: [route],
  directory: true,
  besides,
  denied,
  async make(company) {
    const directory = await aDirectory(company);
    const { id } = await (thing === 'user' ? aDirectoryUser(directory) : aDirectoryGroup(directory));
    const [method, path = ''] = route.split(' ');
    return {
      arn: resourceArnOf(company, thing, id),
      ask: (as) => (method === 'GET' ? as.get(`${path}?${new URLSearchParams(found(id))}`) : post(path, found(id))(as)),
    };
  },
  reached: ({ body }) => body.totalResults === 1,
});

/** A user whom a directory changes. */
const changed = (method: 'PUT' | 'PATCH', what: object, action: Action): AccessPath => ({
  thing: 'user',
  way: `changed by a directory, ${method} ${JSON.stringify(what)}`,
  routes: [`${method} ${USERS_PATH}/{id}`],
  directory: true,
  needs: [action],
  denied: [action],
  async make(company) {
    const { id, userName } = await aDirectoryUser(await aDirectory(company));
    const path = `${USERS_PATH}/${id}`;
    const ask =
      method === 'PUT'
        ? put(path, { userName, ...what })
        : patch(path, operations({ op: 'replace', value: what }).json);
    return { arn: resourceArnOf(company, 'user', id), ask };
  },
});

/** A user whom a directory makes a member. */
const member = (
  route: string,
  needs: Action,
  askOf: (company: Company, members: object[]) => Promise<ReturnType<typeof post>>,
): AccessPath => ({
  thing: 'user',
  way: `made a member by a directory, ${route}`,
  routes: [route],
  directory: true,
  besides: [needs],
  denied: ['users:get'],
  async make(company) {
    const { id } = await aDirectoryUser(await aDirectory(company));
    return { arn: resourceArnOf(company, 'user', id), ask: await askOf(company, [{ value: id }]) };
  },
});

const aGroup = async (company: Company) => aDirectoryGroup(await aDirectory(company));

/** Users and groups, through SCIM. */
export const DIRECTORY_WAYS: AccessPath[] = [
  listed('user', `GET ${USERS_PATH}`, ['users:list', 'users:get'], ['users:list']),
  listed('user', `POST ${USERS_PATH}/.search`, ['users:list', 'users:get'], ['users:list']),
  listed('user', `POST ${SEARCH_PATH}`, ['users:list', 'users:get'], ['users:list']),
  listed('group', `GET ${GROUPS_PATH}`, ['groups:list', 'groups:get'], ['groups:list']),
  listed('group', `POST ${GROUPS_PATH}/.search`, ['groups:list', 'groups:get'], ['groups:list']),
  listed('group', `POST ${SEARCH_PATH}`, ['groups:list', 'groups:get'], ['groups:list']),
  changed('PUT', { displayName: 'Changed' }, 'users:update'),
  changed('PATCH', { displayName: 'Changed' }, 'users:update'),
  changed('PATCH', { active: false }, 'users:deactivate'),
  member(`POST ${GROUPS_PATH}`, 'groups:create', async (_, members) => post(GROUPS_PATH, groupInput({ members }))),
  member(`PUT ${GROUPS_PATH}/{id}`, 'groups:update', async (company, members) => {
    const { id, displayName } = await aGroup(company);
    return put(`${GROUPS_PATH}/${id}`, { displayName, members });
  }),
  member(`PATCH ${GROUPS_PATH}/{id}`, 'groups:update', async (company, members) => {
    const { id } = await aGroup(company);
    return patch(`${GROUPS_PATH}/${id}`, operations({ op: 'add', path: 'members', value: members }).json);
  }),
];
