/** One per isolate, so that a test can move the clock. Milliseconds since the epoch. */
export const clock = { now: (): number => Date.now() };
