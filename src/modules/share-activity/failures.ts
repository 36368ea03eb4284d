import { Failure, invalid } from '../../kernel/failure.ts';

export const shareEventNotFound = () =>
  new Failure('missing', 'share_event.not_found', { message: 'There is no such event.' });

/** @param most how many intervals the time asked for may have */
export const tooManyIntervals = (most: number) =>
  invalid([{ field: 'interval', message: `is too short for this time: at most ${most} intervals are answered` }]);
