import { Failure } from '../../kernel/failure.ts';

/** @param field the member that names it */
export const policyNotFound = (field: 'id' | 'policy_id' = 'id') =>
  new Failure('missing', 'policy.not_found', { message: 'There is no such policy.', field, reason: 'not_found' });
