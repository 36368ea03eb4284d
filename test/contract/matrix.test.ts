import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import threatModel from '../../docs/threat-model.md?raw';
import { SURFACES } from '../../src/app.ts';
import { type Contract, getAction } from '../../src/http/endpoint.ts';
import { fillPath, listParameters } from '../../src/http/paths.ts';
import { type Action, ALL_ACTIONS } from '../../src/permissions/actions.ts';
import type { PolicyStatement } from '../../src/permissions/policy-document.ts';
import type { ApiResponse, Caller, RequestOptions } from '../support/api.ts';
import { makePolicyInput } from '../support/console.ts';
import { createPrincipals, type Principal } from '../support/principals.ts';
import { allow, must } from '../support/signed.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';
import { createHeldQueue, makeFile, uploadFiles } from '../uploads/support.ts';
import { beginUpload, parseUploadId } from '../uploads/tus.ts';
import { someSales } from '../visualizations/support.ts';
import { LISTS, LISTS_WITHOUT_DENIALS } from './lists.ts';
import { OUTSIDE_REASONS, PART_REASONS } from './outside.ts';
import { createPublishedVisualization } from './ways/showing.ts';
import { createNumberTable } from './ways/tables.ts';
import { type AccessPath, makeArn } from './ways/way.ts';
import { ACCESS_PATHS } from './ways.ts';

const formatRoute = ({ method, path }: Contract): string => `${method.toUpperCase()} ${path}`;
const ROUTES = SURFACES.flatMap(({ surface, endpoints }) =>
  endpoints.map(({ contract }) => ({
    route: formatRoute(contract),
    contract,
    credential: contract.credential ?? surface.credential,
    action: getAction(contract.access),
  })),
);
const CONTRACTS = new Map(ROUTES.map(({ route, contract }) => [route, contract]));

/** Whatever the path names: making a policy is asked of all policies. */
const ROUTES_CHECKED_ON_ALL = new Set(['POST /v1/policies/{id}/clone']);
const namesResource = ({ route, contract }: (typeof ROUTES)[number]): boolean =>
  contract.resource !== 'none' && listParameters(contract.path).length > 0 && !ROUTES_CHECKED_ON_ALL.has(route);
/** Those that ask for an action: on the one resource that the path names, or on all of the type. */
const GUARDED = ROUTES.flatMap((each) => {
  const { action } = each;
  return action === null ? [] : [{ ...each, action, isOfOne: namesResource(each) }];
});
type Guarded = (typeof GUARDED)[number];

let company: Company;
let principals: Awaited<ReturnType<typeof createPrincipals>>;
beforeAll(async () => {
  company = await aProvisionedCompany();
  await someSales(company);
  principals = await createPrincipals(company);
});

/** The ARN's service and type for the actions of each service, as the documentation lists them. */
const ARN_PARTS: Record<string, string> = {
  accounts: 'accounts:account',
  'service-accounts': 'service-accounts:service-account',
  users: 'users:user',
  groups: 'groups:group',
  permissions: 'permissions:permission',
  policies: 'iam:policy',
  company: 'company:company',
  api_keys: 'api_keys:api-key',
  'managed-tables': 'managed-tables:table',
  visualizations: 'visualizations:visualization',
  dashboards: 'dashboards:dashboard',
  viz_api_endpoints: 'viz_api_endpoints:endpoint',
  data_api: 'data_api:endpoint',
  concepts: 'concepts:concept',
  semantic: 'semantic:item',
  knowledge_reviews: 'knowledge_reviews:suggestion',
  webhooks: 'webhooks:webhook-endpoint',
};
function findArnPart(action: Action, path: string): string {
  const [service = ''] = action.split(':');
  if (service === 'ontology') return `ontology:${path.includes('/relations') ? 'relation' : 'node'}`;
  return ARN_PARTS[service] ?? `${service}:nothing`;
}

const UNKNOWN_ID = '0'.repeat(24);
const OTHER_ID = 'e'.repeat(24);

/** Where what is asked about is not named by its id, a record is made: its ARN, and what stands in the path. */
const RECORDS: Record<string, () => Promise<{ arn: string; named: string }>> = {
  '/v1/policies/{id}': async () => {
    const { _id, arn } = await must(company.as.post('/v1/policies', { json: makePolicyInput([allow('users:list')]) }));
    return { arn, named: _id };
  },
  '/data/{slug}': async () => {
    const { endpoint } = await createPublishedVisualization(company);
    return { arn: makeArn(company, 'data_api:endpoint', endpoint._id), named: endpoint.slug };
  },
  '/data/jobs/{job_id}': async () => {
    const { endpoint } = await createPublishedVisualization(company);
    await principals.signature.may([allow('*')]);
    const { job_id } = await must(principals.signature.as.post(`/data/${endpoint.slug}/jobs`, { json: {} }));
    return { arn: makeArn(company, 'data_api:endpoint', endpoint._id), named: job_id };
  },
  '/v1/managed-tables/upload-jobs/{jobId}': async () => {
    const { id } = await createNumberTable(company);
    const named = await uploadFiles(company, [makeFile('n.csv', 'n\n1\n')], { ...createHeldQueue(), into: id });
    return { arn: makeArn(company, 'managed-tables:table', id), named };
  },
  // Theirs alone who began it.
  '/v1/managed-tables/uploads': async () => {
    const { id } = await createNumberTable(company);
    await principals.bearer.may([allow('*')]);
    const named = parseUploadId(await beginUpload(principals.bearer.as, 10, { said: { table_id: id } }));
    return { arn: makeArn(company, 'managed-tables:table', id), named };
  },
};
/** What a route's service asks for as well, on the same resource. */
const FURTHER_ACTIONS: Record<string, Action[]> = {
  'GET /data/jobs/{job_id}': ['data_api:execute'],
  'POST /v1/managed-tables/upload-jobs/{jobId}/undo': ['managed-tables:data-write'],
};

async function createTarget({ contract, action }: Guarded): Promise<{ arn: string; another: string; named: string }> {
  const place = findArnPart(action, contract.path);
  const another = makeArn(company, place, OTHER_ID);
  if (typeof contract.access !== 'object')
    return { arn: makeArn(company, place, UNKNOWN_ID), another, named: UNKNOWN_ID };
  const [, make] = Object.entries(RECORDS).find(([path]) => contract.path.startsWith(path)) ?? [];
  if (make === undefined) throw new Error(`No record is made for ${formatRoute(contract)}.`);
  return { ...(await make()), another };
}

const makeStatement = (effect: 'Allow' | 'Deny', actions: Action[], resource: string): PolicyStatement => ({
  effect,
  actions,
  resources: [resource],
});

/** An invalid request, so that a route that lets it in changes nothing. */
function sendInvalidRequest(
  { as }: Principal,
  { method, path, query, body }: Contract,
  named: string,
): Promise<ApiResponse> {
  const address = fillPath(path, (name) => (name === listParameters(path)[0] ? named : UNKNOWN_ID));
  return as[method](address + (method === 'get' && query ? '?page=0' : ''), body ? { json: { name: 7 } } : {});
}

const expectPast = ({ status }: ApiResponse) => {
  expect(status).not.toBeOneOf([401, 403]);
  expect(status).toBeLessThan(500);
};
const expectRefused = ({ status, body }: ApiResponse, action: Action) =>
  expect([status, body.details?.action]).toEqual([403, action]);
function expectForAdministrators({ status, body }: ApiResponse, asked: ApiResponse): void {
  expect([status, body.message]).toEqual([403, 'Only administrators may do this.']);
  expectPast(asked);
}
/** What lets nobody do the one thing. */
const allowOtherActions = (action: Action): PolicyStatement => allow(...ALL_ACTIONS.filter((each) => each !== action));

describe('a route about one resource', () => {
  const own = GUARDED.filter(({ isOfOne }) => isOfOne);

  it.each(own.map((each) => [each.route, each] as const))(
    '%s follows an Allow and a Deny on that resource',
    async (_, guarded) => {
      const { route, contract, action, credential } = guarded;
      const caller = principals[credential];
      const { arn, another, named } = await createTarget(guarded);
      const asWell = FURTHER_ACTIONS[route] ?? [];
      const ask = async (statements: PolicyStatement[], at = named) => {
        await caller.may(statements);
        return sendInvalidRequest(caller, contract, at);
      };
      expectRefused(await ask([allowOtherActions(action)]), action);
      expectRefused(await ask([makeStatement('Allow', [action, ...asWell], another)]), action);
      expectRefused(await ask([allow('*'), makeStatement('Deny', [action], arn)]), action);
      const allowed = await ask([makeStatement('Allow', [action, ...asWell], arn)]);
      // Nobody is an administrator whom anything is denied.
      if (contract.only === 'administrators') return expectForAdministrators(allowed, await ask([allow('*')]));
      expectPast(allowed);
      const next = await createTarget(guarded);
      expectPast(await ask([allow('*'), makeStatement('Deny', [action], another)], next.named));
    },
  );
});

describe('a route about all resources of a type', () => {
  const rest = GUARDED.filter(({ isOfOne }) => !isOfOne);

  it.each(rest.map((each) => [each.route, each] as const))(
    '%s follows an Allow and a Deny on all of them',
    async (_, guarded) => {
      const { contract, action, credential } = guarded;
      const caller = principals[credential];
      const place = findArnPart(action, contract.path);
      const [all, one] = [makeArn(company, place, '*'), makeArn(company, place, UNKNOWN_ID)];
      const ask = async (...statements: PolicyStatement[]) => {
        await caller.may(statements);
        return sendInvalidRequest(caller, contract, UNKNOWN_ID);
      };
      expectRefused(await ask(allowOtherActions(action)), action);
      expectRefused(await ask(makeStatement('Allow', [action], one)), action);
      expectRefused(await ask(allow('*'), makeStatement('Deny', [action], all)), action);
      const allowed = await ask(makeStatement('Allow', [action], all));
      if (contract.only === 'administrators') return expectForAdministrators(allowed, await ask(allow('*')));
      expectPast(allowed);
      expectPast(await ask(allow('*'), makeStatement('Deny', [action], one)));
    },
  );
});

const isSuccess = ({ status }: ApiResponse): boolean => status < 300;

/** What became of asking: where it was not reached, it was refused, or is as if it were not there. */
function readOutcome({ reached = isSuccess }: AccessPath, answer: ApiResponse): 'reached' | 'not reached' | number {
  if (reached(answer)) return 'reached';
  return answer.status < 300 || [400, 403, 404, 422].includes(answer.status) ? 'not reached' : answer.status;
}

describe('a way to reach a resource', () => {
  const cases = ACCESS_PATHS.map((way) => [`${way.thing}, ${way.way}: ${way.routes[0]}`, way] as const);

  it('has a unique name in the tests', () => {
    const names = cases.map(([name]) => name);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  it.each(cases)('is closed by each Deny on its resource, and opened by its permissions: %s', async (_, way) => {
    const { besides = [], needs = [], denied } = way;
    const caller = principals[way.directory ? 'directory' : way.signed ? 'signature' : 'bearer'];
    const { arn, ask } = await way.make(company, caller);
    const asks = async (...statements: PolicyStatement[]) => {
      await caller.may([...(besides.length > 0 ? [allow(...besides)] : []), ...statements]);
      return readOutcome(way, await ask(caller.as));
    };
    const found: Record<string, ReturnType<typeof readOutcome>> = {};
    if (needs.length > 0) found.nothing = await asks();
    for (const action of denied) found[`Deny ${action}`] = await asks(allow('*'), makeStatement('Deny', [action], arn));
    found.Allow = needs.length > 0 ? await asks(makeStatement('Allow', needs, arn)) : await asks();
    const other = await way.make(company, caller);
    await caller.may([
      allow('*'),
      ...denied.map((action) => makeStatement('Deny', [action], arn.replace(/[^/]*$/, OTHER_ID))),
    ]);
    if (!way.whatever) found['Deny elsewhere'] = readOutcome(way, await other.ask(caller.as));
    const expected = Object.keys(found).map((what) => [
      what,
      what === 'Allow' || what === 'Deny elsewhere' ? 'reached' : 'not reached',
    ]);
    expect(found).toEqual(Object.fromEntries(expected));
  });
});

let keys = 0;
/** The same caller, whose POSTs carry an idempotency key. */
function withIdempotencyKeys(as: Caller): Caller {
  const key = `matrix-${++keys}`;
  const headers = (sending: RequestOptions) => ({
    ...sending,
    headers: { ...sending.headers, 'idempotency-key': key },
  });
  return { ...as, post: (path, sending = {}) => as.post(path, headers(sending)) };
}

describe('an answer kept for an idempotency key', () => {
  const isKept = ({ routes: [route = ''] }: AccessPath): boolean => {
    const contract = CONTRACTS.get(route);
    return contract?.method === 'post' && !contract.safe && !contract.form;
  };
  const cases = ACCESS_PATHS.filter(isKept).map((way) => [`${way.thing}, ${way.way}: ${way.routes[0]}`, way] as const);

  it.each(cases)('is not replayed after its resource was denied to the caller: %s', async (_, way) => {
    const caller = principals[way.directory ? 'directory' : way.signed ? 'signature' : 'bearer'];
    const { arn, ask } = await way.make(company, caller);
    await caller.may([allow('*')]);
    const keyed = withIdempotencyKeys(caller.as);
    const first = await ask(keyed);
    const again = await ask(keyed);
    expect([readOutcome(way, first), again.headers.get('idempotency-replayed')]).toEqual(['reached', 'true']);
    for (const action of way.denied) {
      await caller.may([allow('*'), makeStatement('Deny', [action], arn)]);
      const { status, headers } = await ask(keyed);
      expect(status).toBeOneOf([403, 404, 409]);
      expect(headers.get('idempotency-replayed')).toBeNull();
    }
  });
});

/** Names of fields that hold ids, in what a route takes. */
function listIdFields(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const names = 'properties' in schema ? Object.keys(schema.properties as object) : [];
  const own = names.filter((name) => /(^id|_id|Id)s?$/.test(name));
  return [...own, ...Object.values(schema).flatMap(listIdFields)];
}
const namesFurtherResources = ({ path, body, query }: Contract): boolean =>
  listParameters(path).length > 1 ||
  [body, query].some(
    (schema) => schema && listIdFields(z.toJSONSchema(schema, { unrepresentable: 'any', io: 'input' })).length > 0,
  );

describe('the matrix of routes and resources', () => {
  const lists = [...Object.keys(LISTS), ...Object.keys(LISTS_WITHOUT_DENIALS)].map(
    (path) => `GET ${path.split('?')[0]}`,
  );
  const ways = ACCESS_PATHS.flatMap(({ routes }) => routes);

  it('has a row for every route that reaches a resource', () => {
    const own = new Set(GUARDED.flatMap(({ route, isOfOne }) => (isOfOne ? [route] : [])));
    const rows = new Set([...own, ...ways, ...lists, ...Object.keys(OUTSIDE_REASONS)]);
    expect(ROUTES.map(({ route }) => route).filter((route) => !rows.has(route))).toEqual([]);
  });

  it('has no row for an unknown route, and no route both as reaching a resource and as reaching none', () => {
    const named = [...ways, ...lists, ...Object.keys(OUTSIDE_REASONS), ...Object.keys(PART_REASONS)];
    expect(named.filter((route) => !CONTRACTS.has(route))).toEqual([]);
    const reaching = new Set([...ways, ...lists]);
    expect(Object.keys(OUTSIDE_REASONS).filter((route) => reaching.has(route))).toEqual([]);
    expect(
      GUARDED.filter(({ route, isOfOne }) => isOfOne && route in OUTSIDE_REASONS).map(({ route }) => route),
    ).toEqual([]);
  });

  it('has a row of its own for each further resource that a route about one resource names', () => {
    const told = new Set([...ways, ...lists, ...Object.keys(PART_REASONS)]);
    const more = GUARDED.filter(({ isOfOne, contract }) => isOfOne && namesFurtherResources(contract)).map(
      ({ route }) => route,
    );
    expect(more.filter((route) => !told.has(route))).toEqual([]);
    expect(Object.keys(PART_REASONS).filter((route) => !more.includes(route))).toEqual([]);
  });

  it('has each action whose Deny closes a way in docs/threat-model.md, in the row of its resource', () => {
    const [, section = ''] = threatModel.split('## Who reaches what');
    const told = new Map(section.split('\n').map((line) => [line.split(' | ')[0]?.replace('| ', ''), line]));
    const missing = ACCESS_PATHS.flatMap(({ thing, denied }) => {
      const row = told.get(thing.replace(/^all (\w+)s$/, '$1')) ?? '';
      return denied.filter((action) => !row.includes(`\`${action}\``)).map((action) => `${thing}: ${action}`);
    });
    expect([...new Set(missing)]).toEqual([]);
  });
});
