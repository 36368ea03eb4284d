/** The clock of the isolate, so that a test can move it. Milliseconds since the epoch. */
export const clock = { now: (): number => Date.now() };

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
