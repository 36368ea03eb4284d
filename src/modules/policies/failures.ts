import { policyLimitExceeded } from '../../db/failures.ts';
import { defineFailure, defineNotFoundFailureBy, defineTakenFailure } from '../../kernel/failure.ts';
import { POLICY_LIMITS } from '../../permissions/policy-document.ts';

export { policyLimitExceeded } from '../../db/failures.ts';

export const policyNotFound = defineNotFoundFailureBy('policy', ['id', 'policy_id']);
export const policyNameTaken = defineTakenFailure('policy', 'name');

export const makePolicyTooLargeFailure = () =>
  policyLimitExceeded(`A policy's document can have at most ${POLICY_LIMITS.bytes / 1024} KiB as JSON.`, {
    field: 'document',
    reason: 'limit_exceeded',
  });

export const policyNotModifiable = defineFailure('policy.not_modifiable', 'conflict', {
  message: 'A managed policy can be neither changed nor deleted. Clone it, and change the copy.',
  detail: { field: 'id', reason: 'is_managed' },
  console: { status: 400, code: 'POLICY_NOT_MODIFIABLE' },
});

/** @param groups the number of groups that the policy is attached to */
export const policyInUse = defineFailure('policy.in_use', 'conflict', {
  message: 'This policy is attached to groups. Detach it first.',
  detail: (groupCount: number) => ({
    message: `This policy is attached to ${groupCount} group${groupCount === 1 ? '' : 's'}. Detach it first.`,
    field: 'id',
    reason: 'in_use',
    groups: groupCount,
  }),
  console: 'POLICY_IN_USE',
});
