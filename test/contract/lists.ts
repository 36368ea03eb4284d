import { ENDPOINTS_PATH } from '../data-api/support.ts';
import { createModel, makeProposal } from '../knowledge/model.ts';
import { createQuestion, QUESTIONS_PATH } from '../knowledge/questions/support.ts';
import {
  createConcept,
  createItem,
  createNode,
  createRelation,
  KNOWLEDGE_PATH,
  makeName,
} from '../knowledge/support.ts';
import { createTable, makeColumn } from '../managed-tables/support.ts';
import { createSchedule, SCHEDULES_PATH } from '../schedules/support.ts';
import { addContextMember, CONTEXTS_PATH, createShareContext, makeDashboardGrant } from '../share-portal/support.ts';
import { createShare } from '../shares/support.ts';
import { type Company, createAllowedUser } from '../support/companies.ts';
import { addToGroups, createConsoleGroup, createPermission, makePolicyInput } from '../support/console.ts';
import { bindUser, createAllowedAccount, expectSuccess, makeAllow } from '../support/signed.ts';
import { createTestQueue, makeFile, uploadFiles } from '../uploads/support.ts';
import { DASHBOARDS_PATH, postDashboard, postVisualization, VISUALIZATIONS_PATH } from '../visualizations/support.ts';
import { createEndpoint as anEndpointOfWebhooks } from '../webhooks/support.ts';

/** A record of a list, with the ARN on which a Deny hides it from a caller. */
export interface CreatedRecord {
  id: string;
  arn: string;
  /** The path of the list that contains the record, if it is not the key of the case. */
  path?: string;
}

/** How Deny statements apply to a list. */
export interface ListCase {
  /** Actions each of which hides the record from the list when it is denied on the record. */
  hidingActions: string[];
  createRecord(company: Company): Promise<CreatedRecord>;
  /** True if the list is read through the organization API, by a signed request, instead of the console API. */
  isSigned?: true;
}

export const makeArn = (service: string, company: Company, type: string, id: string) =>
  `arn:svc:${service}::${company.id}:${type}/${id}`;
const makeRecordCreator =
  (service: string, type: string, make: (company: Company) => Promise<string>): ListCase['createRecord'] =>
  async (company) => {
    const id = await make(company);
    return { id, arn: makeArn(service, company, type, id) };
  };
const createDashboard = async ({ as }: Company) => postDashboard(as, [await postVisualization(as, 'SELECT 1')]);
/** Makes a function that creates a record about a dashboard; a Deny on the dashboard hides the record. */
const makeDashboardRecordCreator =
  (make: (company: Company, dashboard: { _id: string; layout?: unknown }) => Promise<{ id: string; path?: string }>) =>
  async (company: Company): Promise<CreatedRecord> => {
    const dashboard = await createDashboard(company);
    return { ...(await make(company, dashboard)), arn: makeArn('dashboards', company, 'dashboard', dashboard._id) };
  };
const makeTableName = () => makeName('table').replace(' ', '_');
const createUserId = async (company: Company) => (await createAllowedUser(company)).id;
export const createEndpoint = async ({ as }: Company) => {
  const { _id } = await postVisualization(as, 'SELECT 1');
  const json = { name: 'Published', slug: `published-${_id}`, visualization_id: _id };
  return (await expectSuccess(as.post(ENDPOINTS_PATH, { json })))._id as string;
};
const makeGroupRecordCreator = (make: ListCase['createRecord']) => async (company: Company) => {
  const createdRecord = await make(company);
  const groupId = (await createConsoleGroup(company))._id;
  return { ...createdRecord, groupId };
};

const USER_READ_ACTIONS = ['users:list', 'users:get'];

/** Creates a suggestion to create a concept, and returns its id. */
export async function createSuggestion({ as }: Company): Promise<string> {
  const json = {
    format: 'data-console-knowledge/1',
    concepts: [{ name: makeName('Imported'), description: 'A term.' }],
  };
  await expectSuccess(as.post(`${KNOWLEDGE_PATH}/import`, { json }));
  const { records } = await expectSuccess(as.get(`${KNOWLEDGE_PATH}/suggestions`));
  return records[0]._id;
}

/** Creates a suggestion to change a concept, and a job that enriches that concept. */
export async function createEnrichment(company: Company) {
  const concept = await createConcept(company.as);
  const model = await createModel(makeProposal({ description: 'Better.' }));
  const suggestion = await expectSuccess(
    company.as.post(`${KNOWLEDGE_PATH}/suggestions/concepts/${concept}/generate`, { env: model.env }),
  );
  const json = { target_type: 'concept', target_ids: [concept] };
  const env = { ...model.env, MODEL_JOBS: createTestQueue().env.JOBS } as unknown as Record<string, string>;
  const job = await expectSuccess(company.as.post(`${KNOWLEDGE_PATH}/jobs/enrich`, { json, env }));
  return { arn: makeArn('concepts', company, 'concept', concept), suggestion: suggestion._id, job: job._id };
}

/** Creates a verified question about a metric, and asks it once. @returns both ids, and the metric's ARN */
async function createAskedQuestion(company: Company) {
  const { item, id, question } = await createQuestion(company.as);
  const askedQuestion = await expectSuccess(
    company.as.post(`${KNOWLEDGE_PATH}/ask`, { json: { question, execute: false } }),
  );
  return { arn: makeArn('semantic', company, 'item', item), verified: id, asked: askedQuestion.question_id };
}

/** Every list whose records can be denied individually. */
export const LISTS: Record<string, ListCase> = {
  '/accounts': {
    isSigned: true,
    hidingActions: ['accounts:ListAccounts', 'accounts:GetAccount'],
    createRecord: makeRecordCreator('accounts', 'account', async (company) => {
      const { as } = await createAllowedAccount(company, makeAllow('*'));
      return (await expectSuccess(as.post('/accounts', { json: { name: makeName('Account') } }))).id;
    }),
  },
  '/service-accounts': {
    isSigned: true,
    hidingActions: ['service-accounts:ListServiceAccounts', 'service-accounts:GetServiceAccount'],
    createRecord: makeRecordCreator(
      'service-accounts',
      'service-account',
      async (company) => (await createAllowedAccount(company)).id,
    ),
  },
  '/groups': {
    isSigned: true,
    hidingActions: ['groups:ListGroups', 'groups:GetGroup'],
    createRecord: makeRecordCreator('groups', 'group', async (company) => (await createConsoleGroup(company))._id),
  },
  '/groups/{id}/bindings': {
    isSigned: true,
    hidingActions: ['users:GetUser'],
    createRecord: async (company) => {
      const { groupId, ...made } = await makeGroupRecordCreator(makeRecordCreator('users', 'user', createUserId))(
        company,
      );
      await bindUser(company, groupId, await createUserId(company));
      const path = `/groups/${groupId}/bindings`;
      const { as } = await createAllowedAccount(company, makeAllow('*'));
      const json = { principal_type: 'user', principal_id: made.id, account_id: company.accountId };
      const { id } = await expectSuccess(as.post(path, { json }));
      return { ...made, id, path };
    },
  },
  '/users': {
    isSigned: true,
    hidingActions: ['users:ListUsers', 'users:GetUser'],
    createRecord: makeRecordCreator('users', 'user', createUserId),
  },
  '/v1/users': { hidingActions: USER_READ_ACTIONS, createRecord: makeRecordCreator('users', 'user', createUserId) },
  '/v1/groups': {
    hidingActions: ['groups:list', 'groups:get'],
    createRecord: makeRecordCreator('groups', 'group', async (company) => (await createConsoleGroup(company))._id),
  },
  '/v1/service-accounts': {
    hidingActions: ['users:list_integration_users'],
    createRecord: makeRecordCreator('users', 'user', async (company) => (await createAllowedAccount(company)).id),
  },
  '/v1/service-accounts/{id}/keys': {
    hidingActions: ['api_keys:list', 'api_keys:get'],
    createRecord: async (company) => {
      const serviceAccount = await createAllowedAccount(company);
      const path = `/v1/service-accounts/${serviceAccount.id}/keys`;
      const { _id } = await expectSuccess(company.as.post(path));
      return { id: _id, arn: makeArn('api_keys', company, 'api-key', _id), path };
    },
  },
  '/v1/groups/{id}/members': {
    hidingActions: ['users:get'],
    createRecord: async (company) => {
      const { groupId, ...made } = await makeGroupRecordCreator(makeRecordCreator('users', 'user', createUserId))(
        company,
      );
      for (const id of [await createUserId(company), made.id]) await addToGroups(company, id, groupId);
      return { ...made, path: `/v1/groups/${groupId}/members` };
    },
  },
  '/v1/permissions': {
    hidingActions: ['permissions:list', 'permissions:get'],
    createRecord: makeRecordCreator('permissions', 'permission', (company) => createPermission(company)),
  },
  '/v1/policies': {
    hidingActions: ['policies:list', 'policies:get'],
    createRecord: async (company) => {
      const name = `${makeName('Política-é')}`.replaceAll(' ', '-');
      const createdPolicy = await expectSuccess(
        company.as.post('/v1/policies', { json: makePolicyInput([makeAllow('users:list')], { name }) }),
      );
      return { id: createdPolicy._id, arn: createdPolicy.arn };
    },
  },
  '/v1/managed-tables': {
    hidingActions: ['managed-tables:list'],
    createRecord: makeRecordCreator('managed-tables', 'table', ({ as }) =>
      createTable(as, makeTableName(), [makeColumn('n', 'integer')]),
    ),
  },
  '/v1/managed-tables/upload-jobs/active': {
    hidingActions: ['managed-tables:list'],
    createRecord: async (company) => {
      const tableId = await createTable(company.as, makeTableName(), [makeColumn('n', 'integer')]);
      const id = await uploadFiles(company, [makeFile('n.csv', 'n\n1\n')], { ...createTestQueue(), into: tableId });
      return { id, arn: makeArn('managed-tables', company, 'table', tableId) };
    },
  },
  [VISUALIZATIONS_PATH]: {
    hidingActions: ['visualizations:list', 'visualizations:get'],
    createRecord: makeRecordCreator(
      'visualizations',
      'visualization',
      async ({ as }) => (await postVisualization(as, 'SELECT 1'))._id,
    ),
  },
  [DASHBOARDS_PATH]: {
    hidingActions: ['dashboards:list', 'dashboards:get'],
    createRecord: makeRecordCreator('dashboards', 'dashboard', async (company) => (await createDashboard(company))._id),
  },
  [ENDPOINTS_PATH]: {
    hidingActions: ['viz_api_endpoints:list', 'viz_api_endpoints:get'],
    createRecord: makeRecordCreator('viz_api_endpoints', 'endpoint', createEndpoint),
  },
  '/v1/webhook-endpoints': {
    hidingActions: ['webhooks:list', 'webhooks:get'],
    createRecord: makeRecordCreator(
      'webhooks',
      'webhook-endpoint',
      async (company) => (await anEndpointOfWebhooks(company, { url: 'http://127.0.0.1:9/hooks' }))._id,
    ),
  },
  [SCHEDULES_PATH]: {
    hidingActions: ['dashboards:get', 'dashboards:schedule'],
    createRecord: makeDashboardRecordCreator(async ({ as, owner }, dashboard) => ({
      id: (await createSchedule(as, dashboard, { recipients: [{ user_id: owner.id }] }))._id,
    })),
  },
  '/api/v1/dashboard-shares': {
    hidingActions: ['dashboards:get', 'dashboards:share'],
    createRecord: makeDashboardRecordCreator((company, { _id }) => createShare(company, _id)),
  },
  [CONTEXTS_PATH]: {
    hidingActions: ['dashboards:get', 'dashboards:share'],
    createRecord: makeDashboardRecordCreator((company, { _id }) =>
      createShareContext(company, [makeDashboardGrant(_id)]),
    ),
  },
  [`${CONTEXTS_PATH}/{id}/members`]: {
    hidingActions: ['users:get'],
    createRecord: async (company) => {
      const createdUser = await makeRecordCreator('users', 'user', createUserId)(company);
      const context = await createShareContext(company, [makeDashboardGrant((await createDashboard(company))._id)]);
      await addContextMember(company.as, context.id, {
        member_type: 'internal_user',
        member_id: await createUserId(company),
      });
      const { id } = await addContextMember(company.as, context.id, {
        member_type: 'internal_user',
        member_id: createdUser.id,
      });
      return { ...createdUser, id, path: `${CONTEXTS_PATH}/${context.id}/members` };
    },
  },
  [`${KNOWLEDGE_PATH}/concepts`]: {
    hidingActions: ['concepts:list', 'concepts:get'],
    createRecord: makeRecordCreator('concepts', 'concept', ({ as }) => createConcept(as)),
  },
  [`${KNOWLEDGE_PATH}/semantic`]: {
    hidingActions: ['semantic:list'],
    createRecord: makeRecordCreator('semantic', 'item', ({ as }) => createItem(as)),
  },
  [`${KNOWLEDGE_PATH}/ontology/nodes`]: {
    hidingActions: ['ontology:list'],
    createRecord: makeRecordCreator('ontology', 'node', ({ as }) => createNode(as)),
  },
  [`${KNOWLEDGE_PATH}/ontology/relations`]: {
    hidingActions: ['ontology:list'],
    createRecord: makeRecordCreator('ontology', 'relation', async ({ as }) =>
      createRelation(as, await createNode(as), 'has', await createNode(as)),
    ),
  },
  [`${KNOWLEDGE_PATH}/suggestions`]: {
    hidingActions: ['knowledge_reviews:list'],
    createRecord: makeRecordCreator('knowledge_reviews', 'suggestion', createSuggestion),
  },
  [`${KNOWLEDGE_PATH}/suggestions?status=pending`]: {
    hidingActions: ['concepts:get'],
    createRecord: async (company) => {
      const { suggestion: id, arn } = await createEnrichment(company);
      return { id, arn };
    },
  },
  [`${KNOWLEDGE_PATH}/jobs`]: {
    hidingActions: ['concepts:get'],
    createRecord: async (company) => {
      const { job: id, arn } = await createEnrichment(company);
      return { id, arn };
    },
  },
  [QUESTIONS_PATH]: {
    hidingActions: ['semantic:list'],
    createRecord: async (company) => {
      const { verified: id, arn } = await createAskedQuestion(company);
      return { id, arn };
    },
  },
  [`${KNOWLEDGE_PATH}/questions`]: {
    hidingActions: ['semantic:list'],
    createRecord: async (company) => {
      const { asked: id, arn } = await createAskedQuestion(company);
      return { id, arn };
    },
  },
};

/** Lists whose records cannot be denied individually by a policy, each with the reason. */
export const LISTS_WITHOUT_DENIALS: Record<string, string> = {
  '/v1/oauth-grants': 'the own grants of the caller, or for administrators those of a user',
  '/v1/oauth-clients': 'for administrators, whom no Deny reaches',
  '/v1/webhook-event-types': 'the same for everybody',
  '/v1/webhook-endpoints/{id}/deliveries': 'for administrators, whom no Deny reaches',
  '/admin/organizations': 'for the operator of the platform',
  '/admin/audit-events': 'for administrators, whom no Deny reaches',
  '/v1/audit-events': 'for administrators, whom no Deny reaches',
  '/admin/deleted/accounts': 'for administrators, whom no Deny reaches',
  '/v1/managed-tables/deleted': 'for administrators, whom no Deny reaches',
  '/service-accounts/{id}/keys': 'keys are of the service account that the route asks for',
  '/v1/auth/passkeys': 'the own passkeys of the caller',
  '/v1/auth/sessions': 'the own sessions of the caller',
  '/v1/managed-tables/{id}/data': 'rows are of the table that the route asks for',
  '/v1/managed-tables/{id}/indexes': 'indexes are of the table that the route asks for',
  '/v1/managed-tables/{id}/loads': 'loads are of the table that the route asks for',
  '/api/v1/dashboards/{id}/shares': 'shares of the dashboard that the route asks for',
  '/api/v1/dashboards/{id}/share-filter-candidates': 'filters of the dashboard that the route asks for',
  '/api/v1/dashboards/{id}/embed-parameter-candidates': 'inputs of the dashboard that the route asks for',
  '/api/v1/embed/signing-keys': 'keys are of the company',
  [`${KNOWLEDGE_PATH}/concepts/{id}/versions`]: 'versions are of the concept that the route asks for',
  [`${KNOWLEDGE_PATH}/semantic/{id}/versions`]: 'versions are of the item that the route asks for',
  [`${KNOWLEDGE_PATH}/ontology/nodes/{id}/versions`]: 'versions are of the node that the route asks for',
  [`${KNOWLEDGE_PATH}/ontology/relations/{id}/versions`]: 'versions are of the relation that the route asks for',
  '/api/v1/share-portal/dashboards': 'of a person of the company, in test/share-portal/denied.sharing.test.ts',
  '/api/v1/share-portal/{company_slug}/dashboards':
    'of a person of the company, in test/share-portal/denied.sharing.test.ts',
  '/api/v1/share-events': 'events of what is denied, in test/share-activity/denied.sharing.test.ts',
  '/api/v1/share-portal/contexts': 'contexts of which the caller is a member',
  '/api/v1/share-portal/{company_slug}/contexts': 'contexts of which the caller is a member',
};
