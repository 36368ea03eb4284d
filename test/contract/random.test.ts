import { env } from 'cloudflare:test';
import fc from 'fast-check';
import { beforeAll, expect, inject, it } from 'vitest';
import { compareSpecificity, matchesPath } from '../../src/http/paths.ts';
import { anEmbed } from '../embeds/support.ts';
import { createModel, makeProposal } from '../knowledge/model.ts';
import { createConcept, createItem, createNode, createRelation } from '../knowledge/support.ts';
import { aContext, dashboardGrant } from '../share-portal/support.ts';
import { aSalesDashboard, aShare, someSales } from '../shares/support.ts';
import { type ApiResponse, type Caller, call, createCaller } from '../support/api.ts';
import { readApiDescription } from '../support/conformity.ts';
import { aGroup, aServiceAccount, signed } from '../support/signed.ts';
import { aProvisionedCompany, aUser, type Company, logIn } from '../support/worlds.ts';
import { type Description, kindOf, type RandomRequest, requestsOf, type Who } from './random/requests.ts';
import { Known } from './random/values.ts';
import { operations, ROUTES } from './routes.ts';

const count = inject('randomRequests');
/** How long the slowest may take: user SQL is stopped after ten seconds. */
const PATIENCE_MS = 20_000;

/** Failures of a server that are none of ours, and described: the model, the identity provider, a database that is being made. */
const DESCRIBED = /AI_PROVIDER_|AI_OUTPUT_INVALID|SSO_PROVIDER_UNAVAILABLE/;

let company: Company;
let owner: Caller;
let weak: Record<string, Caller>;
let model: Record<string, string>;
const found = new Known();
/** What the requests need to go on: they may not name it. */
const protectedValues = new Set<string>();

beforeAll(async () => {
  company = await aProvisionedCompany({ slug: 'acme' });
  owner = company.as;
  weak = { bearer: (await aUser(company)).as, signature: (await aServiceAccount(company)).as };
  model = (await createModel(makeProposal({ description: 'What the model says.' }))).env;
  const admin = signed(company.apiKey);
  for (const path of ['/accounts', '/users', '/groups', '/service-accounts'])
    for (const id of idsIn((await admin.get(path)).body)) protectedValues.add(id);
  await furnish();
});

/** Makes a resource of every kind. */
async function furnish(): Promise<void> {
  const robot = await aServiceAccount(company, [await aGroup(company)]);
  const tableId = await someSales(company);
  const { dashboard, rows } = await aSalesDashboard(company);
  const share = await aShare(company, dashboard._id);
  const context = await aContext(company, [dashboardGrant(dashboard._id)], ['carla@customer.test']);
  const concept = await createConcept(owner);
  const [subject, object] = [await createNode(owner), await createNode(owner)];
  const relation = await createRelation(owner, subject, 'places', object);
  const item = await createItem(owner);
  const embed = await anEmbed(company, 'dashboards', dashboard._id);
  const visualization = await anEmbed(company, 'visualizations', rows._id);
  for (const path of ['sso', 'share-portal']) found.add(path, 'acme', 'stranger');
  found.add('filters', 'regions', 'region', 'days');
  found.add('managed-tables', tableId);
  found.add('service-accounts', robot.id);
  found.add('keys', robot.keyId);
  found.add('dashboards', dashboard._id, dashboard.slug);
  found.add('visualizations', rows._id);
  found.add('dashboard-shares', share.id);
  found.add('shares', share.token);
  found.add('p', share.token);
  found.add('d', embed);
  found.add('v', visualization);
  found.add('share-contexts', context.id, context.slug);
  found.add('members', ...context.members.map((member) => member.id));
  found.add('concepts', concept);
  found.add('semantic', item);
  found.add('nodes', subject, object);
  found.add('relations', relation);
}

/** The ids of what an answer shows: itself, or the records of a list. */
function idsIn(body: unknown): string[] {
  const { id, _id, records, results } = Object(body) as Record<string, unknown>;
  const shown = [records ?? results].flat().map((record) => Object(record).id ?? Object(record)._id);
  return [id, _id, ...shown].filter((value) => typeof value === 'string');
}

const CREDENTIALS = new Map(ROUTES.map(({ method, path, credential }) => [`${method} ${path}`, credential]));
const TEMPLATES = operations(readApiDescription() as never)
  .map(({ method, path }) => ({ method, path }))
  .toSorted((a, b) => compareSpecificity(a.path, b.path));

/** The path as the contract writes it, or an empty text. */
const templateOf = (method: string, address: string): string => {
  const path = address.split('?')[0] as string;
  return TEMPLATES.find((template) => template.method === method && matchesPath(template.path, path))?.path ?? '';
};

/** How requests to a route prove who sends them. */
function callerOf(who: Who, method: string, path: string): Caller | undefined {
  const credential = CREDENTIALS.get(`${method} ${templateOf(method, path)}`);
  if (who === 'nobody') return undefined;
  if (who === 'forger') return createCaller('eyJhbGciOiJub25lIn0.e30.');
  if (credential === 'operator')
    return who === 'owner' ? createCaller(env.PLATFORM_ADMIN_TOKEN) : createCaller('wrong');
  const isSigned = credential === 'signature';
  if (who === 'weak') return isSigned ? weak.signature : weak.bearer;
  return isSigned ? signed(company.apiKey) : owner;
}

async function send(request: RandomRequest): Promise<ApiResponse> {
  const path = found.putInto(request.path);
  const { method, headers, body: sent } = request;
  const body = sent === null ? undefined : 'text' in sent ? found.putInto(sent.text) : formOf(sent.form);
  const caller = callerOf(request.who, method, path);
  const sending = { headers: sent && 'form' in sent ? without(headers, 'content-type') : headers, body, env: model };
  const answer = await (caller
    ? caller[method.toLowerCase() as keyof Caller](path, sending)
    : call(method, path, sending));
  if (path.startsWith('/v1/auth/logout')) {
    owner = createCaller((await logIn(company.slug, company.owner.email, company.owner.password)).body.token);
  }
  return answer;
}

const without = (headers: Record<string, string>, name: string) =>
  Object.fromEntries(Object.entries(headers).filter(([header]) => header !== name));

function formOf(members: [string, string, string | null][]): FormData {
  const form = new FormData();
  for (const [name, value, fileName] of members) {
    if (fileName === null) form.append(name, found.putInto(value));
    else form.append(name, new File([value], fileName));
  }
  return form;
}

/** What is wrong with how a request was answered, or undefined. */
async function problemOf(request: RandomRequest): Promise<string | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const patience = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${PATIENCE_MS} ms`)), PATIENCE_MS);
  });
  try {
    const { status, body } = await Promise.race([send(request), patience]);
    if (status < 300)
      found.add(
        kindOf(templateOf(request.method, request.path)),
        ...idsIn(body).filter((id) => !protectedValues.has(id)),
      );
    tally.set(status, (tally.get(status) ?? 0) + 1);
    return status >= 500 && !DESCRIBED.test(JSON.stringify(body)) ? `${status} ${JSON.stringify(body)}` : undefined;
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
        const problem = await problemOf({ who: 'owner', method, path: filled, headers, body });
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
  const stream = fc.sample(requestsOf(readApiDescription() as unknown as Description), { numRuns: count });
  for (const request of stream) {
    const problem = await problemOf(request);
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
