import { invalid, notFound } from '../../kernel/failure.ts';

export const shareEventNotFound = notFound('share_event', { message: 'There is no such event.' });

/** @param limit how many intervals an answer holds */
export const tooManyIntervals = (limit: number) =>
  invalid([
    {
      field: 'interval',
      message: `is too short for the time between \`from\` and \`to\`: at most ${limit} intervals can be returned`,
    },
  ]);
