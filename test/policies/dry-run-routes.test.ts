import { describe, expect, it } from 'vitest';
import { grantExceeds } from '../../src/access/failures.ts';
import { SURFACES } from '../../src/app.ts';
import { type Contract, getAction } from '../../src/http/endpoint.ts';
import { policyLimitExceeded } from '../../src/modules/policies/failures.ts';
import { actionEntry } from '../../src/permissions/actions.ts';

/** The services of actions whose writes are about who may do what, or who there is. */
const SERVICES = ['accounts', 'service-accounts', 'users', 'groups', 'permissions', 'policies', 'api_keys', 'company'];

const NAME_REASON = 'changes how something is called, and nobody’s access';
const LIFE_REASON = 'ends or begins somebody, or an account: it is no write of what those may do who there are';
const CREATION_REASON = 'makes somebody new, of whom nothing can be told before';
const PROOF_REASON = 'is about keys, passwords, sessions and factors: how somebody proves who they are';
const COMPANY = 'is about the company as such';
const DIRECTORY = 'is a directory’s, whose protocol knows no trying';

/** Writes of these services that cannot be asked what they would change, and why. */
const WRITES_WITHOUT_DRY_RUN: Record<string, string> = {
  'POST /accounts': 'makes an account that nobody is in',
  'PATCH /accounts/{id}': LIFE_REASON,
  'DELETE /accounts/{id}': LIFE_REASON,
  'POST /service-accounts': CREATION_REASON,
  'PATCH /service-accounts/{id}': LIFE_REASON,
  'DELETE /service-accounts/{id}': LIFE_REASON,
  'POST /service-accounts/{id}/keys': PROOF_REASON,
  'DELETE /service-accounts/{id}/keys/{key_id}': PROOF_REASON,
  'PATCH /groups/{id}': NAME_REASON,
  'POST /users': CREATION_REASON,
  'PATCH /users/{id}': LIFE_REASON,
  'DELETE /users/{id}': LIFE_REASON,
  'PUT /v1/users/{id}': NAME_REASON,
  'DELETE /v1/users/{id}': LIFE_REASON,
  'POST /v1/users/{id}/activate': LIFE_REASON,
  'POST /v1/users/{id}/deactivate': LIFE_REASON,
  'PUT /v1/groups/{id}': NAME_REASON,
  'POST /v1/service-accounts': CREATION_REASON,
  'PUT /v1/service-accounts/{id}': LIFE_REASON,
  'DELETE /v1/service-accounts/{id}': LIFE_REASON,
  'POST /v1/service-accounts/{id}/keys': PROOF_REASON,
  'DELETE /v1/service-accounts/{id}/keys/{key_id}': PROOF_REASON,
  'DELETE /v1/users/{id}/sessions': PROOF_REASON,
  'DELETE /v1/users/{id}/2fa': PROOF_REASON,
  'DELETE /v1/users/{id}/identities': PROOF_REASON,
  'PUT /v1/company/settings': COMPANY,
  'PUT /v1/company/branding': COMPANY,
  'PUT /v1/company/branding/logo': COMPANY,
  'PUT /v1/auth/sso/config': COMPANY,
  'DELETE /v1/auth/sso/config': COMPANY,
  'PUT /v1/auth/social/config': COMPANY,
  'PUT /api/v1/domain-knowledge/business-domains': COMPANY,
  'POST /scim/v2/Users': DIRECTORY,
  'DELETE /scim/v2/Users/{id}': DIRECTORY,
  'POST /scim/v2/Groups': DIRECTORY,
  'PUT /scim/v2/Groups/{id}': DIRECTORY,
  'PATCH /scim/v2/Groups/{id}': DIRECTORY,
  'DELETE /scim/v2/Groups/{id}': DIRECTORY,
};

const formatRoute = ({ method, path }: Contract): string => `${method.toUpperCase()} ${path}`;
const contracts = SURFACES.flatMap(({ endpoints }) => endpoints.map(({ contract }) => contract));

const isWrite = ({ method, safe, access }: Contract): boolean => {
  const action = getAction(access);
  return method !== 'get' && !safe && action !== null && SERVICES.includes(actionEntry(action).service);
};

describe('a route that changes access', () => {
  it('has a dry run, or a listed reason for having none', () => {
    const without = contracts.filter((contract) => isWrite(contract) && !contract.dryRun).map(formatRoute);
    expect(without.filter((name) => !(name in WRITES_WITHOUT_DRY_RUN))).toEqual([]);
    expect(Object.keys(WRITES_WITHOUT_DRY_RUN).filter((name) => !without.includes(name))).toEqual([]);
  });

  it('has a dry run if it may be refused for granting too much', () => {
    const granting = contracts.filter(
      ({ fails = [] }) => fails.includes(grantExceeds) || fails.includes(policyLimitExceeded),
    );
    expect(granting.length).toBeGreaterThan(10);
    const without = granting.filter(({ dryRun, path }) => !dryRun && !path.startsWith('/scim/')).map(formatRoute);
    expect(without.filter((name) => WRITES_WITHOUT_DRY_RUN[name] !== PROOF_REASON)).toEqual([]);
  });
});
