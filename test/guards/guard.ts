/** A part of a write without which a race or a repetition would do harm. */
export interface Guard {
  /** The file that contains the guard. */
  file: string;
  /** The top-level declaration that contains the guard; without it, the text must occur once in the whole file. */
  in?: string;
  /** The exact text of the guard, unique in its declaration or file; as short as possible, to survive other changes. */
  text: string;
  /** The text that replaces the guard: the code still runs, without the guard. */
  without: string;
  /** Test files, one of which fails without the guard. */
  tests: readonly string[];
  /** Part of the title of the test that fails; of a file that takes long, only such tests are run. */
  title?: string;
}

type GuardEntry = Pick<Guard, 'in' | 'text' | 'title'> & Partial<Pick<Guard, 'without' | 'tests'>>;

/** Makes the guards of one file; nothing takes a guard's place, and `tests` cover it, unless its entry names others. */
export const makeGuards = (file: string, tests: readonly string[], entries: readonly GuardEntry[]): Guard[] =>
  entries.map((entry) => ({ without: '', tests, ...entry, file }));

/** Formats a guard's name: its file, its declaration and its text. */
export const formatName = (guard: Guard): string =>
  [guard.file, guard.in, guard.text.replace(/\s+/g, ' ')].filter((part) => part !== undefined).join(' › ');

/** A range of positions in a text. */
export interface TextRange {
  start: number;
  end: number;
}

/** Finds the top-level declarations of a file, by name. Each ends where the next one begins. */
export function findDeclarations(source: string): Map<string, TextRange> {
  const declarationStarts = [...source.matchAll(/^(?:export )?(?:async )?(?:const|function|class) (\w+)/gm)];
  return new Map(
    declarationStarts.map(({ 1: name, index }, position) => [
      name as string,
      { start: index, end: declarationStarts[position + 1]?.index ?? source.length },
    ]),
  );
}

/** Finds the range of a guard in its file. @throws Error with advice if the guard's text does not occur there exactly once */
export function findGuard(guard: Guard, source: string): TextRange {
  const declarationRange =
    guard.in === undefined ? { start: 0, end: source.length } : findDeclarations(source).get(guard.in);
  if (!declarationRange)
    throw new Error(`${formatName(guard)}: there is no ${guard.in} any more. Correct the entry in test/guards/lists.`);
  const matchCount = source.slice(declarationRange.start, declarationRange.end).split(guard.text).length - 1;
  if (matchCount === 0) {
    const advice = 'Put the guard back, or take its entry out of test/guards/lists where the rule is gone';
    throw new Error(`${formatName(guard)}: is not there any more. ${advice}.`);
  }
  if (matchCount > 1) {
    const advice = 'Make the text of its entry in test/guards/lists longer, so that it stands there once';
    throw new Error(`${formatName(guard)}: stands there ${matchCount} times. ${advice}.`);
  }
  const start = source.indexOf(guard.text, declarationRange.start);
  const end = start + guard.text.length;
  if (/\w{2}/.test(source.slice(start - 1, start + 1)) || /\w{2}/.test(source.slice(end - 1, end + 1)))
    throw new Error(`${formatName(guard)}: begins or ends within a word. Make the text of its entry whole words.`);
  return { start, end };
}

/** Returns the file's text without the guard. */
export function removeGuard(guard: Guard, source: string): string {
  const { start, end } = findGuard(guard, source);
  return source.slice(0, start) + guard.without + source.slice(end);
}
