import { env } from 'cloudflare:test';
import { ENDPOINTS_PATH, publishSql } from '../data-api/support.ts';
import { createDirectory, createDirectoryGroup, createDirectoryUser, makePatch } from '../directory/support.ts';
import { createQuestion, QUESTIONS_PATH } from '../knowledge/questions/support.ts';
import {
  createConcept,
  createItem,
  createNode,
  createRelation,
  KNOWLEDGE_PATH,
  makeName,
} from '../knowledge/support.ts';
import { createSchedule, SCHEDULES_PATH } from '../schedules/support.ts';
import { createShare } from '../shares/support.ts';
import { type Caller, createCaller } from '../support/api.ts';
import { type Company, createProvisionedCompany, PASSWORD } from '../support/companies.ts';
import { createConsoleGroup, createPermission, makePermissionInput, makePolicyInput } from '../support/console.ts';
import { addPasskey, createAuthenticator } from '../support/passkeys.ts';
import {
  createGrouplessUser,
  createKeyedAccount,
  createPolicyGroup,
  createSignedCaller,
  expectSuccess,
  makeAllow,
} from '../support/signed.ts';
import { DASHBOARDS_PATH, postDashboard, postVisualization, VISUALIZATIONS_PATH } from '../visualizations/support.ts';
import { createEndpoint as aWebhookEndpoint, ENDPOINTS_PATH as WEBHOOKS } from '../webhooks/support.ts';

/** A kind of record that has versions, and how such a record is changed. */
export interface VersionedKind {
  name: string;
  /** The path by which a record is read and changed, as in the API contract. */
  route: string;
  /** Creates a record. @returns its path, and the caller who may read it */
  makeRecord(company: Company): Promise<{ caller: Caller; path: string }>;
  /** The body that the deletion of a record requires as proof. */
  proofBody?: object;
  changeMethod: 'put' | 'patch';
  /** Returns the body of a change, which differs for each text. */
  makeChange(text: string, company: Company): object;
  /** Returns the text in a record that was read, where it is not the `name`. */
  // biome-ignore lint/suspicious/noExplicitAny: each kind has a body of its own.
  readText?(body: any): unknown;
  /** The table in which records of this kind are stored. */
  table: string;
}

const POLICY_STATEMENTS = [makeAllow('users:ListUsers')];

/** Chooses a caller who may read and change any record of an API. */
function chooseCaller(company: Company, route: string): Caller {
  if (route.startsWith('/admin/')) return createCaller(env.PLATFORM_ADMIN_TOKEN as string);
  return /^\/(v1|api)\//.test(route) ? company.as : createSignedCaller(company.apiKey);
}

/** Makes a kind of record from the route that changes it and a function that creates a record and returns its id. */
function makeKind(
  name: string,
  change: `${'PUT' | 'PATCH'} ${string}`,
  table: string,
  create: (company: Company, by: Caller) => Promise<string>,
  otherFields: Partial<VersionedKind> = {},
): VersionedKind {
  const [method, route = ''] = change.split(' ');
  return {
    name,
    route,
    async makeRecord(company) {
      const by = chooseCaller(company, route);
      return { caller: by, path: route.replace(/\{\w+\}/, await create(company, by)) };
    },
    changeMethod: method === 'PUT' ? 'put' : 'patch',
    makeChange: (text) => ({ name: text }),
    table,
    ...otherFields,
  };
}

/** Returns a kind of record that a SCIM directory manages. */
const makeDirectoryKind = (kind: 'Users' | 'Groups'): VersionedKind => ({
  name: `one of the ${kind} of SCIM`,
  route: `/scim/v2/${kind}/{id}`,
  async makeRecord(company) {
    const by = await createDirectory(company);
    const { id } = await (kind === 'Users' ? createDirectoryUser(by) : createDirectoryGroup(by));
    return { caller: by, path: `/scim/v2/${kind}/${id}` };
  },
  changeMethod: 'patch',
  makeChange: (value) => makePatch({ op: 'replace', path: 'displayName', value }).json,
  readText: ({ displayName }) => displayName,
  table: kind.toLowerCase(),
});

/** Sends a POST request that must succeed. @returns the id of what it has created */
async function createByPost(by: Caller, path: string, json: object): Promise<string> {
  const { id, _id } = await expectSuccess(by.post(path, { json }));
  return id ?? _id;
}

const createAccountId = async (company: Company) => (await createKeyedAccount(company)).id;
const createUserId = async (company: Company) => (await createGrouplessUser(company)).id;

export const IDENTITY_KINDS: VersionedKind[] = [
  makeDirectoryKind('Users'),
  makeDirectoryKind('Groups'),
  makeKind(
    'an organization',
    'PATCH /admin/organizations/{id}',
    'companies',
    async () => (await createProvisionedCompany()).id,
  ),
  makeKind('an account', 'PATCH /accounts/{id}', 'accounts', (_, by) =>
    createByPost(by, '/accounts', { name: makeName('Versioned') }),
  ),
  makeKind('a service account', 'PATCH /service-accounts/{id}', 'service_accounts', createAccountId),
  makeKind('a service account on the console', 'PUT /v1/service-accounts/{id}', 'service_accounts', createAccountId),
  makeKind('a group of the organization API', 'PATCH /groups/{id}', 'groups', (company) => createPolicyGroup(company)),
  makeKind(
    'a group of the console',
    'PUT /v1/groups/{id}',
    'groups',
    async (company) => (await createConsoleGroup(company))._id,
  ),
  makeKind('a user', 'PATCH /users/{id}', 'users', createUserId, {
    makeChange: (text) => ({ metadata: { text } }),
    readText: ({ metadata }) => metadata.text,
  }),
  makeKind('a user of the console', 'PUT /v1/users/{id}', 'users', createUserId),
  makeKind('a policy', 'PUT /v1/policies/{id}', 'policies', (_, by) =>
    createByPost(by, '/v1/policies', makePolicyInput(POLICY_STATEMENTS)),
  ),
  makeKind('a legacy permission', 'PUT /v1/permissions/{id}', 'permissions', (company) => createPermission(company), {
    makeChange: (name, company) => makePermissionInput(company, { name }),
  }),
];

const CONTEXTS_PATH = '/api/v1/share-contexts';

export const SHARING_KINDS: VersionedKind[] = [
  makeKind(
    'a visualization',
    `PUT ${VISUALIZATIONS_PATH}/{id}`,
    'visualizations',
    async (_, by) => (await postVisualization(by, 'SELECT 1'))._id,
  ),
  makeKind(
    'a dashboard',
    `PUT ${DASHBOARDS_PATH}/{id}`,
    'dashboards',
    async (_, by) => (await postDashboard(by, []))._id,
  ),
  makeKind('a schedule', `PUT ${SCHEDULES_PATH}/{id}`, 'schedules', async ({ owner }, by) => {
    const recipients = [{ user_id: owner.id }];
    return (await createSchedule(by, await postDashboard(by, []), { recipients }))._id;
  }),
  makeKind(
    'a webhook endpoint',
    `PUT ${WEBHOOKS}/{id}`,
    'webhook_endpoints',
    async (company) => (await aWebhookEndpoint(company, { url: 'http://127.0.0.1:9/hooks' }))._id,
    { makeChange: (description) => ({ description }), readText: ({ description }) => description },
  ),
  makeKind(
    'a passkey',
    'PATCH /v1/auth/passkeys/{id}',
    'passkeys',
    async (_, by) => (await expectSuccess(addPasskey(by, await createAuthenticator())))._id,
    { proofBody: { password: PASSWORD } },
  ),
  makeKind(
    'an endpoint of the Data API',
    `PUT ${ENDPOINTS_PATH}/{id}`,
    'viz_api_endpoints',
    async (company) => (await publishSql(company, 'SELECT 1 AS one'))._id,
  ),
  makeKind('a share context', `PUT ${CONTEXTS_PATH}/{id}`, 'share_contexts', (_, by) =>
    createByPost(by, CONTEXTS_PATH, { name: makeName('Versioned') }),
  ),
  makeKind(
    'a share',
    'PUT /api/v1/dashboard-shares/{shareId}',
    'dashboard_shares',
    async (company, by) => (await createShare(company, (await postDashboard(by, []))._id)).id,
  ),
];

const makeKnowledgeKind = (name: string, path: string, create: (by: Caller) => Promise<string>) =>
  makeKind(name, `PATCH ${KNOWLEDGE_PATH}/${path}/{id}`, 'knowledge_resources', (_, by) => create(by), {
    makeChange: (description) => ({ description }),
    readText: ({ description }) => description,
  });

export const KNOWLEDGE_KINDS: VersionedKind[] = [
  makeKind(
    'a verified question',
    `PATCH ${QUESTIONS_PATH}/{id}`,
    'knowledge_verified_questions',
    async (_, by) => {
      await expectSuccess(by.post('/v1/managed-tables/provision'));
      return (await createQuestion(by)).id;
    },
    { makeChange: (question) => ({ question }), readText: ({ question }) => question },
  ),
  makeKnowledgeKind('a concept', 'concepts', (by) => createConcept(by)),
  makeKnowledgeKind('a semantic item', 'semantic', (by) => createItem(by)),
  makeKnowledgeKind('an ontology node', 'ontology/nodes', (by) => createNode(by)),
  makeKnowledgeKind('an ontology relation', 'ontology/relations', async (by) =>
    createRelation(by, await createNode(by), 'belongs to', await createNode(by)),
  ),
];
