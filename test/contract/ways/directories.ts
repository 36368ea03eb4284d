import type { Action } from '../../../src/permissions/actions.ts';
import {
  aDirectory,
  aDirectoryGroup,
  aDirectoryUser,
  GROUPS,
  groupInput,
  patch as operations,
  USERS,
} from '../../directory/support.ts';
import type { Company } from '../../support/worlds.ts';
import { patch, post, put, thingArn, type Way } from './way.ts';

const SEARCH = '/scim/v2/.search';

const found = (id: string) => ({ filter: `id eq "${id}"` });

/** A user or a group that a directory finds. */
const listed = (thing: 'user' | 'group', route: string, denied: Action[], besides: Action[]): Way => ({
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
      arn: thingArn(company, thing, id),
      ask: (as) => (method === 'GET' ? as.get(`${path}?${new URLSearchParams(found(id))}`) : post(path, found(id))(as)),
    };
  },
  reached: ({ body }) => body.totalResults === 1,
});

/** A user whom a directory changes. */
const changed = (method: 'PUT' | 'PATCH', what: object, action: Action): Way => ({
  thing: 'user',
  way: `changed by a directory, ${method} ${JSON.stringify(what)}`,
  routes: [`${method} ${USERS}/{id}`],
  directory: true,
  needs: [action],
  denied: [action],
  async make(company) {
    const { id, userName } = await aDirectoryUser(await aDirectory(company));
    const path = `${USERS}/${id}`;
    const ask =
      method === 'PUT'
        ? put(path, { userName, ...what })
        : patch(path, operations({ op: 'replace', value: what }).json);
    return { arn: thingArn(company, 'user', id), ask };
  },
});

/** A user whom a directory makes a member. */
const member = (
  route: string,
  needs: Action,
  askOf: (company: Company, members: object[]) => Promise<ReturnType<typeof post>>,
): Way => ({
  thing: 'user',
  way: `made a member by a directory, ${route}`,
  routes: [route],
  directory: true,
  besides: [needs],
  denied: ['users:get'],
  async make(company) {
    const { id } = await aDirectoryUser(await aDirectory(company));
    return { arn: thingArn(company, 'user', id), ask: await askOf(company, [{ value: id }]) };
  },
});

const aGroup = async (company: Company) => aDirectoryGroup(await aDirectory(company));

/** Users and groups, through SCIM. */
export const DIRECTORIES: Way[] = [
  listed('user', `GET ${USERS}`, ['users:list', 'users:get'], ['users:list']),
  listed('user', `POST ${USERS}/.search`, ['users:list', 'users:get'], ['users:list']),
  listed('user', `POST ${SEARCH}`, ['users:list', 'users:get'], ['users:list']),
  listed('group', `GET ${GROUPS}`, ['groups:list', 'groups:get'], ['groups:list']),
  listed('group', `POST ${GROUPS}/.search`, ['groups:list', 'groups:get'], ['groups:list']),
  listed('group', `POST ${SEARCH}`, ['groups:list', 'groups:get'], ['groups:list']),
  changed('PUT', { displayName: 'Changed' }, 'users:update'),
  changed('PATCH', { displayName: 'Changed' }, 'users:update'),
  changed('PATCH', { active: false }, 'users:deactivate'),
  member(`POST ${GROUPS}`, 'groups:create', async (_, members) => post(GROUPS, groupInput({ members }))),
  member(`PUT ${GROUPS}/{id}`, 'groups:update', async (company, members) => {
    const { id, displayName } = await aGroup(company);
    return put(`${GROUPS}/${id}`, { displayName, members });
  }),
  member(`PATCH ${GROUPS}/{id}`, 'groups:update', async (company, members) => {
    const { id } = await aGroup(company);
    return patch(`${GROUPS}/${id}`, operations({ op: 'add', path: 'members', value: members }).json);
  }),
];
