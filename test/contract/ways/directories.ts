import type { Action } from '../../../src/permissions/actions.ts';
import {
  createDirectory,
  createDirectoryGroup,
  createDirectoryUser,
  GROUPS_PATH,
  makeGroupInput,
  makePatch as operations,
  USERS_PATH,
} from '../../directory/support.ts';
import type { Company } from '../../support/worlds.ts';
import { type AccessPath, makeResourceArn, patch, post, put } from './way.ts';

const SEARCH_PATH = '/scim/v2/.search';

const makeFilter = (id: string) => ({ filter: `id eq "${id}"` });

/** A user or a group that a directory finds. */
const makeListWay = (thing: 'user' | 'group', route: string, denied: Action[], besides: Action[]): AccessPath => ({
  thing,
  way: `found by a directory, ${route}`,
  routes: [route],
  directory: true,
  besides,
  denied,
  async make(company) {
    const directory = await createDirectory(company);
    const { id } = await (thing === 'user' ? createDirectoryUser(directory) : createDirectoryGroup(directory));
    const [method, path = ''] = route.split(' ');
    return {
      arn: makeResourceArn(company, thing, id),
      ask: (as) =>
        method === 'GET' ? as.get(`${path}?${new URLSearchParams(makeFilter(id))}`) : post(path, makeFilter(id))(as),
    };
  },
  reached: ({ body }) => body.totalResults === 1,
});

/** A user whom a directory changes. */
const makeChangeWay = (method: 'PUT' | 'PATCH', what: object, action: Action): AccessPath => ({
  thing: 'user',
  way: `changed by a directory, ${method} ${JSON.stringify(what)}`,
  routes: [`${method} ${USERS_PATH}/{id}`],
  directory: true,
  needs: [action],
  denied: [action],
  async make(company) {
    const { id, userName } = await createDirectoryUser(await createDirectory(company));
    const path = `${USERS_PATH}/${id}`;
    const ask =
      method === 'PUT'
        ? put(path, { userName, ...what })
        : patch(path, operations({ op: 'replace', value: what }).json);
    return { arn: makeResourceArn(company, 'user', id), ask };
  },
});

/** A user whom a directory makes a member. */
const makeMemberWay = (
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
    const { id } = await createDirectoryUser(await createDirectory(company));
    return { arn: makeResourceArn(company, 'user', id), ask: await askOf(company, [{ value: id }]) };
  },
});

const createGroup = async (company: Company) => createDirectoryGroup(await createDirectory(company));

/** Users and groups, through SCIM. */
export const DIRECTORY_WAYS: AccessPath[] = [
  makeListWay('user', `GET ${USERS_PATH}`, ['users:list', 'users:get'], ['users:list']),
  makeListWay('user', `POST ${USERS_PATH}/.search`, ['users:list', 'users:get'], ['users:list']),
  makeListWay('user', `POST ${SEARCH_PATH}`, ['users:list', 'users:get'], ['users:list']),
  makeListWay('group', `GET ${GROUPS_PATH}`, ['groups:list', 'groups:get'], ['groups:list']),
  makeListWay('group', `POST ${GROUPS_PATH}/.search`, ['groups:list', 'groups:get'], ['groups:list']),
  makeListWay('group', `POST ${SEARCH_PATH}`, ['groups:list', 'groups:get'], ['groups:list']),
  makeChangeWay('PUT', { displayName: 'Changed' }, 'users:update'),
  makeChangeWay('PATCH', { displayName: 'Changed' }, 'users:update'),
  makeChangeWay('PATCH', { active: false }, 'users:deactivate'),
  makeMemberWay(`POST ${GROUPS_PATH}`, 'groups:create', async (_, members) =>
    post(GROUPS_PATH, makeGroupInput({ members })),
  ),
  makeMemberWay(`PUT ${GROUPS_PATH}/{id}`, 'groups:update', async (company, members) => {
    const { id, displayName } = await createGroup(company);
    return put(`${GROUPS_PATH}/${id}`, { displayName, members });
  }),
  makeMemberWay(`PATCH ${GROUPS_PATH}/{id}`, 'groups:update', async (company, members) => {
    const { id } = await createGroup(company);
    return patch(`${GROUPS_PATH}/${id}`, operations({ op: 'add', path: 'members', value: members }).json);
  }),
];
