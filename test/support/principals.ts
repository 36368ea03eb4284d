import { env } from 'cloudflare:test';
import type { Role } from '../../src/permissions/legacy.ts';
import type { PolicyStatement } from '../../src/permissions/policy-document.ts';
import type { Caller } from './api.ts';
import { allow, aServiceAccountThat, type ServiceAccount, withSecret } from './signed.ts';
import { aUser, type Company } from './worlds.ts';

/** A principal whose grants a test sets. */
export interface Principal {
  id: string;
  as: Caller;
  may(statements: PolicyStatement[], roles?: Role[]): Promise<void>;
}

/** @param id of a principal in one group, with one policy */
export function createPrincipal(id: string, as: Caller): Principal {
  const group = 'select group_id from group_bindings where principal_id = ?1';
  return {
    id,
    as,
    async may(statements, roles = []) {
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

/** A person and a service account of a company, for each credential that asks for actions. */
export async function createPrincipals(company: Company) {
  const user = await aUser(company, { can: ['*'] });
  const robot: ServiceAccount = await aServiceAccountThat(company, allow('*'));
  const signing = createPrincipal(robot.id, robot.as);
  const person = createPrincipal(user.id, user.as);
  const holding = createPrincipal(robot.id, withSecret(robot));
  return {
    bearer: person,
    agent: person,
    external: person,
    signature: signing,
    machine: signing,
    directory: holding,
    robot,
  };
}
