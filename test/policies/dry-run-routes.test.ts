import { describe, expect, it } from 'vitest';
import { grantExceeds } from '../../src/access/failures.ts';
import { SURFACES } from '../../src/app.ts';
import { type Contract, getAction } from '../../src/http/endpoint.ts';
import { policyLimitExceeded } from '../../src/modules/policies/failures.ts';
import { getActionEntry } from '../../src/permissions/actions.ts';

/** The services with write actions that change who has which access, or which principals exist. */
const ACCESS_SERVICES = [
  'accounts',
  'service-accounts',
  'users',
  'groups',
  'permissions',
  'policies',
  'api_keys',
  'company',
];

const NAME_REASON = 'changes how something is called, and nobody’s access';
const LIFECYCLE_REASON = 'ends or begins somebody, or an account: it is no write of what those may do who there are';
const CREATION_REASON = 'makes somebody new, of whom nothing can be told before';
const PROOF_REASON = 'is about keys, passwords, sessions and factors: how somebody proves who they are';
const COMPANY_REASON = 'is about the company as such';
const DIRECTORY_REASON = 'is a directory’s, whose protocol knows no trying';

/** The write routes of these services that have no dry run, each with the reason. */
const WRITES_WITHOUT_DRY_RUN: Record<string, string> = {
  'POST /accounts': 'makes an account that nobody is in',
  'PATCH /accounts/{id}': LIFECYCLE_REASON,
  'DELETE /accounts/{id}': LIFECYCLE_REASON,
  'POST /service-accounts': CREATION_REASON,
  'PATCH /service-accounts/{id}': LIFECYCLE_REASON,
  'DELETE /service-accounts/{id}': LIFECYCLE_REASON,
  'POST /service-accounts/{id}/keys': PROOF_REASON,
  'DELETE /service-accounts/{id}/keys/{key_id}': PROOF_REASON,
  'PATCH /groups/{id}': NAME_REASON,
  'POST /users': CREATION_REASON,
  'PATCH /users/{id}': LIFECYCLE_REASON,
  'DELETE /users/{id}': LIFECYCLE_REASON,
  'PUT /v1/users/{id}': NAME_REASON,
  'DELETE /v1/users/{id}': LIFECYCLE_REASON,
  'POST /v1/users/{id}/activate': LIFECYCLE_REASON,
  'POST /v1/users/{id}/deactivate': LIFECYCLE_REASON,
  'PUT /v1/groups/{id}': NAME_REASON,
  'POST /v1/service-accounts': CREATION_REASON,
  'PUT /v1/service-accounts/{id}': LIFECYCLE_REASON,
  'DELETE /v1/service-accounts/{id}': LIFECYCLE_REASON,
  'POST /v1/service-accounts/{id}/keys': PROOF_REASON,
  'DELETE /v1/service-accounts/{id}/keys/{key_id}': PROOF_REASON,
  'DELETE /v1/users/{id}/sessions': PROOF_REASON,
  'DELETE /v1/users/{id}/2fa': PROOF_REASON,
  'DELETE /v1/users/{id}/identities': PROOF_REASON,
  'PUT /v1/company/settings': COMPANY_REASON,
  'PUT /v1/company/branding': COMPANY_REASON,
  'PUT /v1/company/branding/logo': COMPANY_REASON,
  'PUT /v1/auth/sso/config': COMPANY_REASON,
  'DELETE /v1/auth/sso/config': COMPANY_REASON,
  'PUT /v1/auth/social/config': COMPANY_REASON,
  'PUT /api/v1/domain-knowledge/business-domains': COMPANY_REASON,
  'POST /scim/v2/Users': DIRECTORY_REASON,
  'DELETE /scim/v2/Users/{id}': DIRECTORY_REASON,
  'POST /scim/v2/Groups': DIRECTORY_REASON,
  'PUT /scim/v2/Groups/{id}': DIRECTORY_REASON,
  'PATCH /scim/v2/Groups/{id}': DIRECTORY_REASON,
  'DELETE /scim/v2/Groups/{id}': DIRECTORY_REASON,
};

const formatRoute = ({ method, path }: Contract): string => `${method.toUpperCase()} ${path}`;
const contracts = SURFACES.flatMap(({ endpoints }) => endpoints.map(({ contract }) => contract));

const isWrite = ({ method, safe, access }: Contract): boolean => {
  const action = getAction(access);
  return method !== 'get' && !safe && action !== null && ACCESS_SERVICES.includes(getActionEntry(action).service);
};

describe('a route that changes access', () => {
  it('has a dry run, or a listed reason for having none', () => {
    const routesWithoutDryRun = contracts.filter((contract) => isWrite(contract) && !contract.dryRun).map(formatRoute);
    expect(routesWithoutDryRun.filter((name) => !(name in WRITES_WITHOUT_DRY_RUN))).toEqual([]);
    expect(Object.keys(WRITES_WITHOUT_DRY_RUN).filter((name) => !routesWithoutDryRun.includes(name))).toEqual([]);
  });

  it('has a dry run if it may be refused for granting too much', () => {
    const grantingContracts = contracts.filter(
      ({ fails = [] }) => fails.includes(grantExceeds) || fails.includes(policyLimitExceeded),
    );
    expect(grantingContracts.length).toBeGreaterThan(10);
    const routesWithoutDryRun = grantingContracts
      .filter(({ dryRun, path }) => !dryRun && !path.startsWith('/scim/'))
      .map(formatRoute);
    expect(routesWithoutDryRun.filter((name) => WRITES_WITHOUT_DRY_RUN[name] !== PROOF_REASON)).toEqual([]);
  });
});
