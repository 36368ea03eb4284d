import { defineFailure, invalid } from '../../kernel/failure.ts';

export const shareEventNotFound = defineFailure('share_event.not_found', {
  kind: 'missing',
  detail: { message: 'There is no such event.' },
  says: { sharing: 'NOT_FOUND' },
});

/** @param limit how many intervals an answer holds */
export const tooManyIntervals = (limit: number) =>
  invalid([
    {
      field: 'interval',
      message: `is too short for the time between \`from\` and \`to\`: at most ${limit} intervals can be returned`,
    },
  ]);
