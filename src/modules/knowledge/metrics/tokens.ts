import { listSqlTokens, readSqlToken, type SqlTokenKind } from '../../../sql-templates/lexer.ts';
import { ExpressionError } from './expression.ts';

/** A word, a quoted text, a number, a reference to a metric, or a sign of one or two characters. */
export interface Token {
  kind: 'word' | 'name' | 'text' | 'number' | 'metric' | 'sign' | 'end';
  /** A word in lower case, a name or text without its quotes, or the name of a metric. */
  value: string;
}

const TEXT_PATTERN = /^'(?:[^']|'')*'$/;
const NUMBER_PATTERN = /^\d{1,40}(?:\.\d{0,40})?$/;
const DOUBLE_SIGNS = new Set(['<=', '>=', '<>', '!=', '||', '::']);
const SINGLE_SIGNS = new Set('()+-*/%,.=<>');

const END_TOKEN: Token = { kind: 'end', value: '' };

/** A piece of text: a reference to a metric, or a token of SQL. */
type TokenSpan = { kind: SqlTokenKind | 'metric'; start: number; end: number };

function* splitPieces(text: string): Generator<TokenSpan> {
  for (let at = 0; at < text.length; ) {
    const closingIndex = text.startsWith('{{', at) ? text.indexOf('}}', at) : -1;
    const piece: TokenSpan =
      closingIndex < 0 ? readSqlToken(text, at) : { kind: 'metric', start: at, end: closingIndex + 2 };
    yield piece;
    at = piece.end;
  }
}

/** Returns the tokens of an expression, the last of kind `end`. @throws ExpressionError for text outside the grammar */
export function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let parsedEnd = 0;
  for (const { kind, start, end } of splitPieces(text)) {
    // The second character of a sign of two.
    if (start < parsedEnd || kind === 'space') continue;
    const spelling = text.slice(start, end);
    if (kind === 'symbol') {
      const twoCharacters = text.slice(start, start + 2);
      const sign = DOUBLE_SIGNS.has(twoCharacters) ? twoCharacters : spelling;
      if (sign.length === 1 && !SINGLE_SIGNS.has(sign)) throw new ExpressionError(`"${sign}" is not allowed`);
      tokens.push({ kind: 'sign', value: sign });
      parsedEnd = start + sign.length;
    } else tokens.push(toToken(kind, spelling));
  }
  return [...tokens, END_TOKEN];
}

function toToken(kind: TokenSpan['kind'], spelling: string): Token {
  switch (kind) {
    case 'metric':
      return { kind: 'metric', value: parseMetricName(spelling) };
    case 'word':
      return { kind: 'word', value: spelling.toLowerCase() };
    case 'quoted_identifier':
      return { kind: 'name', value: unquoteName(spelling) };
    case 'string':
      if (!TEXT_PATTERN.test(spelling)) throw new ExpressionError('a text must be in plain single quotes');
      return { kind: 'text', value: spelling.slice(1, -1).replaceAll("''", "'") };
    case 'number':
      if (!NUMBER_PATTERN.test(spelling))
        throw new ExpressionError('a number can have at most one decimal point and 40 digits on each side of it');
      return { kind: 'number', value: spelling };
    case 'comment':
      throw new ExpressionError('comments are not allowed');
    case 'position':
      throw new ExpressionError(`the parameter ${spelling.slice(0, 20)} is not allowed`);
    default:
      throw new ExpressionError(`${spelling.slice(0, 20)} is not allowed`);
  }
}

/** Returns the names of the metrics that a formula builds on. */
export const listMetricNames = (formula: string): string[] =>
  [...splitPieces(formula)].flatMap(({ kind, start, end }) =>
    kind === 'metric' ? [parseMetricName(formula.slice(start, end))] : [],
  );

/**
 * Finds the names in a formula that can be a table's: its words, in lower case, and its names in double quotes. The last of
 * several names joined by dots is a column's. The formula may be of another system.
 */
export function findTableNames(formula: string): { words: Set<string>; quotedNames: Set<string> } {
  const tokens = listSqlTokens(formula).filter(({ kind }) => kind !== 'space' && kind !== 'comment');
  const isDot = (index: number) => formula.slice(tokens[index]?.start, tokens[index]?.end) === '.';
  const words = new Set<string>();
  const quotedNames = new Set<string>();
  for (const [index, { kind, start, end }] of tokens.entries()) {
    if (isDot(index - 1) && !isDot(index + 1)) continue;
    const spelling = formula.slice(start, end);
    if (kind === 'word') words.add(spelling.toLowerCase());
    else if (kind === 'quoted_identifier') quotedNames.add(unquoteName(spelling));
  }
  return { words, quotedNames };
}

const unquoteName = (spelling: string): string => spelling.slice(1, -1).replaceAll('""', '"');

/** Returns a formula with a number in place of each metric that it builds on, as Postgres can plan it. */
export const replaceMetricsByNumbers = (formula: string): string =>
  [...splitPieces(formula)]
    .map(({ kind, start, end }) => (kind === 'metric' ? ' (NULL::numeric) ' : formula.slice(start, end)))
    .join('');

const parseMetricName = (reference: string): string => reference.slice(2, -2).trim();
