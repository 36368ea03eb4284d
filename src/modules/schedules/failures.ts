import { defineFailure } from '../../kernel/failure.ts';

export const scheduleNotFound = defineFailure('schedule.not_found', {
  kind: 'missing',
  detail: { message: 'There is no such schedule.' },
  says: { console: 'SCHEDULE_NOT_FOUND' },
});

export const tooManySchedules = defineFailure('schedule.too_many', {
  kind: 'conflict',
  describes: 'The company has the maximum number of schedules. Delete one first.',
  detail: (most: number) => ({ message: `A company can have at most ${most} schedules. Delete one first.` }),
  says: { console: 'TOO_MANY_SCHEDULES' },
});

/** Somebody runs one schedule again and again: its recipients would be flooded. */
export const tooManyRuns = defineFailure('schedule.too_many_runs', {
  kind: 'too_many',
  detail: {
    message: 'A schedule can be run at most 5 times in ten minutes, besides its scheduled runs.',
    retryAfter: 120,
  },
  says: { console: 'RateLimitExceeded' },
});

/** The token is not one of ours, or names nobody any more: the answer does not tell which. */
export const nothingToEnd = defineFailure('schedule.nothing_to_end', {
  kind: 'missing',
  detail: { message: 'The link is not valid, or there is nothing left to unsubscribe from.' },
  says: { sharing: 'NOT_FOUND' },
});

/** The token is not one of ours, or its address has ended all emails: the answer does not tell which. */
export const nothingToAgreeTo = defineFailure('schedule.nothing_to_agree_to', {
  kind: 'missing',
  detail: { message: 'The link is not valid, or these emails were ended.' },
  says: { sharing: 'NOT_FOUND' },
});
