import { defineFailure } from '../../kernel/failure.ts';

export const originNotAllowed = defineFailure('share.origin_not_allowed', {
  kind: 'forbidden',
  detail: { message: 'This may not be used from this site.' },
  says: { sharing: 'ORIGIN_NOT_ALLOWED' },
});

export const tooManyViewers = defineFailure('viewing.busy', {
  kind: 'unavailable',
  detail: { message: 'Too many people look at this at the moment.', retryAfter: 5 },
  says: { sharing: 'SERVICE_UNAVAILABLE' },
});
