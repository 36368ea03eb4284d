/** The kind of an SQL token, as far as PostgreSQL's own scanner distinguishes kinds. */
export type SqlTokenKind =
  | 'space'
  | 'comment'
  | 'string'
  | 'quoted_identifier'
  /** `U&"…"`: an identifier spelt with escapes. */
  | 'unicode_identifier'
  | 'word'
  | 'number'
  /** `$1`. */
  | 'position'
  /** One character of anything else. */
  | 'symbol';

/** A token and its position: `sql.slice(start, end)`. */
export interface SqlToken {
  kind: SqlTokenKind;
  start: number;
  end: number;
}

const SPACE_PATTERN = /[ \t\n\r\f\v]+/y;
const LINE_COMMENT_PATTERN = /--[^\n\r]*/y;
const WORD_PATTERN = /[A-Za-z_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*/y;
const NUMBER_PATTERN = /[0-9][0-9A-Za-z_.]*/y;
const POSITIONAL_PARAMETER_PATTERN = /\$[0-9]+/y;
const DOLLAR_TAG_PATTERN = /\$(?:[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)?\$/y;
/**
 * Splits SQL into tokens like PostgreSQL's scanner (src/backend/parser/scan.l, with standard_conforming_strings on), so that text
 * in a literal, a comment or a quoted name is never taken for another token. An unclosed one runs to the end: PostgreSQL rejects
 * it.
 */
export function listSqlTokens(sql: string): SqlToken[] {
  const tokens: SqlToken[] = [];
  for (let at = 0; at < sql.length; at = tokens.at(-1)?.end as number) tokens.push(readSqlToken(sql, at));
  return tokens;
}

/** Reads the token that begins at an index of the SQL. */
export function readSqlToken(sql: string, at: number): SqlToken {
  const [kind, end] = readToken(sql, at);
  return { kind, start: at, end };
}

function readToken(sql: string, at: number): [SqlTokenKind, number] {
  const character = sql[at] as string;
  const spaceEnd = findMatchEnd(SPACE_PATTERN, sql, at);
  if (spaceEnd) return ['space', spaceEnd];
  if (character === "'") return ['string', findLiteralEnd(sql, at + 1, false)];
  if (character === '"') return ['quoted_identifier', findQuotedEnd(sql, at + 1, '"')];
  if (character === '-' && sql[at + 1] === '-')
    return ['comment', findMatchEnd(LINE_COMMENT_PATTERN, sql, at) as number];
  if (character === '/' && sql[at + 1] === '*') return ['comment', findBlockCommentEnd(sql, at)];
  if (character === '$') return readDollarToken(sql, at);
  const numberEnd = findMatchEnd(NUMBER_PATTERN, sql, at);
  if (numberEnd) return ['number', numberEnd];
  const wordEnd = findMatchEnd(WORD_PATTERN, sql, at);
  return wordEnd ? readWordToken(sql, at, wordEnd) : ['symbol', at + 1];
}

/** Reads a word, or the literal of which the word is the prefix: `E'…'`, `B'…'`, `X'…'`, `N'…'`, `U&'…'`, `U&"…"`. */
function readWordToken(sql: string, at: number, end: number): [SqlTokenKind, number] {
  if (end !== at + 1) return ['word', end];
  const letter = (sql[at] as string).toLowerCase();
  if (sql[end] === "'" && 'ebxn'.includes(letter)) return ['string', findLiteralEnd(sql, end + 1, letter === 'e')];
  if (letter === 'u' && sql[end] === '&') {
    if (sql[end + 1] === "'") return ['string', findLiteralEnd(sql, end + 2, false)];
    if (sql[end + 1] === '"') return ['unicode_identifier', findQuotedEnd(sql, end + 2, '"')];
  }
  return ['word', end];
}

function readDollarToken(sql: string, at: number): [SqlTokenKind, number] {
  const parameterEnd = findMatchEnd(POSITIONAL_PARAMETER_PATTERN, sql, at);
  if (parameterEnd) return ['position', parameterEnd];
  const openingEnd = findMatchEnd(DOLLAR_TAG_PATTERN, sql, at);
  if (!openingEnd) return ['symbol', at + 1];
  const tag = sql.slice(at, openingEnd);
  const closingStart = sql.indexOf(tag, openingEnd);
  return ['string', closingStart < 0 ? sql.length : closingStart + tag.length];
}

/** Finds the end of the literal whose text begins at `from`, its continuations included. */
function findLiteralEnd(sql: string, from: number, areBackslashesEscapes: boolean): number {
  let end = findQuotedEnd(sql, from, "'", areBackslashesEscapes);
  for (let next = findContinuation(sql, end); next !== undefined; next = findContinuation(sql, end))
    end = findQuotedEnd(sql, next, "'", areBackslashesEscapes);
  return end;
}

/**
 * Finds where the text of a literal's next piece begins: a literal continues after a line break, in the kind of its first piece.
 */
function findContinuation(sql: string, from: number): number | undefined {
  let hasLineBreak = false;
  for (let at = from; at < sql.length; ) {
    const gapEnd = findMatchEnd(SPACE_PATTERN, sql, at) ?? findMatchEnd(LINE_COMMENT_PATTERN, sql, at);
    if (gapEnd === undefined) return hasLineBreak && sql[at] === "'" ? at + 1 : undefined;
    hasLineBreak ||= /[\n\r]/.test(sql.slice(at, gapEnd));
    at = gapEnd;
  }
  return undefined;
}

function findQuotedEnd(sql: string, from: number, quote: string, areBackslashesEscapes = false): number {
  for (let at = from; at < sql.length; at++) {
    if (areBackslashesEscapes && sql[at] === '\\') at++;
    else if (sql[at] === quote) {
      if (sql[at + 1] !== quote) return at + 1;
      at++;
    }
  }
  return sql.length;
}

function findBlockCommentEnd(sql: string, at: number): number {
  let depth = 0;
  for (let index = at; index < sql.length; index++) {
    if (sql.startsWith('/*', index)) {
      depth++;
      index++;
    } else if (sql.startsWith('*/', index)) {
      depth--;
      index++;
      if (depth === 0) return index + 1;
    }
  }
  return sql.length;
}

/** Finds the end of the match of `pattern` (sticky) at `at`; undefined where there is none. */
function findMatchEnd(pattern: RegExp, sql: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(sql) ? pattern.lastIndex : undefined;
}
