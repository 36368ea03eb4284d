import { policyLimitExceeded } from '../../db/failures.ts';
import { defineFailure } from '../../kernel/failure.ts';
import { POLICY_LIMITS } from '../../permissions/policy-document.ts';

export { policyLimitExceeded } from '../../db/failures.ts';

/** @param field what names it: `id` or `policy_id` of the path */
export const policyNotFound = defineFailure('policy.not_found', {
  kind: 'missing',
  describes: 'There is no such policy.',
  detail: (field: 'id' | 'policy_id' = 'id') => ({ field, reason: 'not_found' }),
  says: { organization: 'NotFound', console: 'POLICY_NOT_FOUND' },
});

export const policyNameTaken = defineFailure('policy.name_taken', {
  kind: 'conflict',
  detail: { message: 'Another policy has this name.', field: 'name', reason: 'taken' },
  says: { console: 'POLICY_NAME_DUPLICATE' },
});

export const policyTooLarge = () =>
  policyLimitExceeded(`A policy's document can have at most ${POLICY_LIMITS.bytes / 1024} KiB as JSON.`, {
    field: 'document',
    reason: 'limit_exceeded',
  });

export const policyNotModifiable = defineFailure('policy.not_modifiable', {
  kind: 'conflict',
  detail: {
    message: 'A managed policy can be neither changed nor deleted. Clone it, and change the copy.',
    field: 'id',
    reason: 'is_managed',
  },
  says: { console: { status: 400, code: 'POLICY_NOT_MODIFIABLE' } },
});

/** @param groups how many it is attached to */
export const policyInUse = defineFailure('policy.in_use', {
  kind: 'conflict',
  describes: 'This policy is attached to groups. Detach it first.',
  detail: (groups: number) => ({
    message: `This policy is attached to ${groups} group${groups === 1 ? '' : 's'}. Detach it first.`,
    field: 'id',
    reason: 'in_use',
    groups,
  }),
  says: { console: 'POLICY_IN_USE' },
});
