import { describe, expect, it } from 'vitest';
import { grantExceeds } from '../../src/access/failures.ts';
import { SURFACES } from '../../src/app.ts';
import { type Contract, getAction } from '../../src/http/endpoint.ts';
import { policyLimitExceeded } from '../../src/modules/policies/failures.ts';
import { actionEntry } from '../../src/permissions/actions.ts';

/** The services of actions whose writes are about who may do what, or who there is. */
const SERVICES = ['accounts', 'service-accounts', 'users', 'groups', 'permissions', 'policies', 'api_keys', 'company'];

const NAME = 'changes how something is called, and nobody’s access';
const LIFE = 'ends or begins somebody, or an account: it is no write of what those may do who there are';
const NEW = 'makes somebody new, of whom nothing can be told before';
const PROOF = 'is about keys, passwords, sessions and factors: how somebody proves who they are';
const COMPANY = 'is about the company as such';
const DIRECTORY = 'is a directory’s, whose protocol knows no trying';

/** Writes of these services that cannot be asked what they would change, and why. */
const WITHOUT: Record<string, string> = {
  'POST /accounts': 'makes an account that nobody is in',
  'PATCH /accounts/{id}': LIFE,
  'DELETE /accounts/{id}': LIFE,
  'POST /service-accounts': NEW,
  'PATCH /service-accounts/{id}': LIFE,
  'DELETE /service-accounts/{id}': LIFE,
  'POST /service-accounts/{id}/keys': PROOF,
  'DELETE /service-accounts/{id}/keys/{key_id}': PROOF,
  'PATCH /groups/{id}': NAME,
  'POST /users': NEW,
  'PATCH /users/{id}': LIFE,
  'DELETE /users/{id}': LIFE,
  'PUT /v1/users/{id}': NAME,
  'DELETE /v1/users/{id}': LIFE,
  'POST /v1/users/{id}/activate': LIFE,
  'POST /v1/users/{id}/deactivate': LIFE,
  'PUT /v1/groups/{id}': NAME,
  'POST /v1/service-accounts': NEW,
  'PUT /v1/service-accounts/{id}': LIFE,
  'DELETE /v1/service-accounts/{id}': LIFE,
  'POST /v1/service-accounts/{id}/keys': PROOF,
  'DELETE /v1/service-accounts/{id}/keys/{key_id}': PROOF,
  'DELETE /v1/users/{id}/sessions': PROOF,
  'DELETE /v1/users/{id}/2fa': PROOF,
  'DELETE /v1/users/{id}/identities': PROOF,
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

const nameOf = ({ method, path }: Contract): string => `${method.toUpperCase()} ${path}`;
const contracts = SURFACES.flatMap(({ endpoints }) => endpoints.map(({ contract }) => contract));

const isWrite = ({ method, safe, access }: Contract): boolean => {
  const action = getAction(access);
  return method !== 'get' && !safe && action !== null && SERVICES.includes(actionEntry(action).service);
};

describe('a route that changes access', () => {
  it('has a dry run, or a listed reason for having none', () => {
    const without = contracts.filter((contract) => isWrite(contract) && !contract.dryRun).map(nameOf);
    expect(without.filter((name) => !(name in WITHOUT))).toEqual([]);
    expect(Object.keys(WITHOUT).filter((name) => !without.includes(name))).toEqual([]);
  });

  it('has a dry run if it may be refused for granting too much', () => {
    const granting = contracts.filter(
      ({ fails = [] }) => fails.includes(grantExceeds) || fails.includes(policyLimitExceeded),
    );
    expect(granting.length).toBeGreaterThan(10);
    const without = granting.filter(({ dryRun, path }) => !dryRun && !path.startsWith('/scim/')).map(nameOf);
    expect(without.filter((name) => WITHOUT[name] !== PROOF)).toEqual([]);
  });
});
