import type { Action } from '../../src/permissions/actions.ts';
import { ENDPOINTS_PATH } from '../data-api/support.ts';
import {
  createConcept,
  createItem,
  createNode,
  createRelation,
  KNOWLEDGE_PATH,
  makeName,
} from '../knowledge/support.ts';
import { column, createTable } from '../managed-tables/support.ts';
import type { ApiResponse, Caller } from '../support/api.ts';
import { type Company, createAllowedUser } from '../support/companies.ts';
import { createConsoleGroup, createPermission, makeGroupInput, makePolicyInput } from '../support/console.ts';
import { expectSuccess } from '../support/signed.ts';
import { DASHBOARDS_PATH, postDashboard, postVisualization, VISUALIZATIONS_PATH } from '../visualizations/support.ts';
import { type AccessPath, type AccessTarget, makeResourceArn } from './access-paths/access-path.ts';

/** A write by a caller who may write a record but not read it. */
interface WriteCase {
  writeAction: Action;
  createRequest(company: Company): Promise<(as: Caller) => Promise<ApiResponse>>;
  isSigned?: true;
  /** For a change: its response, as an access path to the changed record. */
  answerPath?: AccessPath;
}

const makeCreation = (
  writeAction: Action,
  path: string,
  json: (company: Company) => object | Promise<object>,
): WriteCase => ({
  writeAction,
  createRequest: async (company) => {
    const body = await json(company);
    return (as) => as.post(path, { json: body as Record<string, unknown> });
  },
});

/** A change: the kind of the changed resource, and the actions that change and read it. */
interface ChangeCase {
  resourceKind: string;
  writeAction: Action;
  readAction: Action;
  method: 'put' | 'patch';
  path: string;
  isSigned?: true;
  /** Creates the resource to change. @returns its id, and its ARN where that does not contain the id */
  createResource(company: Company): Promise<string | { id: string; arn: string }>;
  json: Record<string, unknown>;
}

function makeChange({
  resourceKind,
  writeAction,
  readAction,
  method,
  path,
  isSigned,
  createResource,
  json,
}: ChangeCase): WriteCase {
  const createTarget = async (company: Company): Promise<AccessTarget> => {
    const created = await createResource(company);
    const { id, arn } =
      typeof created === 'string' ? { id: created, arn: makeResourceArn(company, resourceKind, created) } : created;
    return { arn, ask: (as) => as[method](path.replace('{id}', id), { json }) };
  };
  const signedOption = isSigned && { isSigned };
  const accessPath: AccessPath = {
    resourceTitle: resourceKind,
    description: 'told by the answer of a change',
    routes: [`${method.toUpperCase()} ${path}`],
    extraActions: [writeAction],
    neededActions: [readAction],
    closingActions: [readAction],
    createTarget: createTarget,
    // Its id alone tells nothing.
    isReachedBy: ({ status, body }) => status === 200 && Object.keys(body).length > 1,
    ...signedOption,
  };
  return {
    writeAction,
    createRequest: async (company) => (await createTarget(company)).ask,
    answerPath: accessPath,
    ...signedOption,
  };
}

const makeFieldsCreator = (namePrefix: string) => () => ({ name: makeName(namePrefix), description: 'Text.' });
const makeTableName = () => makeName('written').replace(' ', '_');
const createGroup = async (company: Company): Promise<string> => (await createConsoleGroup(company))._id;
const CHANGED_FIELDS = { description: 'Changed by a test.' };

export const WRITES: Record<string, WriteCase> = {
  'POST dashboards': makeCreation('dashboards:create', DASHBOARDS_PATH, makeFieldsCreator('Dashboard')),
  'PUT dashboards': makeChange({
    resourceKind: 'dashboard',
    writeAction: 'dashboards:update',
    readAction: 'dashboards:get',
    method: 'put',
    path: `${DASHBOARDS_PATH}/{id}`,
    createResource: async ({ as }) => (await postDashboard(as, [await postVisualization(as, 'SELECT 1')]))._id,
    json: CHANGED_FIELDS,
  }),
  'POST visualizations': makeCreation('visualizations:create', VISUALIZATIONS_PATH, () => ({
    name: makeName('Visualization'),
    sql: 'SELECT 1',
    chart: { type: 'table' },
  })),
  'PUT visualizations': makeChange({
    resourceKind: 'visualization',
    writeAction: 'visualizations:update',
    readAction: 'visualizations:get',
    method: 'put',
    path: `${VISUALIZATIONS_PATH}/{id}`,
    createResource: async ({ as }) => (await postVisualization(as, 'SELECT 1'))._id,
    json: CHANGED_FIELDS,
  }),
  'PUT endpoints': makeChange({
    resourceKind: 'endpoint',
    writeAction: 'viz_api_endpoints:update',
    readAction: 'viz_api_endpoints:get',
    method: 'put',
    path: `${ENDPOINTS_PATH}/{id}`,
    async createResource({ as }) {
      const { _id } = await postVisualization(as, 'SELECT 1');
      const json = { name: 'Published', slug: `written-${_id}`, visualization_id: _id };
      return (await expectSuccess(as.post(ENDPOINTS_PATH, { json })))._id;
    },
    json: CHANGED_FIELDS,
  }),
  'POST tables': makeCreation('managed-tables:create', '/v1/managed-tables', () => ({
    display_name: makeTableName(),
    columns: [column('n', 'integer')],
  })),
  'PUT tables': makeChange({
    resourceKind: 'table',
    writeAction: 'managed-tables:update',
    readAction: 'managed-tables:list',
    method: 'put',
    path: '/v1/managed-tables/{id}',
    createResource: ({ as }) => createTable(as, makeTableName(), [column('n', 'integer')]),
    json: { columns: [column('n', 'integer'), column('m', 'integer')] },
  }),
  'PUT users': makeChange({
    resourceKind: 'user',
    writeAction: 'users:update',
    readAction: 'users:get',
    method: 'put',
    path: '/v1/users/{id}',
    createResource: async (company) => (await createAllowedUser(company)).id,
    json: { name: 'Changed' },
  }),
  'POST groups': makeCreation('groups:create', '/v1/groups', () => makeGroupInput()),
  'PUT groups': makeChange({
    resourceKind: 'group',
    writeAction: 'groups:update',
    readAction: 'groups:get',
    method: 'put',
    path: '/v1/groups/{id}',
    createResource: createGroup,
    json: CHANGED_FIELDS,
  }),
  'POST service accounts': makeCreation(
    'users:create_integration_user',
    '/v1/service-accounts',
    makeFieldsCreator('Robot'),
  ),
  'PUT service accounts': makeChange({
    resourceKind: 'service account on the console',
    writeAction: 'users:create_integration_user',
    readAction: 'users:list_integration_users',
    method: 'put',
    path: '/v1/service-accounts/{id}',
    createResource: async ({ as }) =>
      (await expectSuccess(as.post('/v1/service-accounts', { json: makeFieldsCreator('Robot')() })))._id,
    json: CHANGED_FIELDS,
  }),
  'PUT permissions': makeChange({
    resourceKind: 'permission',
    writeAction: 'permissions:update',
    readAction: 'permissions:get',
    method: 'put',
    path: '/v1/permissions/{id}',
    createResource: (company) => createPermission(company, { actions: ['read'] }),
    json: CHANGED_FIELDS,
  }),
  'PUT policies': makeChange({
    resourceKind: 'policy',
    writeAction: 'policies:update',
    readAction: 'policies:get',
    method: 'put',
    path: '/v1/policies/{id}',
    async createResource({ as }) {
      const statements = [{ effect: 'Allow' as const, actions: ['users:list'], resources: ['*'] }];
      const { _id, arn } = await expectSuccess(as.post('/v1/policies', { json: makePolicyInput(statements) }));
      return { id: _id, arn };
    },
    json: CHANGED_FIELDS,
  }),
  'POST an invitation': makeCreation('users:invite', '/v1/users/invite', () => ({
    email: `${makeName('invited').replace(' ', '-')}@written.test`,
    group_ids: [],
  })),
  'POST concepts': makeCreation('concepts:create', `${KNOWLEDGE_PATH}/concepts`, () => ({
    ...makeFieldsCreator('Concept')(),
    type: 'term',
  })),
  'PATCH concepts': makeChange({
    resourceKind: 'concept',
    writeAction: 'concepts:update',
    readAction: 'concepts:get',
    method: 'patch',
    path: `${KNOWLEDGE_PATH}/concepts/{id}`,
    createResource: ({ as }) => createConcept(as),
    json: CHANGED_FIELDS,
  }),
  'POST items': makeCreation('semantic:create', `${KNOWLEDGE_PATH}/semantic`, () => ({
    ...makeFieldsCreator('Item')(),
    kind: 'mapping',
  })),
  'PATCH items': makeChange({
    resourceKind: 'item',
    writeAction: 'semantic:update',
    readAction: 'semantic:list',
    method: 'patch',
    path: `${KNOWLEDGE_PATH}/semantic/{id}`,
    createResource: ({ as }) => createItem(as),
    json: CHANGED_FIELDS,
  }),
  'PATCH nodes': makeChange({
    resourceKind: 'node',
    writeAction: 'ontology:update',
    readAction: 'ontology:list',
    method: 'patch',
    path: `${KNOWLEDGE_PATH}/ontology/nodes/{id}`,
    createResource: ({ as }) => createNode(as),
    json: CHANGED_FIELDS,
  }),
  'PATCH relations': makeChange({
    resourceKind: 'relation',
    writeAction: 'ontology:update',
    readAction: 'ontology:list',
    method: 'patch',
    path: `${KNOWLEDGE_PATH}/ontology/relations/{id}`,
    createResource: async ({ as }) => createRelation(as, await createNode(as), 'has', await createNode(as)),
    json: CHANGED_FIELDS,
  }),
  'POST accounts': {
    ...makeCreation('accounts:CreateAccount', '/accounts', () => ({ name: makeName('Account') })),
    isSigned: true,
  },
  'PATCH groups': makeChange({
    resourceKind: 'group',
    writeAction: 'groups:UpdateGroup',
    readAction: 'groups:GetGroup',
    method: 'patch',
    path: '/groups/{id}',
    isSigned: true,
    createResource: createGroup,
    json: CHANGED_FIELDS,
  }),
};

/** The responses of changes, as access paths to the changed records. */
export const WRITE_RESPONSE_PATHS: AccessPath[] = Object.values(WRITES).flatMap(({ answerPath }) => answerPath ?? []);
