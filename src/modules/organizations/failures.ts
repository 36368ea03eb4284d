import { defineFailure } from '../../kernel/failure.ts';

export const wrongOperatorToken = defineFailure('operator.wrong_token', {
  kind: 'unauthenticated',
  detail: { message: 'This needs the platform operator’s token.' },
  says: { organization: 'Unauthorized' },
});
