import { env } from 'cloudflare:test';
import type { GroupRole } from '../../src/permissions/legacy.ts';
import type { PolicyStatement } from '../../src/permissions/policy-document.ts';
import type { Caller } from './api.ts';
import { type Company, createAllowedUser } from './companies.ts';
import { createAllowedAccount, createSecretCaller, makeAllow, type ServiceAccount } from './signed.ts';

/** A principal whose permissions a test sets. */
export interface TestPrincipal {
  id: string;
  as: Caller;
  setStatements(statements: PolicyStatement[], roles?: GroupRole[]): Promise<void>;
}

/** Creates a principal whose permissions can be set. @param id of a principal in one group, with one policy */
export function createPrincipal(id: string, as: Caller): TestPrincipal {
  const group = 'select group_id from group_bindings where principal_id = ?1';
  return {
    id,
    as,
    async setStatements(statements, roles = []) {
      const document = JSON.stringify({ version: '2024-01-01', statements });
      await env.CONTROL_DB.batch([
        env.CONTROL_DB.prepare(
          `update policies set document = ?2 where id in (select policy_id from group_policies where group_id in (${group}))`,
        ).bind(id, document),
        env.CONTROL_DB.prepare(`update groups set roles = ?2 where id in (${group})`).bind(id, JSON.stringify(roles)),
      ]);
    },
  };
}

/** Creates a user and a service account of a company, for each kind of credential whose routes check actions. */
export async function createPrincipals(company: Company) {
  const user = await createAllowedUser(company, { can: ['*'] });
  const serviceAccount: ServiceAccount = await createAllowedAccount(company, makeAllow('*'));
  const signingPrincipal = createPrincipal(serviceAccount.id, serviceAccount.as);
  const person = createPrincipal(user.id, user.as);
  const secretPrincipal = createPrincipal(serviceAccount.id, createSecretCaller(serviceAccount));
  return {
    bearer: person,
    agent: person,
    external: person,
    signature: signingPrincipal,
    machine: signingPrincipal,
    directory: secretPrincipal,
    robot: serviceAccount,
  };
}
