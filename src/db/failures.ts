import { defineFailure, everywhere } from '../kernel/failure.ts';
import { POLICY_LIMITS } from '../permissions/policy-document.ts';
import type { Quota } from './schema/companies.ts';

/** The number of tries, without a pause: whoever writes in between is done then, and only a few in a row are in the way. */
const ATTEMPTS = 5;

/** Others change the same resource, again and again. */
export const concurrentChange = defineFailure('request.concurrent_change', 'conflict', {
  message: 'Someone else is changing the same resource at the moment. Try again.',
  portuguese: 'Outras pessoas estão alterando o mesmo recurso agora. Tente novamente.',
});

/** Repeats a read and the write that depends on it until no change came between. @throws concurrentChange at the end */
export async function retryOnConcurrentChange<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (let count = 0; count < ATTEMPTS; count += 1) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw concurrentChange();
}

/** More policies, or longer ones, than a request should have to read. Triggers of the database hold some of the limits. */
export const policyLimitExceeded = defineFailure('policy.limit_exceeded', 'conflict', {
  message:
    'A limit on policies is exceeded: the size of a document, the policies of one group, or the documents that apply to one user or service account.',
  detail: (message: string, about: { field?: string; reason?: string } = {}) => ({ message, ...about }),
  console: 'POLICY_LIMIT_EXCEEDED',
});

/** The failures of writes that one of these triggers refuses, whichever module they come from. */
export const POLICY_LIMIT_FAILURES = {
  policies_of_group: () =>
    policyLimitExceeded(`At most ${POLICY_LIMITS.attached} policies can be attached to a group.`),
  documents_of_principal: () =>
    policyLimitExceeded(
      `The policies that apply to one user or service account can have documents of at most ${POLICY_LIMITS.reaching / 1024} KiB together.`,
    ),
};

/** A quota of the company is used up, or would be with this write: nothing of it is done. `use` is without it. */
export const quotaExceeded = defineFailure('quota.exceeded', 'forbidden', {
  message: 'This would pass a quota of the organization. Nothing was done.',
  portuguese: 'Isto passaria de uma cota da organização. Nada foi feito.',
  detail: (about: { quota: Quota; limit: number; use: number }) => ({ ...about }),
  ...everywhere('QUOTA_EXCEEDED'),
});

/** The message of a trigger that refuses a write for a quota: its name, the limit, and the use. */
const QUOTA_REFUSED = /constraint failed: quota (\w+) (\d+) (\d+)/;

/** The refusal of a write that a trigger of the database holds against a quota, whichever module it comes from. */
export function toQuotaFailure(message: string): Error | undefined {
  const [, quota, limit, use] = QUOTA_REFUSED.exec(message) ?? [];
  return quota === undefined
    ? undefined
    : quotaExceeded({ quota: quota as Quota, limit: Number(limit), use: Number(use) });
}

/** A change of access was not made, as it could not be announced: caches could have gone by previous permissions. */
export const accessNotChanged = defineFailure('access.not_changed', 'unavailable', {
  message: 'Access cannot be changed at the moment. Nothing was changed. Try again.',
  portuguese: 'As permissões não podem ser alteradas neste momento. Tente novamente em instantes.',
  detail: { retryAfter: 5 },
});
