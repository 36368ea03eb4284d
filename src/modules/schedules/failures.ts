import { defineFailure, defineNotFoundFailure } from '../../kernel/failure.ts';

export const scheduleNotFound = defineNotFoundFailure('schedule');

export const tooManySchedules = defineFailure('schedule.too_many', 'conflict', {
  message: 'The company has the maximum number of schedules. Delete one first.',
  detail: (maxSchedules: number) => ({
    message: `A company can have at most ${maxSchedules} schedules. Delete one first.`,
  }),
  console: 'TOO_MANY_SCHEDULES',
});

/** A schedule is started by hand too often: its recipients would be flooded. */
export const tooManyRuns = defineFailure('schedule.too_many_runs', 'too_many', {
  message: 'A schedule can be run at most 5 times in ten minutes, besides its scheduled runs.',
  detail: { retryAfter: 120 },
});

/** The token is not valid, or its recipient no longer exists: the response does not say which. */
export const noSubscriptionToEnd = defineFailure('schedule.nothing_to_end', 'missing', {
  message: 'The link is not valid, or there is nothing left to unsubscribe from.',
});

/** The token is not valid, or its address has ended all emails: the answer does not say which. */
export const noConsentRequest = defineFailure('schedule.nothing_to_agree_to', 'missing', {
  message: 'The link is not valid, or these emails were ended.',
});
