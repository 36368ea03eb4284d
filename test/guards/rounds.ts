import type { Guard } from './guard.ts';

/**
 * Guards that are removed together, so that the tests start once for all of them: they share neither a module nor a test
 * file, and each has to make a test of its own file fail.
 */
export function roundsOf(guards: readonly Guard[]): Guard[][] {
  const rounds: Guard[][] = [];
  for (const guard of guards) {
    const round = rounds.find((others) => others.every((other) => areApart(guard, other)));
    if (round) round.push(guard);
    else rounds.push([guard]);
  }
  return rounds;
}

const areApart = (one: Guard, other: Guard): boolean =>
  moduleOf(one) !== moduleOf(other) && !one.tests.some((file) => other.tests.includes(file));

/** A migration may change tables of several modules: each of its statements is by itself. */
const moduleOf = ({ file, text }: Guard): string =>
  /^src\/modules\/\w[\w-]*/.exec(file)?.[0] ?? (file.startsWith('drizzle') ? text : file);
