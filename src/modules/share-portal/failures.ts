import { defineFailure } from '../../kernel/failure.ts';

/** Missing, malformed, of another company or of a context the caller is not in: the answer does not tell which. */
export const invalidContextId = defineFailure('share_context.invalid_id', {
  kind: 'malformed',
  detail: { message: 'Name a context of yours with `context_id`.', field: 'context_id' },
  says: { sharing: 'INVALID_CONTEXT_ID' },
});
