import { defineNotFound, invalid } from '../../kernel/failure.ts';

export const shareEventNotFound = defineNotFound('share_event', { message: 'There is no such event.' });

/** Creates the failure for a request with too many intervals. @param limit the maximum number of intervals of a response */
export const tooManyIntervals = (limit: number) =>
  invalid([
    {
      field: 'interval',
      message: `is too short for the time between \`from\` and \`to\`: at most ${limit} intervals can be returned`,
    },
  ]);
