import { defineFailure, makeCodeWordings } from '../kernel/failure.ts';
import { POLICY_LIMITS } from '../permissions/policy-document.ts';
import type { Quota } from './schema/companies.ts';

/** Maximum number of tries, without pauses: the next try usually finds a concurrent write finished. */
const MAX_ATTEMPTS = 5;

/** Other requests change the same resource again and again. */
export const concurrentChange = defineFailure('request.concurrent_change', 'conflict', {
  message: 'Someone else is changing the same resource at the moment. Try again.',
  portuguese: 'Outras pessoas estão alterando o mesmo recurso agora. Tente novamente.',
});

/** Repeats a read and its dependent write until no change came between. @throws concurrentChange after the last attempt */
export async function retryOnConcurrentChange<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (let count = 0; count < MAX_ATTEMPTS; count += 1) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw concurrentChange();
}

/** The write exceeds the number or size of policies that a request may have to read. Triggers check some of the limits. */
export const policyLimitExceeded = defineFailure('policy.limit_exceeded', 'conflict', {
  message:
    'A limit on policies is exceeded: the size of a document, the policies of one group, or the documents that apply to one user or service account.',
  detail: (message: string, details: { field?: string; reason?: string } = {}) => ({ message, ...details }),
  console: 'POLICY_LIMIT_EXCEEDED',
});

/** Failures of writes that the database's policy triggers refuse, whichever module they come from. */
export const POLICY_LIMIT_FAILURES = {
  policies_of_group: () =>
    policyLimitExceeded(`At most ${POLICY_LIMITS.attached} policies can be attached to a group.`),
  documents_of_principal: () =>
    policyLimitExceeded(
      `The policies that apply to one user or service account can have documents of at most ${POLICY_LIMITS.reaching / 1024} KiB together.`,
    ),
};

/** A quota is used up, or this write would exceed it: nothing was written. `use` is without the write. */
export const quotaExceeded = defineFailure('quota.exceeded', 'forbidden', {
  message: 'This would pass a quota of the organization. Nothing was done.',
  portuguese: 'Isto passaria de uma cota da organização. Nada foi feito.',
  detail: (details: { quota: Quota; limit: number; use: number }) => ({ ...details }),
  ...makeCodeWordings('QUOTA_EXCEEDED'),
});

/** Pattern of a trigger's message that refuses a write for a quota: its name, the limit, and the use. */
const QUOTA_MESSAGE_PATTERN = /constraint failed: quota (\w+) (\d+) (\d+)/;

/** Converts a trigger's refusal for a quota into the failure, whichever module the write comes from. */
export function toQuotaFailure(message: string): Error | undefined {
  const [, quota, limit, use] = QUOTA_MESSAGE_PATTERN.exec(message) ?? [];
  return quota === undefined
    ? undefined
    : quotaExceeded({ quota: quota as Quota, limit: Number(limit), use: Number(use) });
}

/** A change of access was not made, since it could not be announced: caches would have used the previous permissions. */
export const accessNotChanged = defineFailure('access.not_changed', 'unavailable', {
  message: 'Access cannot be changed at the moment. Nothing was changed. Try again.',
  portuguese: 'As permissões não podem ser alteradas neste momento. Tente novamente em instantes.',
  detail: { retryAfter: 5 },
});
