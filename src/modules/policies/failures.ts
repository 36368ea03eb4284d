import { Failure } from '../../kernel/failure.ts';
import { POLICY_LIMITS } from '../../kernel/policy-document.ts';

/** @param field the member that names it */
export const policyNotFound = (field: 'id' | 'policy_id' = 'id') =>
  new Failure('missing', 'policy.not_found', { message: 'There is no such policy.', field, reason: 'not_found' });

export const policyNameTaken = () =>
  new Failure('conflict', 'policy.name_taken', {
    message: 'A policy of this name exists already.',
    field: 'name',
    reason: 'taken',
  });

export const policyTooLarge = () =>
  new Failure('conflict', 'policy.limit_exceeded', {
    message: `A policy's document can have at most ${POLICY_LIMITS.bytes / 1024} KiB as JSON.`,
    field: 'document',
    reason: 'limit_exceeded',
  });

export const policyNotModifiable = () =>
  new Failure('conflict', 'policy.not_modifiable', {
    message: 'A managed policy can be neither changed nor deleted. Clone it, and change the copy.',
    field: 'id',
    reason: 'is_managed',
  });

/** @param groups how many it is attached to */
export const policyInUse = (groups: number) =>
  new Failure('conflict', 'policy.in_use', {
    message: `This policy is attached to ${groups} group${groups === 1 ? '' : 's'}. Detach it first.`,
    field: 'id',
    reason: 'in_use',
    groups,
  });
