import { findDeclarations, type TextRange } from './guard.ts';

/** A condition in the source that looks like a guard. */
export interface FoundCondition extends TextRange {
  /** The top-level declaration that contains the condition; empty if none does. */
  in: string;
  text: string;
}

/** Locks, and conditions on the changes of the previous statement, anywhere in a file. */
const LOCK_PATTERN = /changes\(\) > 0|\bFOR (?:NO KEY UPDATE|UPDATE|KEY SHARE)\b|pg_advisory_xact_lock/g;
/** Unique indexes, keys of several columns, and whole triggers. */
const CONSTRAINT_PATTERN = /UNIQUE INDEX `?\w+`?|PRIMARY KEY\(`[^)]*\)|FOREIGN KEY [^\n]*|CREATE TRIGGER [^\n]*/g;

/** Files of Durable Objects, and of the time windows they count in: a single object decides alone, in its code and its SQL. */
const OBJECT_FILES_PATTERN = /^src\/(?:objects\/|kernel\/fixed-window\.ts)/;
/** Comparisons, conditions of `if` and `while`, terms of a `WHERE`, and keys of several columns. */
const OBJECT_CONDITION_PATTERN = new RegExp(
  [
    /[\w.#][\w.#()]* (?:<=?|>=?|[!=]==) [\w.#]+/,
    /(?<=\b(?:if|while) \(|&& |\|\| )!?[\w.#]+/,
    /(?<=(?:WHERE|AND) )\w+ (?:<=?|=) /,
    /PRIMARY KEY \([^)]*\)/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
);

/** Finds everything in a file that looks like a guard: each match has to be in one of the lists. */
export function findGuards(file: string, source: string): FoundCondition[] {
  const findMatches = (pattern: RegExp): FoundCondition[] =>
    [...source.matchAll(pattern)].map(({ 0: text, index: start }) => ({
      in: '',
      text,
      start,
      end: start + text.length,
    }));
  if (file.endsWith('.sql') || file.includes('managed-database/migrations/')) return findMatches(CONSTRAINT_PATTERN);
  if (OBJECT_FILES_PATTERN.test(file))
    return findMatches(OBJECT_CONDITION_PATTERN).filter(({ start }) => !isComment(source, start));
  return [
    ...(/(?:store|queries)\.ts$/.test(file) ? findWriteConditions(source) : []),
    ...findPostgresConditions(source),
    ...findMatches(LOCK_PATTERN).filter(({ start }) => !isComment(source, start)),
  ];
}

const isComment = (source: string, position: number): boolean =>
  /^\s*(?:\*|\/\/|\/\*)/.test(source.slice(source.lastIndexOf('\n', position) + 1, position));

/** Finds the conditions of statements that change the service's own tables in a company's Postgres. */
function findPostgresConditions(source: string): FoundCondition[] {
  return [...source.matchAll(/(?:UPDATE|DELETE FROM) console\.[^`']*?\bWHERE ([^`']*)/g)].flatMap((statement) => {
    const to = statement.index + statement[0].length;
    const from = to - (statement[1] as string).length;
    const terms = [...source.slice(from, to).matchAll(/(?:(?! AND |\n\s*RETURNING| RETURNING).)+/gs)];
    return terms
      .map(({ 0: text, index }) => ({ in: '', text, start: from + index, end: from + index + text.length }))
      .filter(
        ({ text }) =>
          !/^(?:AND )?(?:id = \$1|company_id = \$[12]|\$\{\w+_KEY_CONDITION\})$/.test(text.trim()) &&
          !/RETURNING/.test(text),
      );
  });
}

const WRITE_PATTERN = /\.(?:update|delete|insert)\(\w|insertWhen\(/;
/** Matches a condition that selects a row by its id or another key. */
const KEY_PATTERN =
  /^(?:eq\(\w+\.(?:id|\w+Id|companyId|email|purpose|\w*[dD]igest), [^()]*\)|(?:matchesId|isJobWithKey|isResourceWithKey|isVisibleWithId|isCodeOfFactor|isOwnPasskey|isKey|isOfUser|isOfGroup|isOfCompany|isSession|isAttachment|isContextMember)(?:\([^()]*\))?)$/;

/**
 * Finds the conditions of writes in a file of the control database: the arguments of `where`, `setWhere` and `insertWhen`, each
 * term of an `and` by itself, except terms that say which row is meant.
 */
function findWriteConditions(source: string): FoundCondition[] {
  const conditions: FoundCondition[] = [];
  for (const [name, { start, end }] of findDeclarations(source)) {
    const declaration = source.slice(start, end);
    if (!WRITE_PATTERN.test(declaration) || name === 'insertWhen') continue;
    for (const { start: from, end: to } of findConditions(declaration)) {
      conditions.push({ in: name, start: start + from, end: start + to, text: declaration.slice(from, to) });
    }
  }
  return conditions;
}

function findConditions(text: string): TextRange[] {
  const conditionRanges = [
    ...[...text.matchAll(/\.where\(|setWhere: /g)].map(
      ({ 0: opening, index }) => splitArguments(text, index + opening.length)[0],
    ),
    ...[...text.matchAll(/\binsertWhen\(/g)].map(
      ({ 0: opening, index }) => splitArguments(text, index + opening.length)[3],
    ),
    ...[...text.matchAll(/\.select\(\s*sql`[^`]*? where /g)].map(({ 0: opening, index }) => ({
      start: index + opening.length,
      end: text.indexOf('`', index + opening.length),
    })),
  ];
  const writeTerms = conditionRanges.filter((range) => range !== undefined).flatMap((range) => splitTerms(text, range));
  const isKeyTerm = ({ start, end }: TextRange) => KEY_PATTERN.test(text.slice(start, end));
  return writeTerms.filter(
    (writeTerm) => !isKeyTerm(writeTerm) && !text.slice(writeTerm.start, writeTerm.end).startsWith('true'),
  );
}

/** Splits an `and` into its terms, nested ones included. */
function splitTerms(text: string, { start, end }: TextRange): TextRange[] {
  if (!text.startsWith('and(', start)) return [{ start, end }];
  return splitArguments(text, start + 'and('.length).flatMap((argument) => splitTerms(text, argument));
}

const CLOSING_BRACKETS: Record<string, string> = { '(': ')', '[': ']', '{': '}' };

/** Splits the arguments of a call; `from` is the position after its opening parenthesis. */
function splitArguments(text: string, from: number): TextRange[] {
  const argumentRanges: TextRange[] = [];
  let start = from;
  let position = from;
  const addArgument = () => {
    const rawText = text.slice(start, position);
    if (rawText.trim() === '') return;
    const trimmedStart = start + rawText.length - rawText.trimStart().length;
    argumentRanges.push({ start: trimmedStart, end: trimmedStart + rawText.trim().length });
  };
  while (position < text.length) {
    const character = text[position] as string;
    if (character in CLOSING_BRACKETS || character === '`' || character === "'") position = findClosing(text, position);
    else if (')]};'.includes(character)) break;
    else if (character === ',') {
      addArgument();
      start = ++position;
    } else position += 1;
  }
  addArgument();
  return argumentRanges;
}

/** Returns the position after the bracket or quote that closes the one at `openingIndex`. */
function findClosing(text: string, openingIndex: number): number {
  const first = text[openingIndex] as string;
  const isString = first === '`' || first === "'";
  const closing = CLOSING_BRACKETS[first] ?? first;
  let position = openingIndex + 1;
  while (position < text.length && text[position] !== closing) {
    if (isString && text.startsWith('${', position)) position = findClosing(text, position + 1);
    else if (!isString && "([{`'".includes(text[position] as string)) position = findClosing(text, position);
    else position += text[position] === '\\' ? 2 : 1;
  }
  return position + 1;
}
