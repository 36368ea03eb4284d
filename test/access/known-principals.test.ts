import { expect, it } from 'vitest';
import type { Principal } from '../../src/access/actors.ts';
import { type AccessSources, compileAccess } from '../../src/access/evaluation.ts';
import { recall, remember, weightOf } from '../../src/access/known-principals.ts';
import { managedPolicyNamed } from '../../src/kernel/managed-policies.ts';

it('an isolate remembers ten thousand principals with a policy each', () => {
  const { id, document } = managedPolicyNamed('FullAdmin');
  const companyId = 'c'.repeat(24);
  const group = { id: 'g'.repeat(24), policies: [{ id, document }], roles: [], permissions: [] };
  const sources: AccessSources = { companyId, isOwner: false, groups: [group] };
  const actor = { kind: 'service_account', companyId, access: compileAccess(sources) } as unknown as Principal;
  const credentials = Array.from({ length: 10_000 }, (_, n) => `key ${String(n).padStart(40, '0')}`);
  for (const credential of credentials) {
    remember(credential, { actor, expiresAt: 0, proof: null, weight: weightOf(sources) }, '1');
  }
  expect(credentials.filter((credential) => recall(credential) === undefined)).toEqual([]);
});
