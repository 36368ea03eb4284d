import { clock } from '../../src/kernel/clock.ts';

const realNow = clock.now;

/** The Worker's clock goes on, `ms` ahead. */
export const later = (ms: number): void => {
  clock.now = () => realNow() + ms;
};

/** The Worker's clock stands still at `ms` since the epoch. */
export const standAt = (ms: number): void => {
  clock.now = () => ms;
};

/** The Worker's clock is right again. */
export const resetClock = (): void => {
  clock.now = realNow;
};
