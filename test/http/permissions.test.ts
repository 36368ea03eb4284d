import { describe, expect, it } from 'vitest';
import { SURFACES } from '../../src/app.ts';
import { type Contract, getAction } from '../../src/http/endpoint.ts';
import { fillPath } from '../../src/http/paths.ts';
import { isTokenAccess } from '../../src/http/request-checks.ts';
import { type Action, ALL_ACTIONS, getActionEntry } from '../../src/permissions/actions.ts';
import type { LegacyAction } from '../../src/permissions/legacy.ts';
import { type ApiResponse, callApi, type RequestOptions } from '../support/api.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { createPrincipal, createPrincipals, type TestPrincipal } from '../support/principals.ts';
import { createTokenCaller, makeAllow } from '../support/signed.ts';

/**
 * Every route, with the action that its contract requires. The walk (test/contract) sends each a request without a credential and
 * ids of another company, and the matrix each action without the others.
 */
const ROUTES = SURFACES.flatMap(({ surface, endpoints }) =>
  endpoints.map(({ contract }) => ({
    route: `${contract.method.toUpperCase()} ${contract.path}`,
    surface: surface.title,
    contract,
    credential: contract.credential ?? surface.credential,
    action: getAction(contract.access),
  })),
);

const company = await createOwnedCompany();
const principals = await createPrincipals(company);
/** A service account with a service token. */
const machinePrincipal = createPrincipal(principals.robot.id, await createTokenCaller(principals.robot));

const UNKNOWN_ID = '0'.repeat(24);
const makeAddress = ({ method, path, query }: Contract): string =>
  fillPath(path, () => UNKNOWN_ID) + (method === 'get' && query ? '?page=0' : '');
/** Makes an invalid request, so that a route that authorizes the caller changes nothing. */
const makeInvalidRequest = ({ body }: Contract): RequestOptions => (body ? { json: { name: 7 } } : {});

const sendInvalidRequest = ({ as }: TestPrincipal, contract: Contract): Promise<ApiResponse> =>
  as[contract.method](makeAddress(contract), makeInvalidRequest(contract));

/** Returns one route of each kind: what is the same for all of a kind is tried once. */
const selectOfEachKind = <R>(routes: R[], readKind: (route: R) => string): R[] => [
  ...new Map(routes.map((candidate) => [readKind(candidate), candidate])).values(),
];

const needsCredential = ({ access }: Contract): boolean =>
  access !== 'public' && access !== 'optional' && access !== 'pending' && !isTokenAccess(access);

/** The statuses of an invalid request by an authorized caller: it has no body, no real id, and no version of tus. */
const AUTHORIZED_STATUSES = [200, 204, 400, 404, 412, 422];

describe('a route that needs a credential', () => {
  const credentialRoutes = ROUTES.filter(({ contract }) => needsCredential(contract));

  it.each(
    selectOfEachKind(
      credentialRoutes,
      ({ surface, credential, contract: { access, body } }) =>
        `${surface} ${credential} ${typeof access === 'string' ? access : ''} ${body ? 'with a body' : ''}`,
    ),
  )(
    '$route refuses a request without a credential, and says which kind of credential it takes',
    async ({ contract, credential }) => {
      const { status, headers } = await callApi(
        contract.method.toUpperCase(),
        makeAddress(contract),
        makeInvalidRequest(contract),
      );
      expect(status).toBe(401);
      // Never Basic, for which a browser would ask the reader of a page for a password.
      expect(headers.get('www-authenticate')).toMatch(
        credential === 'signature' ? /^HMAC, Bearer / : /^(HMAC, )?Bearer /,
      );
    },
  );
});

describe('a route that asks for a permission (an action)', () => {
  const guardedRoutes = ROUTES.flatMap(({ action, credential, ...rest }) =>
    action === null || credential === 'external' ? [] : [{ ...rest, action, credential }],
  );

  it('is every route except those for any signed-in caller, for administrators and operators, and those whose permission depends on the data', () => {
    const otherRoutes = ROUTES.filter(({ contract, action }) => action === null && needsCredential(contract));
    const kinds = otherRoutes.map(({ contract: { access } }) => (typeof access === 'object' ? 'decidedBy' : access));
    expect(new Set(kinds)).toEqual(new Set(['authenticated', 'administrator', 'operator', 'decidedBy']));
    expect(guardedRoutes.length).toBeGreaterThan(100);
  });

  const legacyRoutes = guardedRoutes.flatMap(({ action, ...rest }) => {
    const { legacyVerbs, service } = getActionEntry(action);
    return legacyVerbs ? [{ ...rest, action, verbs: legacyVerbs as LegacyAction[], target: service }] : [];
  });

  // The role depends on the action alone.
  it.each(
    selectOfEachKind(
      legacyRoutes.filter(({ contract }) => contract.only === undefined),
      ({ action, credential }) => `${action} ${credential}`,
    ),
  )(
    '$route accepts the role $verbs of the former permission model, and no other role',
    async ({ contract, credential, verbs, target }) => {
      const caller = principals[credential];
      await caller.setStatements([], [{ name: 'Role', target, actions: verbs }]);
      expect((await sendInvalidRequest(caller, contract)).status).toBeOneOf(AUTHORIZED_STATUSES);
      const otherVerbs = (['read', 'create', 'update', 'delete'] as const).filter((verb) => !verbs.includes(verb));
      await caller.setStatements([], [{ name: 'Role', target, actions: otherVerbs }]);
      expect((await sendInvalidRequest(caller, contract)).status).toBe(403);
    },
  );
});

describe('a service token', () => {
  const tokenRoutes = ROUTES.filter(
    ({ credential, contract }) => credential !== 'signature' && needsCredential(contract),
  );

  // The invalid body is refused before a route does something of its own, unless it checks its path first.
  it.each(
    selectOfEachKind(
      tokenRoutes.filter(
        ({ contract: { access, only } }) => access !== 'operator' && only !== 'people' && only !== 'owner',
      ),
      ({ route, surface, credential, action, contract: { access, body, only, checkPath } }) =>
        body && !checkPath
          ? `${surface} ${credential} ${typeof access === 'string' ? access : action !== null} ${only}`
          : route,
    ),
  )('is accepted by $route for actions that its service account may take', async ({ contract, action }) => {
    await machinePrincipal.setStatements(action === null ? [makeAllow('*')] : [makeAllow(action)]);
    const { status } = await sendInvalidRequest(machinePrincipal, contract);
    if (action !== null && contract.only === 'administrators') return expect(status).toBe(403);
    expect(status).toBeOneOf([...AUTHORIZED_STATUSES, 201, 409]);
  });

  it.each(ROUTES.filter(({ contract }) => contract.only === 'people'))(
    'is refused by $route, whatever its service account may do',
    async ({ contract }) => {
      await machinePrincipal.setStatements([makeAllow('*')]);
      const { status, body } = await sendInvalidRequest(machinePrincipal, contract);
      expect([status, body.message]).toEqual([403, expect.stringContaining('for people')]);
    },
  );
});

describe('a route for the owner', () => {
  it.each(ROUTES.filter(({ contract }) => contract.only === 'owner'))(
    '$route refuses administrators, users and programs, before it validates the request',
    async ({ contract }) => {
      for (const caller of [principals.bearer, machinePrincipal]) {
        await caller.setStatements([makeAllow('*')]);
        const { status, body } = await sendInvalidRequest(caller, contract);
        expect([status, body.message]).toEqual([403, 'Only the owner of the company may do this.']);
      }
    },
  );
});

describe('a route for administrators', () => {
  it.each(ROUTES.filter(({ contract }) => contract.access === 'administrator'))(
    '$route refuses callers who are allowed every action by name, and accepts those allowed "*"',
    async ({ contract, credential }) => {
      const caller = principals[credential as 'bearer' | 'signature'];
      await caller.setStatements([makeAllow(...ALL_ACTIONS)]);
      expect((await sendInvalidRequest(caller, contract)).status).toBe(403);
      await caller.setStatements([makeAllow('*')]);
      expect((await sendInvalidRequest(caller, contract)).status).toBeOneOf(AUTHORIZED_STATUSES);
    },
  );
});

/**
 * The operations whose paths name no resource: what is sent decides which permission they require, or they show each caller
 * only what the caller may see.
 */
const SENT_DECIDED_OPERATIONS = [
  'beginResumableUpload',
  'createSchedule',
  'createShareContext',
  'getShareAnalytics',
  'listSchedules',
  'listShareEvents',
  'queryDirectory',
  'revokeEmbeds',
  'uploadManagedTableFromUrl',
];

describe('a route whose permission depends on the data', () => {
  const dataDecidedRoutes = ROUTES.flatMap(({ route, contract, credential }) => {
    const { access } = contract;
    const anyOf = typeof access === 'object' && 'decidedBy' in access ? access.anyOf : undefined;
    return anyOf && credential !== 'external' ? [{ route, contract, credential, anyOf }] : [];
  });

  it.each(dataDecidedRoutes)(
    '$route refuses callers who may do none of $anyOf',
    async ({ contract, credential, anyOf }) => {
      const caller = principals[credential];
      await caller.setStatements([makeAllow(...ALL_ACTIONS.filter((action) => !anyOf.includes(action)))]);
      expect((await sendInvalidRequest(caller, contract)).status).toBe(403);
    },
  );

  const pathDecidedRoutes = ROUTES.filter(
    ({ contract: { access, checkPath } }) => typeof access === 'object' && 'decidedBy' in access && checkPath,
  ).flatMap(({ credential, ...rest }) => (credential === 'external' ? [] : [{ ...rest, credential }]));

  it('checks its path before it refuses what is sent, unless what is sent decides', () => {
    const uncheckedRoutes = ROUTES.filter(
      ({ contract: { access, checkPath }, credential }) =>
        typeof access === 'object' && 'decidedBy' in access && !checkPath && credential !== 'external',
    );
    expect(uncheckedRoutes.map(({ contract }) => contract.operationId).toSorted()).toEqual(SENT_DECIDED_OPERATIONS);
  });

  it.each(pathDecidedRoutes)(
    '$route answers 403 and not 422 to callers who may do the actions to another resource only',
    async ({ contract, credential }) => {
      const caller = principals[credential];
      const { anyOf = ALL_ACTIONS } = contract.access as { anyOf?: readonly Action[] };
      await caller.setStatements([{ effect: 'Allow', actions: [...anyOf], resources: [`*/${'a'.repeat(24)}`] }]);
      const { status } = await caller.as[contract.method](
        `${fillPath(contract.path, () => UNKNOWN_ID)}?unknown=1`,
        makeInvalidRequest(contract),
      );
      expect(status).toBe(403);
    },
  );
});
