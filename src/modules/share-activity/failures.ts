import { defineNotFoundFailure, invalidInput } from '../../kernel/failure.ts';

export const shareEventNotFound = defineNotFoundFailure('share_event', { message: 'There is no such event.' });

/** Creates the failure for a request with too many intervals. @param limit the maximum number of intervals of a response */
export const tooManyIntervals = (limit: number) =>
  invalidInput([
    {
      field: 'interval',
      message: `is too short for the time between \`from\` and \`to\`: at most ${limit} intervals can be returned`,
    },
  ]);
