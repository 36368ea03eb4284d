import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import { SURFACES } from '../../src/app.ts';
import { unknownMembers } from '../../src/kernel/members.ts';
import { listOwnFilePrefixes, SHARED_FILE_PREFIXES } from '../../src/modules/organizations/end/stores.ts';
import { expectNothingLeft, listFileKeys } from '../organizations/looking.ts';
import { type ApiResponse, BASE_URL, type Caller, call, createCaller, type RequestOptions } from '../support/api.ts';
import { resetClock } from '../support/clock.ts';
import { aServiceAccount, signed, withSecret } from '../support/signed.ts';
import { aCompany, aUser, type Company } from '../support/worlds.ts';
import { Examples } from './examples.ts';
import { ROUTES, type Route } from './routes.ts';

/** Who is there, and what the walk has come by so far. */
export interface World {
  company: Company;
  /** Another company, whose owner knocks at every resource of the first. */
  stranger: Company;
  /** Ids, slugs, tokens and codes, under names that the steps agree on. */
  kept: Record<string, string>;
  /** Callers of credentials that are neither the owner's nor an administrator's key, by the route's credential. */
  callers: Partial<Record<string, Caller>>;
}

/** One request of the walk. Members that depend on what came before are functions. */
export interface Step {
  /** Method and path of the contract. */
  route: string;
  /** For each parameter of the path, what is kept under that name stands for it. */
  params?: Record<string, string>;
  query?: (kept: World['kept']) => Record<string, string>;
  json?: (kept: World['kept'], world: World) => unknown;
  headers?: Record<string, string>;
  /** A body that is no JSON. */
  body?: (kept: World['kept']) => BodyInit;
  /** Who does it, where that is not the company's owner or its administrators' key. */
  as?: (world: World) => Caller;
  env?: (world: World) => Record<string, string>;
  before?: (world: World) => Promise<unknown>;
  /** What is kept of the answer. */
  keep?: (body: ApiResponse['body'], answer: ApiResponse) => Record<string, string>;
  /** What another company is told that tries the same; 404 when not said. `never`: the request names nothing of a company. */
  stranger?: number | 'never';
  /** Not shown as an example: another step of the same route is. */
  unshown?: true;
}

const SUGGESTIONS_ROUTE = 'POST /api/v1/domain-knowledge/suggestions';

/** Routes that make what no GET of its own shows. */
const SHOWN_NOWHERE = [
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
 * Walks the routes of some surfaces in the order of `steps`. Before whoever may do a step does it, three others try the
 * same, and change nothing: nobody (401), somebody of the company who may do nothing (403), and the owner of another
 * company (404). Every answer is held against the description (see `test/support/conformity.ts`); what was sent and
 * answered becomes the surface's examples.
 */
export function walkRoutes(
  titles: readonly string[],
  file: string,
  prepare: () => Promise<Partial<World>>,
  steps: Step[],
) {
  let world: World;
  let weak: Record<string, Caller>;
  const shownNowhere = new Set<string>();
  const examples = new Examples();
  let keysBefore: Set<string>;

  beforeAll(async () => {
    keysBefore = new Set(await listFileKeys());
    const prepared = await prepare();
    const company = prepared.company ?? (await aCompany({ slug: 'acme' }));
    const stranger = prepared.stranger ?? (await aCompany({ slug: 'stranger' }));
    world = { callers: {}, ...prepared, kept: { company: company.slug, ...prepared.kept }, company, stranger };
    const robot = await aServiceAccount(company);
    weak = { bearer: (await aUser(company)).as, signature: robot.as, directory: withSecret(robot) };
  });

  it.each(steps.map((step) => [step.route, step] as const))(
    '%s refuses callers without permission, and answers those with it',
    async (_name, step) => {
      await step.before?.(world);
      const { method, route, path } = makeAddress(step, world);
      const credential = route?.credential ?? 'none';
      const sending = makeRequest(step, world);
      const mistyped = withUnknownMember(step.route, sending);
      // Who may not is told so before what is wrong with the body.
      const send = (caller: Caller | undefined) => sendAs(caller, method, path, mistyped ?? sending);

      if (!['none', 'bearer?'].includes(credential)) {
        const forged = credential === 'token in path' ? path.replace(world.kept.token ?? '', 'forged') : path;
        expectRefusal(await sendAs(undefined, method, forged, makeRequest(step, world)), 401, step.route);
      }
      if (route && route.permission !== '-' && weak[credential]) {
        expectRefusal(await send(weak[credential]), 403, step.route);
      }
      if (
        step.params &&
        step.stranger !== 'never' &&
        ['bearer', 'signature', 'external', 'directory'].includes(credential)
      ) {
        const { apiKey, as } = world.stranger;
        const other =
          credential === 'directory'
            ? createCaller(`${apiKey.access_key}:${apiKey.secret_key}`)
            : credential === 'signature'
              ? signed(apiKey)
              : as;
        const answer = await (step.stranger ? sendAs(other, method, path, sending) : send(other));
        expectRefusal(answer, step.stranger ?? 404, step.route);
      }

      const caller = chooseCaller(step, world, credential);
      if (mistyped) expectUnknownMember(await sendAs(caller, method, path, mistyped), step.route);
      const answer = await sendAs(caller, method, path, sending);
      expect([answer.status, answer.body]).toEqual([Number(route?.success ?? 200), answer.body]);
      if (answer.status === 201) {
        const location = answer.headers.get('location');
        if (location === null) shownNowhere.add(step.route);
        else expect(await sendAs(caller, 'GET', location.replace(BASE_URL, ''), {})).toMatchObject({ status: 200 });
      }
      if (isReplacement(step.route) && sending.json) {
        const { body: json } = await sendAs(caller, 'GET', path, {});
        const sentBack = await sendAs(caller, method, path, { ...sending, json });
        expect([step.route, sentBack.status, sentBack.body]).toEqual([step.route, answer.status, sentBack.body]);
      }
      Object.assign(world.kept, step.keep?.(answer.body, answer));
      if (!step.unshown) examples.add(step.route, { ...describeRequest(step, world), answer: answer.body });
    },
  );

  describe('the walk through the routes', () => {
    it('has a step for every route of its APIs', () => {
      const own = SURFACES.filter(({ surface }) => titles.includes(surface.title)).flatMap(
        ({ endpoints }) => endpoints,
      );
      const walked = new Set(steps.map(({ route }) => route));
      const routes = own.map(({ contract }) => `${contract.method.toUpperCase()} ${contract.path}`);
      const left = routes.filter((route) => !walked.has(route));
      expect(left.map((route) => `${route}: add its step to test/contract/walk/${file}.test.ts`)).toEqual([]);
    });

    it('gets a Location for everything that it creates, but for the listed routes', () => {
      const own = steps.map(({ route }) => route);
      expect([...shownNowhere].toSorted()).toEqual(SHOWN_NOWHERE.filter((route) => own.includes(route)).toSorted());
    });

    it('gets the answers that the examples show, as `npm run contract` writes them', async () => {
      await expect(examples.text()).toMatchFileSnapshot(`../../../src/generated/examples/${file}.json`);
    });

    it('leaves nothing of the company in any store after the company has ended', async () => {
      resetClock();
      const known = [
        ...listOwnFilePrefixes(world.company.id),
        ...listOwnFilePrefixes(world.stranger.id),
        ...SHARED_FILE_PREFIXES,
      ];
      const strays = (await listFileKeys()).filter(
        (key) => !keysBefore.has(key) && !known.some((place) => key.startsWith(place)),
      );
      expect(strays.map((key) => `${key}: name its place in src/modules/organizations/end/stores.ts`)).toEqual([]);
      await expectNothingLeft(world.company);
    });
  });
}

const findEndpoint = (route: string) =>
  SURFACES.flatMap(({ endpoints }) => endpoints).find(
    ({ contract: { method, path } }) => `${method.toUpperCase()} ${path}` === route,
  );

const UNKNOWN_MEMBER = 'descripton';

/** The same request with a member that nobody knows; undefined where the body may have any, or there is none. */
function withUnknownMember(route: string, { json, ...rest }: RequestOptions): RequestOptions | undefined {
  const schema = findEndpoint(route)?.contract.body;
  const mistyped = { ...Object(json), [UNKNOWN_MEMBER]: 'a typing error' };
  const isClosed = json !== undefined && schema && !unknownMembers(schema, mistyped).next().done;
  return isClosed ? { ...rest, json: mistyped } : undefined;
}

/** Whether a route puts another record in the place of the one that its own GET shows. A PATCH of SCIM is operations. */
const isReplacement = (route: string): boolean =>
  /^(PUT|PATCH) /.test(route) &&
  !route.startsWith('PATCH /scim/') &&
  findEndpoint(route.replace(/^\w+/, 'GET')) !== undefined;

/** Each surface words it in its own way; the field stands in all of them. */
const expectUnknownMember = ({ status, body }: ApiResponse, route: string): void =>
  expect([
    route,
    status,
    (body.details ?? body.error?.details)?.map(({ field, reason }: never) => [field, reason]),
  ]).toEqual([route, 422, [[UNKNOWN_MEMBER, 'unknown']]]);

function makeAddress({ route: name, params = {}, query }: Step, { kept }: World) {
  const [method = '', template = ''] = name.split(' ');
  const known = (key: string): string => {
    const value = kept[key];
    if (value === undefined) throw new Error(`Nothing is kept as ${key}.`);
    return value;
  };
  const filled = template.replaceAll(/\{(\w+)\}/g, (_, parameter) => known(params[parameter] ?? parameter));
  const asked = query ? `?${new URLSearchParams(query(kept))}` : '';
  const route: Route | undefined = ROUTES.find((listed) => `${listed.method} ${listed.path}` === name);
  return { method, route, path: filled + asked };
}

function makeRequest(step: Step, world: World): RequestOptions {
  return {
    ...(step.json && { json: step.json(world.kept, world) }),
    ...(step.headers && { headers: step.headers }),
    ...(step.body && { body: step.body(world.kept) }),
    ...(step.env && { env: step.env(world) }),
  };
}

function chooseCaller({ as }: Step, world: World, credential: string): Caller | undefined {
  if (as) return as(world);
  if (credential === 'operator') return createCaller(env.PLATFORM_ADMIN_TOKEN);
  if (credential === 'signature') return signed(world.company.apiKey);
  return credential === 'bearer' ? world.company.as : world.callers[credential];
}

const sendAs = (
  caller: Caller | undefined,
  method: string,
  path: string,
  sending: RequestOptions,
): Promise<ApiResponse> =>
  caller ? caller[method.toLowerCase() as keyof Caller](path, sending) : call(method, path, sending);

/** What a reader of the description is shown of a request. */
function describeRequest({ params, query, json }: Step, world: World) {
  const { kept } = world;
  return {
    ...(params && { params: Object.fromEntries(Object.entries(params).map(([name, key]) => [name, kept[key]])) }),
    ...(query && { query: query(kept) }),
    ...(json && { body: json(kept, world) }),
  };
}

/** The body's shape needs no look here: every answer was held against the description of its surface already. */
const expectRefusal = (answer: ApiResponse, status: number, route: string): void =>
  expect([route, answer.status, answer.body]).toEqual([route, status, answer.body]);
