import { cachePrincipal } from '../../src/access/known-principals.ts';
import { formatCredential, toKnown } from '../../src/modules/service-accounts/known-key.ts';
import { managedPolicyNamed } from '../../src/permissions/managed-policies.ts';

/** A text of some length, different for each number. */
const id = (kind: string, n: number, length = 24): string => `${kind}${n}`.padEnd(length, '0');

/** What the control database says of the key of a service account, which is one of ten of its company. */
function found(n: number) {
  const company = Math.floor(n / 10);
  const companySlug = id('company', company, 16);
  const accountId = id('b', company);
  const key = {
    id: id('c', n),
    accessKey: `sa_${companySlug}_${accountId}_${id('k', n, 20)}`,
    companyId: id('a', company),
    companySlug,
    suspendedAt: null,
    endRequestedAt: null,
    deletesAt: null,
    serviceAccountId: id('d', n),
    accountId,
    name: `robot ${n}`,
    salt: id('s', n, 22),
    derivationVersion: 1,
    secretDigest: id('e', n, 64),
    expiresAt: 1e13 + n,
    lastUsedAt: 1e12 + n,
  };
  const groupId = id('f', company);
  const access = {
    groups: [{ id: groupId, roles: [] }],
    policies: [{ groupId, policyId: managedPolicyNamed('FullAdmin').id, document: null }],
    permissions: [],
  };
  return { key, access };
}

/** Has the isolate remember so many principals. */
export function rememberPrincipals(count: number): void {
  for (let n = 0; n < count; n += 1) {
    // Texts as they come from the control database, which are in one piece.
    const { key, access } = JSON.parse(JSON.stringify(found(n))) as ReturnType<typeof found>;
    cachePrincipal(
      formatCredential(key.accessKey),
      toKnown({ setOwner() {} }, key, access),
      `${crypto.randomUUID()}.0.0`,
    );
  }
}
