/** A piece of a write without which a race, or a repetition, would do harm. */
export interface Guard {
  /** The file it stands in. */
  file: string;
  /** The top-level declaration it stands in; where there is none, its text stands once in the whole file. */
  in?: string;
  /** Its exact text, once there. As short as can be, so that it outlives other changes. */
  text: string;
  /** What takes its place: the code runs on, without the guard. */
  without: string;
  /** Test files of which one fails without it. */
  tests: readonly string[];
  /** Part of the title of the test that fails; of a file that takes long, only such tests are run. */
  title?: string;
}

type Entry = Omit<Guard, 'file' | 'tests'> & { tests?: readonly string[] };

/** The guards of one file, and the tests that hold them where an entry names no others. */
export const guardsOf = (file: string, tests: readonly string[], entries: readonly Entry[]): Guard[] =>
  entries.map((entry) => ({ tests, ...entry, file }));

/** How a guard is called: by its place and its text. */
export const formatName = (guard: Guard): string =>
  [guard.file, guard.in, guard.text.replace(/\s+/g, ' ')].filter((part) => part !== undefined).join(' › ');

/** A stretch of a text. */
export interface TextRange {
  start: number;
  end: number;
}

/** The top-level declarations of a file, by name. Each reaches to where the next one begins. */
export function findDeclarations(source: string): Map<string, TextRange> {
  const begins = [...source.matchAll(/^(?:export )?(?:async )?(?:const|function|class) (\w+)/gm)];
  return new Map(
    begins.map(({ 1: name, index }, place) => [
      name as string,
      { start: index, end: begins[place + 1]?.index ?? source.length },
    ]),
  );
}

/** Where a guard stands in its file. @throws Error that says what to do where it does not stand there exactly once */
export function findGuard(guard: Guard, source: string): TextRange {
  const within = guard.in === undefined ? { start: 0, end: source.length } : findDeclarations(source).get(guard.in);
  if (!within)
    throw new Error(`${formatName(guard)}: there is no ${guard.in} any more. Correct the entry in test/guards/lists.`);
  const found = source.slice(within.start, within.end).split(guard.text).length - 1;
  if (found === 0) {
    const advice = 'Put the guard back, or take its entry out of test/guards/lists where the rule is gone';
    throw new Error(`${formatName(guard)}: is not there any more. ${advice}.`);
  }
  if (found > 1) {
    const advice = 'Make the text of its entry in test/guards/lists longer, so that it stands there once';
    throw new Error(`${formatName(guard)}: stands there ${found} times. ${advice}.`);
  }
  const start = source.indexOf(guard.text, within.start);
  return { start, end: start + guard.text.length };
}

/** The file without the guard. */
export function removeGuard(guard: Guard, source: string): string {
  const { start, end } = findGuard(guard, source);
  return source.slice(0, start) + guard.without + source.slice(end);
}
