import { findDeclarations, type TextRange } from './guard.ts';

/** Something in a source that looks like a guard. */
export interface FoundCondition extends TextRange {
  /** The top-level declaration it stands in, or the file. */
  in: string;
  text: string;
}

/** Locks and conditions on what the statement before has changed, wherever they stand. */
const ANYWHERE = /changes\(\) > 0|\bFOR (?:NO KEY UPDATE|UPDATE|KEY SHARE)\b|pg_advisory_xact_lock/g;
/** Unique indexes, keys of several columns, and triggers whole. */
const CONSTRAINTS = /UNIQUE INDEX `?\w+`?|PRIMARY KEY\(`[^)]*\)|FOREIGN KEY [^\n]*|CREATE TRIGGER [^\n]*/g;

/** Durable Objects, and the windows they count in: one of them decides alone, in its own code and its own SQL. */
const OBJECT_FILES = /^src\/(?:objects\/|kernel\/fixed-window\.ts)/;
/** Comparisons, whatever else is asked, terms of a `WHERE`, and keys of several columns. */
const OBJECT_CONDITIONS = new RegExp(
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

/** Whatever in a file looks like a guard: each has to be in a list. */
export function findGuards(file: string, source: string): FoundCondition[] {
  const found = (pattern: RegExp): FoundCondition[] =>
    [...source.matchAll(pattern)].map(({ 0: text, index: start }) => ({
      in: '',
      text,
      start,
      end: start + text.length,
    }));
  if (file.endsWith('.sql') || file.includes('managed-database/migrations/')) return found(CONSTRAINTS);
  if (OBJECT_FILES.test(file)) return found(OBJECT_CONDITIONS).filter(({ start }) => !isComment(source, start));
  return [
    ...(/(?:store|queries)\.ts$/.test(file) ? findWriteConditions(source) : []),
    ...findPostgresConditions(source),
    ...found(ANYWHERE).filter(({ start }) => !isComment(source, start)),
  ];
}

const isComment = (source: string, position: number): boolean =>
  /^\s*(?:\*|\/\/|\/\*)/.test(source.slice(source.lastIndexOf('\n', position) + 1, position));

/** Conditions of statements that change the service's own tables in a company's Postgres. */
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

const WRITE = /\.(?:update|delete|insert)\(\w|insertWhen\(/;
/** A condition that selects a row, by its id or another key. */
const KEY =
  /^(?:eq\(\w+\.(?:id|\w+Id|companyId|email|purpose|\w*[dD]igest), [^()]*\)|(?:by\w+|isKey|isOfUser|isOfGroup|isOfCompany|isSession|isAttachment|isContextMember|one|of|user|own)(?:\([^()]*\))?)$/;

/**
 * Conditions of the writes of a file of the control database: what a `where`, a `setWhere` or an `insertWhen` is given, each
 * term of an `and` by itself, but for those that say which row is meant.
 */
function findWriteConditions(source: string): FoundCondition[] {
  const conditions: FoundCondition[] = [];
  for (const [name, { start, end }] of findDeclarations(source)) {
    const declaration = source.slice(start, end);
    if (!WRITE.test(declaration) || name === 'insertWhen') continue;
    for (const { start: from, end: to } of findConditions(declaration)) {
      conditions.push({ in: name, start: start + from, end: start + to, text: declaration.slice(from, to) });
    }
  }
  return conditions;
}

function findConditions(text: string): TextRange[] {
  const given = [
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
  const inner = given.filter((one) => one !== undefined).flatMap((stretch) => splitTerms(text, stretch));
  const isKey = ({ start, end }: TextRange) => KEY.test(text.slice(start, end));
  return inner.filter((stretch) => !isKey(stretch) && !text.slice(stretch.start, stretch.end).startsWith('true'));
}

/** The terms of an `and`, and those of an `and` within. */
function splitTerms(text: string, { start, end }: TextRange): TextRange[] {
  if (!text.startsWith('and(', start)) return [{ start, end }];
  return splitArguments(text, start + 'and('.length).flatMap((argument) => splitTerms(text, argument));
}

const CLOSING: Record<string, string> = { '(': ')', '[': ']', '{': '}' };

/** The arguments of a call, from behind its opening parenthesis on. */
function splitArguments(text: string, from: number): TextRange[] {
  const found: TextRange[] = [];
  let start = from;
  let position = from;
  const take = () => {
    const raw = text.slice(start, position);
    if (raw.trim() === '') return;
    const begin = start + raw.length - raw.trimStart().length;
    found.push({ start: begin, end: begin + raw.trim().length });
  };
  while (position < text.length) {
    const character = text[position] as string;
    if (character in CLOSING || character === '`' || character === "'") position = findClosing(text, position);
    else if (')]};'.includes(character)) break;
    else if (character === ',') {
      take();
      position += 1;
      start = position;
    } else position += 1;
  }
  take();
  return found;
}

/** Where the brackets, or the string, that open at a position are closed again. */
function findClosing(text: string, opening: number): number {
  const first = text[opening] as string;
  const isString = first === '`' || first === "'";
  const closing = CLOSING[first] ?? first;
  let position = opening + 1;
  while (position < text.length && text[position] !== closing) {
    if (isString && text.startsWith('${', position)) position = findClosing(text, position + 1);
    else if (!isString && "([{`'".includes(text[position] as string)) position = findClosing(text, position);
    else position += text[position] === '\\' ? 2 : 1;
  }
  return position + 1;
}
