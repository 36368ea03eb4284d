import { defineFailure, notFound } from '../../kernel/failure.ts';

export const wrongOperatorToken = defineFailure('operator.wrong_token', 'unauthenticated', {
  message: 'This needs the platform operator’s token.',
});

export const organizationNotFound = notFound('organization');
