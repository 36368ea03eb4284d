import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import threatModel from '../../docs/threat-model.md?raw';
import { SURFACES } from '../../src/app.ts';
import { type Contract, getAction } from '../../src/http/endpoint.ts';
import { takesIdempotencyKey } from '../../src/http/failures.ts';
import { fillPath, listParameters } from '../../src/http/paths.ts';
import { type Action, ALL_ACTIONS } from '../../src/permissions/actions.ts';
import type { PolicyStatement } from '../../src/permissions/policy-document.ts';
import type { ApiResponse, Caller, RequestOptions } from '../support/api.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { makePolicyInput } from '../support/console.ts';
import { createPrincipals, type TestPrincipal } from '../support/principals.ts';
import { expectSuccess, makeAllow } from '../support/signed.ts';
import { createTestQueue, makeFile, uploadFiles } from '../uploads/support.ts';
import { beginUpload, parseUploadId } from '../uploads/tus.ts';
import { createSalesTable } from '../visualizations/support.ts';
import { type AccessPath, makeArn } from './access-paths/access-path.ts';
import { createPublishedVisualization } from './access-paths/results.ts';
import { createNumberTable } from './access-paths/tables.ts';
import { ACCESS_PATHS } from './access-paths.ts';
import { LISTS, LISTS_WITHOUT_DENIALS } from './lists.ts';
import { PART_REASONS, UNCHECKED_ROUTE_REASONS } from './unchecked-routes.ts';

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

/** Routes whose check names all resources, whatever their path names: creating a policy needs permission on all policies. */
const ROUTES_CHECKED_ON_ALL = new Set(['POST /v1/policies/{id}/clone']);
const namesResource = ({ route, contract }: (typeof ROUTES)[number]): boolean =>
  contract.resource !== 'none' && listParameters(contract.path).length > 0 && !ROUTES_CHECKED_ON_ALL.has(route);
/** Routes that check an action: on the resource that the path names, or on all resources of the type. */
const GUARDED_ROUTES = ROUTES.flatMap((route) => {
  const { action } = route;
  return action === null ? [] : [{ ...route, action, isOfOne: namesResource(route) }];
});
type GuardedRoute = (typeof GUARDED_ROUTES)[number];

const company = await createProvisionedCompany();
await createSalesTable(company);
const principals = await createPrincipals(company);

/** The service and type in ARNs for the actions of each service, as the documentation lists them. */
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

/** For paths whose parameter is not the id in the resource's ARN: creates a record, and returns its ARN and path parameter. */
const RECORD_CREATORS: Record<string, () => Promise<{ arn: string; pathParameter: string }>> = {
  '/v1/policies/{id}': async () => {
    const { _id, arn } = await expectSuccess(
      company.as.post('/v1/policies', { json: makePolicyInput([makeAllow('users:list')]) }),
    );
    return { arn, pathParameter: _id };
  },
  '/data/{slug}': async () => {
    const { endpoint } = await createPublishedVisualization(company);
    return { arn: makeArn(company, 'data_api:endpoint', endpoint._id), pathParameter: endpoint.slug };
  },
  '/data/jobs/{job_id}': async () => {
    const { endpoint } = await createPublishedVisualization(company);
    await principals.signature.setStatements([makeAllow('*')]);
    const { job_id } = await expectSuccess(principals.signature.as.post(`/data/${endpoint.slug}/jobs`, { json: {} }));
    return { arn: makeArn(company, 'data_api:endpoint', endpoint._id), pathParameter: job_id };
  },
  '/v1/managed-tables/upload-jobs/{jobId}': async () => {
    const { id } = await createNumberTable(company);
    const uploadJobId = await uploadFiles(company, [makeFile('n.csv', 'n\n1\n')], { ...createTestQueue(), into: id });
    return { arn: makeArn(company, 'managed-tables:table', id), pathParameter: uploadJobId };
  },
  // Theirs alone who began it.
  '/v1/managed-tables/uploads': async () => {
    const { id } = await createNumberTable(company);
    await principals.bearer.setStatements([makeAllow('*')]);
    const uploadId = parseUploadId(await beginUpload(principals.bearer.as, 10, { metadata: { table_id: id } }));
    return { arn: makeArn(company, 'managed-tables:table', id), pathParameter: uploadId };
  },
};
/** Further actions that a route's service checks on the same resource. */
const FURTHER_ACTIONS: Record<string, Action[]> = {
  'GET /data/jobs/{job_id}': ['data_api:execute'],
  'POST /v1/managed-tables/upload-jobs/{jobId}/undo': ['managed-tables:data-write'],
};

async function createTarget({
  contract,
  action,
}: GuardedRoute): Promise<{ arn: string; otherArn: string; pathParameter: string }> {
  const arnPart = findArnPart(action, contract.path);
  const otherArn = makeArn(company, arnPart, OTHER_ID);
  if (typeof contract.access !== 'object')
    return { arn: makeArn(company, arnPart, UNKNOWN_ID), otherArn, pathParameter: UNKNOWN_ID };
  const [, make] = Object.entries(RECORD_CREATORS).find(([path]) => contract.path.startsWith(path)) ?? [];
  if (make === undefined) throw new Error(`No record is made for ${formatRoute(contract)}.`);
  return { ...(await make()), otherArn };
}

const makeStatement = (effect: 'Allow' | 'Deny', actions: Action[], resource: string): PolicyStatement => ({
  effect,
  actions,
  resources: [resource],
});

/** Sends an invalid request, so that a route that authorizes the caller changes nothing. */
function sendInvalidRequest(
  { as }: TestPrincipal,
  { method, path, query, body }: Contract,
  pathParameter: string,
): Promise<ApiResponse> {
  const address = fillPath(path, (name) => (name === listParameters(path)[0] ? pathParameter : UNKNOWN_ID));
  return as[method](address + (method === 'get' && query ? '?page=0' : ''), body ? { json: { name: 7 } } : {});
}

/** Returns true for a route that leaves the record that its path names as it was. */
const changesNothing = (contract: Contract | undefined): boolean => contract?.method === 'get' || !!contract?.safe;

const expectAuthorized = ({ status }: ApiResponse) => {
  expect(status).not.toBeOneOf([401, 403]);
  expect(status).toBeLessThan(500);
};
const expectRefused = ({ status, body }: ApiResponse, action: Action) =>
  expect([status, body.details?.action]).toEqual([403, action]);
function expectAdministratorsOnly({ status, body }: ApiResponse, administratorAnswer: ApiResponse): void {
  expect([status, body.message]).toEqual([403, 'Only administrators may do this.']);
  expectAuthorized(administratorAnswer);
}
/** Makes a statement that allows all actions but one. */
const allowOtherActions = (action: Action): PolicyStatement =>
  makeAllow(...ALL_ACTIONS.filter((candidate) => candidate !== action));

describe('a route about one resource', () => {
  const resourceRoutes = GUARDED_ROUTES.filter(({ isOfOne }) => isOfOne);

  it.each(resourceRoutes.map((resourceRoute) => [resourceRoute.route, resourceRoute] as const))(
    '%s follows an Allow and a Deny on that resource',
    async (_, guardedRoute) => {
      const { route, contract, action, credential } = guardedRoute;
      const caller = principals[credential];
      const target = await createTarget(guardedRoute);
      const { arn, otherArn, pathParameter } = target;
      const furtherActions = FURTHER_ACTIONS[route] ?? [];
      const sendWithPolicy = async (statements: PolicyStatement[], at = pathParameter) => {
        await caller.setStatements(statements);
        return sendInvalidRequest(caller, contract, at);
      };
      expectRefused(await sendWithPolicy([allowOtherActions(action)]), action);
      expectRefused(await sendWithPolicy([makeStatement('Allow', [action, ...furtherActions], otherArn)]), action);
      expectRefused(await sendWithPolicy([makeAllow('*'), makeStatement('Deny', [action], arn)]), action);
      const allowedAnswer = await sendWithPolicy([makeStatement('Allow', [action, ...furtherActions], arn)]);
      // Nobody is an administrator whom anything is denied.
      if (contract.only === 'administrators')
        return expectAdministratorsOnly(allowedAnswer, await sendWithPolicy([makeAllow('*')]));
      expectAuthorized(allowedAnswer);
      const next = changesNothing(contract) ? target : await createTarget(guardedRoute);
      expectAuthorized(
        await sendWithPolicy([makeAllow('*'), makeStatement('Deny', [action], otherArn)], next.pathParameter),
      );
    },
  );
});

describe('a route about all resources of a type', () => {
  const typeRoutes = GUARDED_ROUTES.filter(({ isOfOne }) => !isOfOne);

  it.each(typeRoutes.map((typeRoute) => [typeRoute.route, typeRoute] as const))(
    '%s follows an Allow and a Deny on all of them',
    async (_, guardedRoute) => {
      const { contract, action, credential } = guardedRoute;
      const caller = principals[credential];
      const arnPart = findArnPart(action, contract.path);
      const [allArn, unknownArn] = [makeArn(company, arnPart, '*'), makeArn(company, arnPart, UNKNOWN_ID)];
      const sendWithPolicy = async (...statements: PolicyStatement[]) => {
        await caller.setStatements(statements);
        return sendInvalidRequest(caller, contract, UNKNOWN_ID);
      };
      expectRefused(await sendWithPolicy(allowOtherActions(action)), action);
      expectRefused(await sendWithPolicy(makeStatement('Allow', [action], unknownArn)), action);
      expectRefused(await sendWithPolicy(makeAllow('*'), makeStatement('Deny', [action], allArn)), action);
      const allowedAnswer = await sendWithPolicy(makeStatement('Allow', [action], allArn));
      if (contract.only === 'administrators')
        return expectAdministratorsOnly(allowedAnswer, await sendWithPolicy(makeAllow('*')));
      expectAuthorized(allowedAnswer);
      expectAuthorized(await sendWithPolicy(makeAllow('*'), makeStatement('Deny', [action], unknownArn)));
    },
  );
});

const isSuccess = ({ status }: ApiResponse): boolean => status < 300;

/** Classifies an answer: reached; refused, or answered as if the resource did not exist; or another status. */
function readOutcome({ isReachedBy = isSuccess }: AccessPath, answer: ApiResponse): 'reached' | 'not reached' | number {
  if (isReachedBy(answer)) return 'reached';
  return answer.status < 300 || [400, 403, 404, 422].includes(answer.status) ? 'not reached' : answer.status;
}

const choosePrincipal = ({ isFromDirectory, isSigned }: AccessPath): TestPrincipal =>
  principals[isFromDirectory ? 'directory' : isSigned ? 'signature' : 'bearer'];

describe('a way to reach a resource', () => {
  const cases = ACCESS_PATHS.map(
    (accessPath) =>
      [`${accessPath.resourceTitle}, ${accessPath.description}: ${accessPath.routes[0]}`, accessPath] as const,
  );

  it('has a unique name in the tests', () => {
    const names = cases.map(([name]) => name);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  it.each(cases)('is closed by each Deny on its resource, and opened by its permissions: %s', async (_, accessPath) => {
    const { extraActions = [], neededActions = [], closingActions } = accessPath;
    const caller = choosePrincipal(accessPath);
    const target = await accessPath.createTarget(company, caller);
    const { arn, ask } = target;
    const tryWithPolicy = async (...statements: PolicyStatement[]) => {
      await caller.setStatements([...(extraActions.length > 0 ? [makeAllow(...extraActions)] : []), ...statements]);
      return readOutcome(accessPath, await ask(caller.as));
    };
    const outcomes: Record<string, ReturnType<typeof readOutcome>> = {};
    if (neededActions.length > 0) outcomes.nothing = await tryWithPolicy();
    for (const action of closingActions)
      outcomes[`Deny ${action}`] = await tryWithPolicy(makeAllow('*'), makeStatement('Deny', [action], arn));
    outcomes.Allow =
      neededActions.length > 0
        ? await tryWithPolicy(makeStatement('Allow', neededActions, arn))
        : await tryWithPolicy();
    const isRead = accessPath.routes.every((route) => changesNothing(CONTRACTS.get(route)));
    const other = isRead ? target : await accessPath.createTarget(company, caller);
    await caller.setStatements([
      makeAllow('*'),
      ...closingActions.map((action) => makeStatement('Deny', [action], arn.replace(/[^/]*$/, OTHER_ID))),
    ]);
    if (!accessPath.isClosedByAnyDeny) outcomes['Deny elsewhere'] = readOutcome(accessPath, await other.ask(caller.as));
    const expectedOutcomes = Object.keys(outcomes).map((caseName) => [
      caseName,
      caseName === 'Allow' || caseName === 'Deny elsewhere' ? 'reached' : 'not reached',
    ]);
    expect(outcomes).toEqual(Object.fromEntries(expectedOutcomes));
  });
});

let keyCount = 0;
/** Wraps a caller so that its POST requests carry an idempotency key. */
function withIdempotencyKeys(as: Caller): Caller {
  const key = `matrix-${++keyCount}`;
  const makeHeaders = (options: RequestOptions) => ({
    ...options,
    headers: { ...options.headers, 'idempotency-key': key },
  });
  return { ...as, post: (path, options = {}) => as.post(path, makeHeaders(options)) };
}

describe('an answer kept for an idempotency key', () => {
  /** One access path for each route that checks its path once more before it replays an answer. */
  const replayedPaths = new Map(
    ACCESS_PATHS.flatMap((accessPath) => {
      const [route = ''] = accessPath.routes;
      const contract = CONTRACTS.get(route);
      return contract?.checkPath && !contract.form && takesIdempotencyKey(contract)
        ? [[route, accessPath] as const]
        : [];
    }),
  );

  it.each([...replayedPaths])(
    'is replayed after its request changed what its path names: %s',
    async (_, accessPath) => {
      const caller = choosePrincipal(accessPath);
      const { ask } = await accessPath.createTarget(company, caller);
      await caller.setStatements([makeAllow('*')]);
      const keyedCaller = withIdempotencyKeys(caller.as);
      const first = await ask(keyedCaller);
      const repeatedAnswer = await ask(keyedCaller);
      expect([readOutcome(accessPath, first), repeatedAnswer.headers.get('idempotency-replayed')]).toEqual([
        'reached',
        'true',
      ]);
    },
  );
});

/** Lists the names of the id fields in a schema. */
function listIdFields(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const names = 'properties' in schema ? Object.keys(schema.properties as object) : [];
  const idFields = names.filter((name) => /(^id|_id|Id)s?$/.test(name));
  return [...idFields, ...Object.values(schema).flatMap(listIdFields)];
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
  const accessPathRoutes = ACCESS_PATHS.flatMap(({ routes }) => routes);

  it('has a row for every route that reaches a resource', () => {
    const resourceRoutes = new Set(GUARDED_ROUTES.flatMap(({ route, isOfOne }) => (isOfOne ? [route] : [])));
    const rows = new Set([...resourceRoutes, ...accessPathRoutes, ...lists, ...Object.keys(UNCHECKED_ROUTE_REASONS)]);
    expect(ROUTES.map(({ route }) => route).filter((route) => !rows.has(route))).toEqual([]);
  });

  it('has no row for an unknown route, and lists no route both as reaching a resource and as reaching none', () => {
    const listedRoutes = [
      ...accessPathRoutes,
      ...lists,
      ...Object.keys(UNCHECKED_ROUTE_REASONS),
      ...Object.keys(PART_REASONS),
    ];
    expect(listedRoutes.filter((route) => !CONTRACTS.has(route))).toEqual([]);
    const reachingRoutes = new Set([...accessPathRoutes, ...lists]);
    expect(Object.keys(UNCHECKED_ROUTE_REASONS).filter((route) => reachingRoutes.has(route))).toEqual([]);
    expect(
      GUARDED_ROUTES.filter(({ route, isOfOne }) => isOfOne && route in UNCHECKED_ROUTE_REASONS).map(
        ({ route }) => route,
      ),
    ).toEqual([]);
  });

  it('has a separate row for each further resource that a route about one resource names', () => {
    const coveredRoutes = new Set([...accessPathRoutes, ...lists, ...Object.keys(PART_REASONS)]);
    const furtherRoutes = GUARDED_ROUTES.filter(
      ({ isOfOne, contract }) => isOfOne && namesFurtherResources(contract),
    ).map(({ route }) => route);
    expect(furtherRoutes.filter((route) => !coveredRoutes.has(route))).toEqual([]);
    expect(Object.keys(PART_REASONS).filter((route) => !furtherRoutes.includes(route))).toEqual([]);
  });

  it('has each action whose Deny closes an access path in docs/threat-model.md, in the row of its resource', () => {
    const [, section = ''] = threatModel.split('## Who reaches what');
    const rowsByResource = new Map(section.split('\n').map((line) => [line.split(' | ')[0]?.replace('| ', ''), line]));
    const missingActions = ACCESS_PATHS.flatMap(({ resourceTitle, closingActions }) => {
      const row = rowsByResource.get(resourceTitle.replace(/^all (\w+)s$/, '$1')) ?? '';
      return closingActions
        .filter((action) => !row.includes(`\`${action}\``))
        .map((action) => `${resourceTitle}: ${action}`);
    });
    expect([...new Set(missingActions)]).toEqual([]);
  });
});
