import { Failure } from '../../../kernel/failure.ts';

/** Pause while the company's database cannot be reached; it doubles each time. */
const MIN_PAUSE_SECONDS = 60;
const MAX_PAUSE_SECONDS = 3_600;
/** After so many pauses, about a day, a message goes to the dead letters. */
export const MAX_TRIES = 30;

export const pauseSeconds = (tries: number): number => Math.min(MIN_PAUSE_SECONDS * 2 ** tries, MAX_PAUSE_SECONDS);

/** Whether an error only says that the company's database cannot be reached. */
export const isUnreachable = (error: unknown): boolean => error instanceof Failure && error.kind === 'unavailable';
