import { env } from 'cloudflare:test';
import fc from 'fast-check';
import { expect, inject, it } from 'vitest';
import { compareSpecificity, matchesPath } from '../../src/http/paths.ts';
import { createEmbedToken } from '../embeds/support.ts';
import { createModel, makeProposal } from '../knowledge/model.ts';
import { createConcept, createItem, createNode, createRelation } from '../knowledge/support.ts';
import { createShareContext, makeDashboardGrant } from '../share-portal/support.ts';
import { createSalesDashboard, createSalesTable, createShare } from '../shares/support.ts';
import { type ApiResponse, type Caller, callApi, createCaller } from '../support/api.ts';
import { createAllowedUser, createProvisionedCompany, logIn } from '../support/companies.ts';
import { readApiDescription } from '../support/conformity.ts';
import { createKeyedAccount, createPolicyGroup, createSignedCaller } from '../support/signed.ts';
import {
  type ApiDescription,
  findKind,
  generateRequests,
  type RandomRequest,
  type SenderKind,
} from './random/requests.ts';
import { KnownValues } from './random/values.ts';
import { listOperations, ROUTES } from './routes.ts';

const count = inject('randomRequests');
/** The maximum time of an answer. User SQL is stopped after ten seconds. */
const MAX_ANSWER_MS = 20_000;

/** Documented 5xx errors that are not faults of the API: of the model, the identity provider, or a database being created. */
const DOCUMENTED_FAILURES_PATTERN = /AI_PROVIDER_|AI_OUTPUT_INVALID|SSO_PROVIDER_UNAVAILABLE/;

let owner: Caller;
const knownValues = new KnownValues();
/** Values that the test itself needs to go on; random requests must not name them. */
const protectedValues = new Set<string>();

const company = await createProvisionedCompany({ slug: 'acme' });
owner = company.as;
const weakCallers: Record<string, Caller> = {
  bearer: (await createAllowedUser(company)).as,
  signature: (await createKeyedAccount(company)).as,
};
const model: Record<string, string> = (await createModel(makeProposal({ description: 'What the model says.' }))).env;
const admin = createSignedCaller(company.apiKey);
for (const path of ['/accounts', '/users', '/groups', '/service-accounts'])
  for (const id of listIds((await admin.get(path)).body)) protectedValues.add(id);
await createResources();

/** Creates a resource of every kind, and registers its ids. */
async function createResources(): Promise<void> {
  const serviceAccount = await createKeyedAccount(company, [await createPolicyGroup(company)]);
  const tableId = await createSalesTable(company);
  const { dashboard, rows } = await createSalesDashboard(company);
  const share = await createShare(company, dashboard._id);
  const context = await createShareContext(company, [makeDashboardGrant(dashboard._id)], ['carla@customer.test']);
  const concept = await createConcept(owner);
  const [subject, object] = [await createNode(owner), await createNode(owner)];
  const relation = await createRelation(owner, subject, 'places', object);
  const item = await createItem(owner);
  const embed = await createEmbedToken(company, 'dashboards', dashboard._id);
  const visualization = await createEmbedToken(company, 'visualizations', rows._id);
  for (const path of ['sso', 'share-portal']) knownValues.add(path, 'acme', 'stranger');
  knownValues.add('filters', 'regions', 'region', 'days');
  knownValues.add('managed-tables', tableId);
  knownValues.add('service-accounts', serviceAccount.id);
  knownValues.add('keys', serviceAccount.keyId);
  knownValues.add('dashboards', dashboard._id, dashboard.slug);
  knownValues.add('visualizations', rows._id);
  knownValues.add('dashboard-shares', share.id);
  knownValues.add('shares', share.token);
  knownValues.add('p', share.token);
  knownValues.add('d', embed);
  knownValues.add('v', visualization);
  knownValues.add('share-contexts', context.id, context.slug);
  knownValues.add('members', ...context.members.map((member) => member.id));
  knownValues.add('concepts', concept);
  knownValues.add('semantic', item);
  knownValues.add('nodes', subject, object);
  knownValues.add('relations', relation);
}

/** Lists the ids in an answer: of the returned record, or of the records of a list. */
function listIds(body: unknown): string[] {
  const { id, _id, records, results } = Object(body) as Record<string, unknown>;
  const recordIds = [records ?? results].flat().map((record) => Object(record).id ?? Object(record)._id);
  return [id, _id, ...recordIds].filter((value) => typeof value === 'string');
}

const CREDENTIALS = new Map(ROUTES.map(({ method, path, credential }) => [`${method} ${path}`, credential]));
const TEMPLATES = listOperations(readApiDescription() as never)
  .map(({ method, path }) => ({ method, path }))
  .toSorted((a, b) => compareSpecificity(a.path, b.path));

/** Returns the contract's path template for an address, or an empty text. */
const findTemplate = (method: string, address: string): string => {
  const path = address.split('?')[0] as string;
  return TEMPLATES.find((template) => template.method === method && matchesPath(template.path, path))?.path ?? '';
};

/** Returns the caller, with a credential that fits the route, for the kind of sender. */
function chooseCaller(sender: SenderKind, method: string, path: string): Caller | undefined {
  const credential = CREDENTIALS.get(`${method} ${findTemplate(method, path)}`);
  if (sender === 'nobody') return undefined;
  if (sender === 'forger') return createCaller('eyJhbGciOiJub25lIn0.e30.');
  if (credential === 'operator')
    return sender === 'owner' ? createCaller(env.PLATFORM_ADMIN_TOKEN) : createCaller('wrong');
  const isSigned = credential === 'signature';
  if (sender === 'weak') return isSigned ? weakCallers.signature : weakCallers.bearer;
  return isSigned ? createSignedCaller(company.apiKey) : owner;
}

async function sendRequest(request: RandomRequest): Promise<ApiResponse> {
  const path = knownValues.replacePlaceholders(request.path);
  const { method, headers, body: randomBody } = request;
  const body =
    randomBody === null
      ? undefined
      : 'text' in randomBody
        ? knownValues.replacePlaceholders(randomBody.text)
        : makeForm(randomBody.form);
  const caller = chooseCaller(request.sender, method, path);
  const requestOptions = {
    headers: randomBody && 'form' in randomBody ? removeHeader(headers, 'content-type') : headers,
    body,
    env: model,
  };
  const answer = await (caller
    ? caller[method.toLowerCase() as keyof Caller](path, requestOptions)
    : callApi(method, path, requestOptions));
  if (path.startsWith('/v1/auth/logout')) {
    owner = createCaller((await logIn(company.slug, company.owner.email, company.owner.password)).body.token);
  }
  return answer;
}

const removeHeader = (headers: Record<string, string>, name: string) =>
  Object.fromEntries(Object.entries(headers).filter(([header]) => header !== name));

function makeForm(members: [string, string, string | null][]): FormData {
  const form = new FormData();
  for (const [name, value, fileName] of members) {
    if (fileName === null) form.append(name, knownValues.replacePlaceholders(value));
    else form.append(name, new File([value], fileName));
  }
  return form;
}

/** Sends a request. @returns a description of what is wrong with the answer, or undefined */
async function findProblem(request: RandomRequest): Promise<string | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeLimit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${MAX_ANSWER_MS} ms`)), MAX_ANSWER_MS);
  });
  try {
    const { status, body } = await Promise.race([sendRequest(request), timeLimit]);
    if (status < 300)
      knownValues.add(
        findKind(findTemplate(request.method, request.path)),
        ...listIds(body).filter((id) => !protectedValues.has(id)),
      );
    countByStatus.set(status, (countByStatus.get(status) ?? 0) + 1);
    return status >= 500 && !DOCUMENTED_FAILURES_PATTERN.test(JSON.stringify(body))
      ? `${status} ${JSON.stringify(body)}`
      : undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    clearTimeout(timer);
  }
}

const countByStatus = new Map<number, number>();

/** Path segments that no id contains, and that some databases reject. */
const ODD_SEGMENTS = ['%00', '%', '%ED%A0%80', '%2E%2E%2F', "'", 'x'.repeat(3_000)];

it('no route fails with an internal error if a path parameter cannot be an id, slug or token', async () => {
  const problems: string[] = [];
  for (const { method, path } of TEMPLATES.filter((template) => template.path.includes('{'))) {
    const parameterCount = path.split('{').length - 1;
    for (const oddSegment of ODD_SEGMENTS) {
      for (let parameterIndex = 0; parameterIndex < parameterCount; parameterIndex += 1) {
        let at = -1;
        const filledPath = path.replaceAll(/\{\w+\}/g, () => {
          at += 1;
          return at === parameterIndex ? oddSegment : '@known::1';
        });
        const body = method === 'GET' ? null : { text: '{}' };
        const headers = { 'content-type': 'application/json' };
        const problem = await findProblem({ sender: 'owner', method, path: filledPath, headers, body });
        if (problem !== undefined) problems.push(`${method} ${filledPath.slice(0, 200)}: ${problem}`);
      }
    }
  }
  expect(problems).toEqual([]);
});

it(`the API answers ${count} random requests as described, and none with an internal error`, {
  timeout: count * 500,
}, async () => {
  const problems: { problem: string; request: RandomRequest }[] = [];
  const stream = fc.sample(generateRequests(readApiDescription() as unknown as ApiDescription), { numRuns: count });
  for (const request of stream) {
    const problem = await findProblem(request);
    if (problem !== undefined && problems.length < 20) problems.push({ problem, request });
  }
  console.info(
    `Statuses of random requests (seed ${inject('seed')}):`,
    Object.fromEntries([...countByStatus].sort(([a], [b]) => a - b)),
  );
  expect(problems).toEqual([]);
  // Most requests pass authorization, and many succeed.
  const successCount = [200, 201, 202, 204].reduce((sum, status) => sum + (countByStatus.get(status) ?? 0), 0);
  expect(successCount).toBeGreaterThan(count / 10);
});
