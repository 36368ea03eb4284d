import { defineFailure } from '../../kernel/failure.ts';

/** The context id is missing, malformed, or not of a context with the caller: the answer does not reveal which. */
export const invalidContextId = defineFailure('share_context.invalid_id', 'malformed', {
  message: '`context_id` must be the id of a share context that you are a member of.',
  detail: { field: 'context_id' },
  sharing: 'INVALID_CONTEXT_ID',
});
