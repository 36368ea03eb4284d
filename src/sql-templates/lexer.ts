/** The kind of a stretch of SQL, as far as PostgreSQL's own scanner tells kinds apart. */
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

/** A token and where it stands: `sql.slice(start, end)`. */
export interface SqlToken {
  kind: SqlTokenKind;
  start: number;
  end: number;
}

const SPACE = /[ \t\n\r\f\v]+/y;
const LINE_COMMENT = /--[^\n\r]*/y;
const WORD = /[A-Za-z_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*/y;
const NUMBER = /[0-9][0-9A-Za-z_.]*/y;
const POSITION = /\$[0-9]+/y;
const DOLLAR_TAG = /\$(?:[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)?\$/y;
/**
 * Splits SQL the way PostgreSQL's scanner does (src/backend/parser/scan.l, with standard_conforming_strings on), so that text in
 * a literal, a comment or a quoted name is never taken for anything else. One that is left open runs to the end: PostgreSQL
 * refuses it.
 */
export function sqlTokens(sql: string): SqlToken[] {
  const tokens: SqlToken[] = [];
  let at = 0;
  while (at < sql.length) {
    const token = sqlTokenAt(sql, at);
    tokens.push(token);
    at = token.end;
  }
  return tokens;
}

/** The token that begins at a place of the SQL. */
export function sqlTokenAt(sql: string, at: number): SqlToken {
  const [kind, end] = tokenAt(sql, at);
  return { kind, start: at, end };
}

function tokenAt(sql: string, at: number): [SqlTokenKind, number] {
  const character = sql[at] as string;
  const space = match(SPACE, sql, at);
  if (space) return ['space', space];
  if (character === "'") return ['string', literalEnd(sql, at + 1, false)];
  if (character === '"') return ['quoted_identifier', quotedEnd(sql, at + 1, '"')];
  if (character === '-' && sql[at + 1] === '-') return ['comment', match(LINE_COMMENT, sql, at) as number];
  if (character === '/' && sql[at + 1] === '*') return ['comment', blockCommentEnd(sql, at)];
  if (character === '$') return dollarToken(sql, at);
  const number = match(NUMBER, sql, at);
  if (number) return ['number', number];
  const word = match(WORD, sql, at);
  return word ? wordToken(sql, at, word) : ['symbol', at + 1];
}

/** A word, unless it is the prefix of a literal: `E'…'`, `B'…'`, `X'…'`, `N'…'`, `U&'…'`, `U&"…"`. */
function wordToken(sql: string, at: number, end: number): [SqlTokenKind, number] {
  if (end !== at + 1) return ['word', end];
  const letter = (sql[at] as string).toLowerCase();
  if (sql[end] === "'" && 'ebxn'.includes(letter)) return ['string', literalEnd(sql, end + 1, letter === 'e')];
  if (letter === 'u' && sql[end] === '&') {
    if (sql[end + 1] === "'") return ['string', literalEnd(sql, end + 2, false)];
    if (sql[end + 1] === '"') return ['unicode_identifier', quotedEnd(sql, end + 2, '"')];
  }
  return ['word', end];
}

function dollarToken(sql: string, at: number): [SqlTokenKind, number] {
  const position = match(POSITION, sql, at);
  if (position) return ['position', position];
  const opened = match(DOLLAR_TAG, sql, at);
  if (!opened) return ['symbol', at + 1];
  const tag = sql.slice(at, opened);
  const closed = sql.indexOf(tag, opened);
  return ['string', closed < 0 ? sql.length : closed + tag.length];
}

/** The end of the literal whose text begins at `from`, its continuations included. */
function literalEnd(sql: string, from: number, backslashes: boolean): number {
  let end = quotedEnd(sql, from, "'", backslashes);
  for (let next = continuation(sql, end); next !== undefined; next = continuation(sql, end)) {
    end = quotedEnd(sql, next, "'", backslashes);
  }
  return end;
}

/** A literal goes on after a line break, in the kind of its first piece: where the text of its next piece begins. */
function continuation(sql: string, from: number): number | undefined {
  let broken = false;
  for (let at = from; at < sql.length; ) {
    const after = match(SPACE, sql, at) ?? match(LINE_COMMENT, sql, at);
    if (after === undefined) return broken && sql[at] === "'" ? at + 1 : undefined;
    broken ||= /[\n\r]/.test(sql.slice(at, after));
    at = after;
  }
  return undefined;
}

function quotedEnd(sql: string, from: number, quote: string, backslashes = false): number {
  for (let at = from; at < sql.length; at++) {
    if (backslashes && sql[at] === '\\') at++;
    else if (sql[at] === quote) {
      if (sql[at + 1] !== quote) return at + 1;
      at++;
    }
  }
  return sql.length;
}

function blockCommentEnd(sql: string, at: number): number {
  let depth = 0;
  for (let here = at; here < sql.length; here++) {
    if (sql.startsWith('/*', here)) {
      depth++;
      here++;
    } else if (sql.startsWith('*/', here)) {
      depth--;
      here++;
      if (depth === 0) return here + 1;
    }
  }
  return sql.length;
}

/** The end of the match of `pattern` (sticky) at `at`; undefined where there is none. */
function match(pattern: RegExp, sql: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(sql) ? pattern.lastIndex : undefined;
}
