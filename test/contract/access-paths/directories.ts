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
import type { Company } from '../../support/companies.ts';
import { type AccessPath, makePatchRequest, makePostRequest, makePutRequest, makeResourceArn } from './access-path.ts';

const SEARCH_PATH = '/scim/v2/.search';

const makeFilter = (id: string) => ({ filter: `id eq "${id}"` });

/** Makes the access path to a user or group that a SCIM list or search finds. */
const makeListPath = (
  resourceName: 'user' | 'group',
  route: string,
  deniedActions: Action[],
  otherActions: Action[],
): AccessPath => ({
  resourceTitle: resourceName,
  description: `found by a directory, ${route}`,
  routes: [route],
  isFromDirectory: true,
  extraActions: otherActions,
  closingActions: deniedActions,
  async createTarget(company) {
    const directory = await createDirectory(company);
    const { id } = await (resourceName === 'user' ? createDirectoryUser(directory) : createDirectoryGroup(directory));
    const [method, path = ''] = route.split(' ');
    return {
      arn: makeResourceArn(company, resourceName, id),
      ask: (as) =>
        method === 'GET'
          ? as.get(`${path}?${new URLSearchParams(makeFilter(id))}`)
          : makePostRequest(path, makeFilter(id))(as),
    };
  },
  isReachedBy: ({ body }) => body.totalResults === 1,
});

/** Makes the access path to a user whom a SCIM client changes. */
const makeChangePath = (method: 'PUT' | 'PATCH', changedFields: object, action: Action): AccessPath => ({
  resourceTitle: 'user',
  description: `changed by a directory, ${method} ${JSON.stringify(changedFields)}`,
  routes: [`${method} ${USERS_PATH}/{id}`],
  isFromDirectory: true,
  neededActions: [action],
  closingActions: [action],
  async createTarget(company) {
    const { id, userName } = await createDirectoryUser(await createDirectory(company));
    const path = `${USERS_PATH}/${id}`;
    const sendChange =
      method === 'PUT'
        ? makePutRequest(path, { userName, ...changedFields })
        : makePatchRequest(path, operations({ op: 'replace', value: changedFields }).json);
    return { arn: makeResourceArn(company, 'user', id), ask: sendChange };
  },
});

/** Makes the access path to a user whom a SCIM client makes a member of a group. */
const makeMemberPath = (
  route: string,
  neededAction: Action,
  makeRequest: (company: Company, members: object[]) => Promise<ReturnType<typeof makePostRequest>>,
): AccessPath => ({
  resourceTitle: 'user',
  description: `made a member by a directory, ${route}`,
  routes: [route],
  isFromDirectory: true,
  extraActions: [neededAction],
  closingActions: ['users:get'],
  async createTarget(company) {
    const { id } = await createDirectoryUser(await createDirectory(company));
    return { arn: makeResourceArn(company, 'user', id), ask: await makeRequest(company, [{ value: id }]) };
  },
});

const createGroup = async (company: Company) => createDirectoryGroup(await createDirectory(company));

/** Access paths to users and groups through SCIM. */
export const DIRECTORY_PATHS: AccessPath[] = [
  makeListPath('user', `GET ${USERS_PATH}`, ['users:list', 'users:get'], ['users:list']),
  makeListPath('user', `POST ${USERS_PATH}/.search`, ['users:list', 'users:get'], ['users:list']),
  makeListPath('user', `POST ${SEARCH_PATH}`, ['users:list', 'users:get'], ['users:list']),
  makeListPath('group', `GET ${GROUPS_PATH}`, ['groups:list', 'groups:get'], ['groups:list']),
  makeListPath('group', `POST ${GROUPS_PATH}/.search`, ['groups:list', 'groups:get'], ['groups:list']),
  makeListPath('group', `POST ${SEARCH_PATH}`, ['groups:list', 'groups:get'], ['groups:list']),
  makeChangePath('PUT', { displayName: 'Changed' }, 'users:update'),
  makeChangePath('PATCH', { displayName: 'Changed' }, 'users:update'),
  makeChangePath('PATCH', { active: false }, 'users:deactivate'),
  makeMemberPath(`POST ${GROUPS_PATH}`, 'groups:create', async (_, members) =>
    makePostRequest(GROUPS_PATH, makeGroupInput({ members })),
  ),
  makeMemberPath(`PUT ${GROUPS_PATH}/{id}`, 'groups:update', async (company, members) => {
    const { id, displayName } = await createGroup(company);
    return makePutRequest(`${GROUPS_PATH}/${id}`, { displayName, members });
  }),
  makeMemberPath(`PATCH ${GROUPS_PATH}/{id}`, 'groups:update', async (company, members) => {
    const { id } = await createGroup(company);
    return makePatchRequest(`${GROUPS_PATH}/${id}`, operations({ op: 'add', path: 'members', value: members }).json);
  }),
];
