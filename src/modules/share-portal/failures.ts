import { Failure } from '../../kernel/failure.ts';

/** Missing, malformed, of another company, or one the caller is no member of: who asks learns no more. */
export const invalidContextId = () =>
  new Failure('malformed', 'share_context.invalid_id', {
    message: 'Name a context of yours with `context_id`.',
    field: 'context_id',
  });
