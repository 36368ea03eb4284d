import { env } from 'cloudflare:test';
import fc from 'fast-check';
import { beforeAll, expect, inject, it } from 'vitest';
import { compareSpecificity, matchesPath } from '../../src/http/paths.ts';
import { createEmbed } from '../embeds/support.ts';
import { createModel, makeProposal } from '../knowledge/model.ts';
import { createConcept, createItem, createNode, createRelation } from '../knowledge/support.ts';
import { aContext, dashboardGrant } from '../share-portal/support.ts';
import { aSalesDashboard, aShare, someSales } from '../shares/support.ts';
import { type ApiResponse, type Caller, call, createCaller } from '../support/api.ts';
import { readApiDescription } from '../support/conformity.ts';
import { aGroup, aServiceAccount, signed } from '../support/signed.ts';
import { aProvisionedCompany, aUser, type Company, logIn } from '../support/worlds.ts';
import { type Description, findKind, generateRequests, type RandomRequest, type Who } from './random/requests.ts';
import { KnownValues } from './random/values.ts';
import { listOperations, ROUTES } from './routes.ts';

const count = inject('randomRequests');
/** How long the slowest may take: user SQL is stopped after ten seconds. */
const PATIENCE_MS = 20_000;

/** Failures of a server that are none of ours, and described: the model, the identity provider, a database that is being made. */
const DESCRIBED_FAILURES = /AI_PROVIDER_|AI_OUTPUT_INVALID|SSO_PROVIDER_UNAVAILABLE/;

let company: Company;
let owner: Caller;
let weakCallers: Record<string, Caller>;
let model: Record<string, string>;
const knownValues = new KnownValues();
/** What the requests need to go on: they may not name it. */
const protectedValues = new Set<string>();

beforeAll(async () => {
  company = await aProvisionedCompany({ slug: 'acme' });
  owner = company.as;
  weakCallers = { bearer: (await aUser(company)).as, signature: (await aServiceAccount(company)).as };
  model = (await createModel(makeProposal({ description: 'What the model says.' }))).env;
  const admin = signed(company.apiKey);
  for (const path of ['/accounts', '/users', '/groups', '/service-accounts'])
    for (const id of listIds((await admin.get(path)).body)) protectedValues.add(id);
  await createResources();
});

/** Makes a resource of every kind. */
async function createResources(): Promise<void> {
  const robot = await aServiceAccount(company, [await aGroup(company)]);
  const tableId = await someSales(company);
  const { dashboard, rows } = await aSalesDashboard(company);
  const share = await aShare(company, dashboard._id);
  const context = await aContext(company, [dashboardGrant(dashboard._id)], ['carla@customer.test']);
  const concept = await createConcept(owner);
  const [subject, object] = [await createNode(owner), await createNode(owner)];
  const relation = await createRelation(owner, subject, 'places', object);
  const item = await createItem(owner);
  const embed = await createEmbed(company, 'dashboards', dashboard._id);
  const visualization = await createEmbed(company, 'visualizations', rows._id);
  for (const path of ['sso', 'share-portal']) knownValues.add(path, 'acme', 'stranger');
  knownValues.add('filters', 'regions', 'region', 'days');
  knownValues.add('managed-tables', tableId);
  knownValues.add('service-accounts', robot.id);
  knownValues.add('keys', robot.keyId);
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

/** The ids of what an answer shows: itself, or the records of a list. */
function listIds(body: unknown): string[] {
  const { id, _id, records, results } = Object(body) as Record<string, unknown>;
  const shown = [records ?? results].flat().map((record) => Object(record).id ?? Object(record)._id);
  return [id, _id, ...shown].filter((value) => typeof value === 'string');
}

const CREDENTIALS = new Map(ROUTES.map(({ method, path, credential }) => [`${method} ${path}`, credential]));
const TEMPLATES = listOperations(readApiDescription() as never)
  .map(({ method, path }) => ({ method, path }))
  .toSorted((a, b) => compareSpecificity(a.path, b.path));

/** The path as the contract writes it, or an empty text. */
const findTemplate = (method: string, address: string): string => {
  const path = address.split('?')[0] as string;
  return TEMPLATES.find((template) => template.method === method && matchesPath(template.path, path))?.path ?? '';
};

/** How requests to a route prove who sends them. */
function chooseCaller(who: Who, method: string, path: string): Caller | undefined {
  const credential = CREDENTIALS.get(`${method} ${findTemplate(method, path)}`);
  if (who === 'nobody') return undefined;
  if (who === 'forger') return createCaller('eyJhbGciOiJub25lIn0.e30.');
  if (credential === 'operator')
    return who === 'owner' ? createCaller(env.PLATFORM_ADMIN_TOKEN) : createCaller('wrong');
  const isSigned = credential === 'signature';
  if (who === 'weak') return isSigned ? weakCallers.signature : weakCallers.bearer;
  return isSigned ? signed(company.apiKey) : owner;
}

async function sendRequest(request: RandomRequest): Promise<ApiResponse> {
  const path = knownValues.putInto(request.path);
  const { method, headers, body: sent } = request;
  const body = sent === null ? undefined : 'text' in sent ? knownValues.putInto(sent.text) : makeForm(sent.form);
  const caller = chooseCaller(request.who, method, path);
  const sending = {
    headers: sent && 'form' in sent ? removeHeader(headers, 'content-type') : headers,
    body,
    env: model,
  };
  const answer = await (caller
    ? caller[method.toLowerCase() as keyof Caller](path, sending)
    : call(method, path, sending));
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
    if (fileName === null) form.append(name, knownValues.putInto(value));
    else form.append(name, new File([value], fileName));
  }
  return form;
}

/** What is wrong with how a request was answered, or undefined. */
async function findProblem(request: RandomRequest): Promise<string | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const patience = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${PATIENCE_MS} ms`)), PATIENCE_MS);
  });
  try {
    const { status, body } = await Promise.race([sendRequest(request), patience]);
    if (status < 300)
      knownValues.add(
        findKind(findTemplate(request.method, request.path)),
        ...listIds(body).filter((id) => !protectedValues.has(id)),
      );
    tally.set(status, (tally.get(status) ?? 0) + 1);
    return status >= 500 && !DESCRIBED_FAILURES.test(JSON.stringify(body))
      ? `${status} ${JSON.stringify(body)}`
      : undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    clearTimeout(timer);
  }
}

const tally = new Map<number, number>();

/** What paths can hold that no id does, and some databases take amiss. */
const ODD_SEGMENTS = ['%00', '%', '%ED%A0%80', '%2E%2E%2F', "'", 'x'.repeat(3_000)];

it('a route fails with no internal error for what cannot be an id, slug or token', async () => {
  const problems: string[] = [];
  for (const { method, path } of TEMPLATES.filter((template) => template.path.includes('{'))) {
    const places = path.split('{').length - 1;
    for (const odd of ODD_SEGMENTS) {
      for (let place = 0; place < places; place += 1) {
        let at = -1;
        const filled = path.replaceAll(/\{\w+\}/g, () => {
          at += 1;
          return at === place ? odd : '@known::1';
        });
        const body = method === 'GET' ? null : { text: '{}' };
        const headers = { 'content-type': 'application/json' };
        const problem = await findProblem({ who: 'owner', method, path: filled, headers, body });
        if (problem !== undefined) problems.push(`${method} ${filled.slice(0, 200)}: ${problem}`);
      }
    }
  }
  expect(problems).toEqual([]);
});

it(`the API answers ${count} random requests as described, and none with an internal error`, {
  timeout: count * 500,
}, async () => {
  const problems: { problem: string; request: RandomRequest }[] = [];
  const stream = fc.sample(generateRequests(readApiDescription() as unknown as Description), { numRuns: count });
  for (const request of stream) {
    const problem = await findProblem(request);
    if (problem !== undefined && problems.length < 20) problems.push({ problem, request });
  }
  console.info(
    `Statuses of random requests (seed ${inject('seed')}):`,
    Object.fromEntries([...tally].sort(([a], [b]) => a - b)),
  );
  expect(problems).toEqual([]);
  // Most requests pass authorization, and many succeed.
  const successes = [200, 201, 202, 204].reduce((sum, status) => sum + (tally.get(status) ?? 0), 0);
  expect(successes).toBeGreaterThan(count / 10);
});
