import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import { SURFACES } from '../../src/app.ts';
import { findUnknownMembers } from '../../src/kernel/members.ts';
import { listOwnFilePrefixes, SHARED_FILE_PREFIXES } from '../../src/modules/organizations/end/stores.ts';
import { expectNothingLeft, listFileKeys } from '../organizations/support.ts';
import { type ApiResponse, BASE_URL, type Caller, callApi, createCaller, type RequestOptions } from '../support/api.ts';
import { type Company, createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import { createKeyedAccount, createSecretCaller, createSignedCaller } from '../support/signed.ts';
import { ExampleCollection } from './examples.ts';
import { ROUTES, type Route } from './routes.ts';

/** The companies, callers and values that the steps of the walk have created so far. */
export interface WalkState {
  company: Company;
  /** Another company, whose owner is refused at every resource of the first company. */
  otherCompany: Company;
  /** Ids, slugs, tokens and codes, under names that the steps agree on. */
  storedValues: Record<string, string>;
  /** By credential of a route: callers that are neither the owner nor an administrator's key. */
  callers: Partial<Record<string, Caller>>;
}

/** One request of the walk. Members that depend on earlier steps are functions. */
export interface Step {
  /** The method and path of the contract. */
  route: string;
  /** For each path parameter, the name of the stored value that replaces it. */
  params?: Record<string, string>;
  query?: (storedValues: WalkState['storedValues']) => Record<string, string>;
  json?: (storedValues: WalkState['storedValues'], state: WalkState) => unknown;
  headers?: Record<string, string>;
  /** Makes a body that is not JSON. */
  body?: (storedValues: WalkState['storedValues']) => BodyInit;
  /** Returns the caller, if it is not the company's owner or its administrators' key. */
  as?: (state: WalkState) => Caller;
  env?: (state: WalkState) => Record<string, string>;
  prepareStep?: (state: WalkState) => Promise<unknown>;
  /** Returns the values of the answer to store for later steps. */
  getStoredValues?: (body: ApiResponse['body'], answer: ApiResponse) => Record<string, string>;
  /** The status that the owner of another company gets; 404 by default. `never`: the request names nothing of a company. */
  strangerStatus?: number | 'never';
  /** True if the step is no example: another step of the same route is the example. */
  isNoExample?: true;
}

const SUGGESTIONS_ROUTE = 'POST /api/v1/domain-knowledge/suggestions';

/** Routes that create a record for which no GET route exists. */
const ROUTES_WITHOUT_LOCATION = [
  'POST /service-accounts/{id}/keys',
  'POST /v1/service-accounts/{id}/keys',
  'POST /tokens',
  'POST /oauth/register',
  'POST /groups/{id}/bindings',
  'POST /v1/managed-tables/{id}/indexes',
  'POST /v1/managed-tables/{id}/data',
  'POST /api/v1/share-contexts/{id}/members',
  'POST /api/v1/embed/dashboards/{id}',
  'POST /api/v1/embed/visualizations/{id}',
  'POST /api/v1/embed/signing-keys',
  ...['concepts', 'semantic', 'ontology/nodes', 'ontology/relations'].map(
    (kind) => `${SUGGESTIONS_ROUTE}/${kind}/{id}/generate`,
  ),
  `${SUGGESTIONS_ROUTE}/concepts/{id}/promote-semantic`,
  `${SUGGESTIONS_ROUTE}/concepts/{id}/promote-ontology`,
];

/**
 * Walks the routes of some surfaces in the order of `steps`. Before an authorized caller takes a step, three others try the same
 * request, and change nothing: an anonymous caller (401), a user of the company without permissions (403), and the owner of
 * another company (404). Every answer is checked against the API description (see `test/support/conformity.ts`); requests and
 * answers become the surface's examples.
 */
export function walkRoutes(
  titles: readonly string[],
  file: string,
  prepare: () => Promise<Partial<WalkState>>,
  steps: Step[],
) {
  let state: WalkState;
  let powerlessCallers: Record<string, Caller>;
  const routesWithoutLocation = new Set<string>();
  const examples = new ExampleCollection();
  let keysBefore: Set<string>;

  beforeAll(async () => {
    keysBefore = new Set(await listFileKeys());
    const initialState = await prepare();
    const company = initialState.company ?? (await createOwnedCompany({ slug: 'acme' }));
    const otherCompany = initialState.otherCompany ?? (await createOwnedCompany({ slug: 'stranger' }));
    state = {
      callers: {},
      ...initialState,
      storedValues: { company: company.slug, ...initialState.storedValues },
      company,
      otherCompany,
    };
    const serviceAccount = await createKeyedAccount(company);
    powerlessCallers = {
      bearer: (await createAllowedUser(company)).as,
      signature: serviceAccount.as,
      directory: createSecretCaller(serviceAccount),
    };
  });

  it.each(steps.map((step) => [step.route, step] as const))(
    '%s refuses callers without permission, and accepts callers with it',
    async (_name, step) => {
      await step.prepareStep?.(state);
      const { method, route, path } = makeAddress(step, state);
      const credential = route?.credential ?? 'none';
      const requestOptions = makeRequest(step, state);
      const mistypedOptions = addUnknownMember(step.route, requestOptions);
      // Who may not is told so before what is wrong with the body.
      const sendRequest = (caller: Caller | undefined) =>
        sendAs(caller, method, path, mistypedOptions ?? requestOptions);

      if (!['none', 'bearer?'].includes(credential)) {
        const forgedPath =
          credential === 'token in path' ? path.replace(state.storedValues.token ?? '', 'forged') : path;
        expectRefusal(await sendAs(undefined, method, forgedPath, makeRequest(step, state)), 401, step.route);
      }
      if (route && route.permission !== '-' && powerlessCallers[credential]) {
        expectRefusal(await sendRequest(powerlessCallers[credential]), 403, step.route);
      }
      if (
        step.params &&
        step.strangerStatus !== 'never' &&
        ['bearer', 'signature', 'external', 'directory'].includes(credential)
      ) {
        const { apiKey, as } = state.otherCompany;
        const other =
          credential === 'directory'
            ? createCaller(`${apiKey.access_key}:${apiKey.secret_key}`)
            : credential === 'signature'
              ? createSignedCaller(apiKey)
              : as;
        const answer = await (step.strangerStatus ? sendAs(other, method, path, requestOptions) : sendRequest(other));
        expectRefusal(answer, step.strangerStatus ?? 404, step.route);
      }

      const caller = chooseCaller(step, state, credential);
      if (mistypedOptions) expectUnknownMember(await sendAs(caller, method, path, mistypedOptions), step.route);
      const answer = await sendAs(caller, method, path, requestOptions);
      expect([answer.status, answer.body]).toEqual([Number(route?.success ?? 200), answer.body]);
      if (answer.status === 201) {
        const location = answer.headers.get('location');
        if (location === null) routesWithoutLocation.add(step.route);
        else
          expect(await sendAs(caller, 'GET', location.replace(BASE_URL, ''), {})).toMatchObject({
            status: 200,
            body: selectIds(answer.body),
          });
      }
      if (isReplacement(step.route) && requestOptions.json) {
        const { body: json } = await sendAs(caller, 'GET', path, {});
        const replacementAnswer = await sendAs(caller, method, path, { ...requestOptions, json });
        expect([step.route, replacementAnswer.status, replacementAnswer.body]).toEqual([
          step.route,
          answer.status,
          replacementAnswer.body,
        ]);
      }
      Object.assign(state.storedValues, step.getStoredValues?.(answer.body, answer));
      if (!step.isNoExample) examples.add(step.route, { ...describeRequest(step, state), answer: answer.body });
    },
  );

  describe('the walk through the routes', () => {
    it('has a step for every route of its APIs', () => {
      const ownEndpoints = SURFACES.filter(({ surface }) => titles.includes(surface.title)).flatMap(
        ({ endpoints }) => endpoints,
      );
      const walkedRoutes = new Set(steps.map(({ route }) => route));
      const routes = ownEndpoints.map(({ contract }) => `${contract.method.toUpperCase()} ${contract.path}`);
      const missedRoutes = routes.filter((route) => !walkedRoutes.has(route));
      expect(missedRoutes.map((route) => `${route}: add its step to test/contract/walk/${file}.test.ts`)).toEqual([]);
    });

    it('gets a Location for everything that it creates, except on the listed routes', () => {
      const ownRoutes = steps.map(({ route }) => route);
      expect([...routesWithoutLocation].toSorted()).toEqual(
        ROUTES_WITHOUT_LOCATION.filter((route) => ownRoutes.includes(route)).toSorted(),
      );
    });

    it('gets the answers that the examples show, as `npm run contract` writes them', async () => {
      await expect(examples.toJson()).toMatchFileSnapshot(`../../../src/generated/examples/${file}.json`);
    });

    it('leaves nothing of the company in any store after the company has ended', async () => {
      const knownPrefixes = [
        ...listOwnFilePrefixes(state.company.id),
        ...listOwnFilePrefixes(state.otherCompany.id),
        ...SHARED_FILE_PREFIXES,
      ];
      const strayKeys = (await listFileKeys()).filter(
        (key) => !keysBefore.has(key) && !knownPrefixes.some((prefix) => key.startsWith(prefix)),
      );
      expect(strayKeys.map((key) => `${key}: name its place in src/modules/organizations/end/stores.ts`)).toEqual([]);
      await expectNothingLeft(state.company);
    });
  });
}

const findEndpoint = (route: string) =>
  SURFACES.flatMap(({ endpoints }) => endpoints).find(
    ({ contract: { method, path } }) => `${method.toUpperCase()} ${path}` === route,
  );

/** Returns the id of a record, under the name that its API has for it. */
const selectIds = (body: ApiResponse['body']) =>
  Object.fromEntries(Object.entries(Object(body)).filter(([name]) => name === 'id' || name === '_id'));

const UNKNOWN_MEMBER = 'descripton';

/** Returns the request with an unknown member added; undefined if the body may have any members, or there is no body. */
function addUnknownMember(route: string, { json, ...rest }: RequestOptions): RequestOptions | undefined {
  const schema = findEndpoint(route)?.contract.body;
  const mistypedJson = { ...Object(json), [UNKNOWN_MEMBER]: 'a typing error' };
  const isClosed = json !== undefined && schema && !findUnknownMembers(schema, mistypedJson).next().done;
  return isClosed ? { ...rest, json: mistypedJson } : undefined;
}

/** Returns true for a route that replaces the record that its own GET returns. A SCIM PATCH contains operations instead. */
const isReplacement = (route: string): boolean =>
  /^(PUT|PATCH) /.test(route) &&
  !route.startsWith('PATCH /scim/') &&
  findEndpoint(route.replace(/^\w+/, 'GET')) !== undefined;

/** Requires a refusal that names the unknown field; only its wording differs between the surfaces. */
const expectUnknownMember = ({ status, body }: ApiResponse, route: string): void =>
  expect([
    route,
    status,
    (body.details ?? body.error?.details)?.map(({ field, reason }: never) => [field, reason]),
  ]).toEqual([route, 422, [[UNKNOWN_MEMBER, 'unknown']]]);

function makeAddress({ route: name, params = {}, query }: Step, { storedValues }: WalkState) {
  const [method = '', template = ''] = name.split(' ');
  const getStoredValue = (key: string): string => {
    const value = storedValues[key];
    if (value === undefined) throw new Error(`Nothing is kept as ${key}.`);
    return value;
  };
  const filledPath = template.replaceAll(/\{(\w+)\}/g, (_, parameter) =>
    getStoredValue(params[parameter] ?? parameter),
  );
  const queryText = query ? `?${new URLSearchParams(query(storedValues))}` : '';
  const route: Route | undefined = ROUTES.find((listedRoute) => `${listedRoute.method} ${listedRoute.path}` === name);
  return { method, route, path: filledPath + queryText };
}

function makeRequest(step: Step, state: WalkState): RequestOptions {
  return {
    ...(step.json && { json: step.json(state.storedValues, state) }),
    ...(step.headers && { headers: step.headers }),
    ...(step.body && { body: step.body(state.storedValues) }),
    ...(step.env && { env: step.env(state) }),
  };
}

function chooseCaller({ as }: Step, state: WalkState, credential: string): Caller | undefined {
  if (as) return as(state);
  if (credential === 'operator') return createCaller(env.PLATFORM_ADMIN_TOKEN);
  if (credential === 'signature') return createSignedCaller(state.company.apiKey);
  return credential === 'bearer' ? state.company.as : state.callers[credential];
}

const sendAs = (
  caller: Caller | undefined,
  method: string,
  path: string,
  requestOptions: RequestOptions,
): Promise<ApiResponse> =>
  caller ? caller[method.toLowerCase() as keyof Caller](path, requestOptions) : callApi(method, path, requestOptions);

/** Returns the parameters, query and body of a request as the API description shows them. */
function describeRequest({ params, query, json }: Step, state: WalkState) {
  const { storedValues } = state;
  return {
    ...(params && {
      params: Object.fromEntries(Object.entries(params).map(([name, key]) => [name, storedValues[key]])),
    }),
    ...(query && { query: query(storedValues) }),
    ...(json && { body: json(storedValues, state) }),
  };
}

/** Requires a status. The shape of the body needs no check: every answer is checked against the API description. */
const expectRefusal = (answer: ApiResponse, status: number, route: string): void =>
  expect([route, answer.status, answer.body]).toEqual([route, status, answer.body]);
