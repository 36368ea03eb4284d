/** The name of an attribute: `name.familyName`, or with the URN of its schema as a prefix. */
export interface AttributePath {
  schema?: string;
  name: string;
  sub?: string;
}

export const COMPARISONS = ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'] as const;
export type Comparison = (typeof COMPARISONS)[number];

export type Value = string | number | boolean | null;

/** A filter of RFC 7644. `has` is a value path: it holds for an attribute with an element that matches its whole filter. */
export type Filter =
  | { op: 'and' | 'or'; filters: readonly Filter[] }
  | { op: 'not'; filter: Filter }
  | { op: 'has'; path: AttributePath; filter: Filter }
  | { op: 'pr'; path: AttributePath }
  | { op: Comparison; path: AttributePath; value: Value };

/** The target of a PATCH operation: an attribute, or the part `sub` of the elements that a filter selects. */
export interface TargetPath extends AttributePath {
  filter?: Filter;
}

/** The error for a text that is neither a filter nor a path, with the reason as a sentence. */
export class FilterSyntaxError extends Error {}

/** Limits of filters: far beyond those that directories send, and within the database's limits for one statement. */
export const FILTER_LIMITS = { characters: 8_000, depth: 10, comparisons: 24 };

const TOKEN_PATTERN =
  /\s*(?:([()[\]])|("(?:[^"\\]|\\.)*")|(-?\d[\d.eE+-]*)|((?:[uU][rR][nN]:[^\s()[\]"]*:)?[A-Za-z$][\w$-]*(?:\.[A-Za-z$][\w$-]*)?)|(\.[A-Za-z$][\w$-]*))/y;

interface Token {
  kind: 'sign' | 'text' | 'number' | 'word' | 'sub';
  text: string;
}

/** Splits a text into tokens. @throws FilterSyntaxError */
function tokenize(text: string): Token[] {
  if (text.length > FILTER_LIMITS.characters)
    throw new FilterSyntaxError(`has more than ${FILTER_LIMITS.characters} characters`);
  const tokens: Token[] = [];
  const trimmedText = text.trimEnd();
  TOKEN_PATTERN.lastIndex = 0;
  while (TOKEN_PATTERN.lastIndex < trimmedText.length) {
    const at = TOKEN_PATTERN.lastIndex;
    const [, sign, quoted, number, word, sub] = TOKEN_PATTERN.exec(trimmedText) ?? [];
    if (sign !== undefined) tokens.push({ kind: 'sign', text: sign });
    else if (quoted !== undefined) tokens.push({ kind: 'text', text: quoted });
    else if (number !== undefined) tokens.push({ kind: 'number', text: number });
    else if (word !== undefined) tokens.push({ kind: 'word', text: word });
    else if (sub !== undefined) tokens.push({ kind: 'sub', text: sub });
    else throw new FilterSyntaxError(`cannot be read from character ${at + 1} on`);
  }
  return tokens;
}

/** Parses tokens from left to right, no deeper than `FILTER_LIMITS` allow, so that no text exhausts the stack. */
class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;
  #comparisons = 0;

  constructor(text: string) {
    this.#tokens = tokenize(text);
  }

  parseFilter(): Filter {
    return this.#parseWhole(() => this.#parseExpression(true));
  }

  parsePath(): TargetPath {
    return this.#parseWhole(() => {
      const path = this.#parseAttribute();
      if (!this.#skipSign('[')) return path;
      const filter = this.#parseWithin(']');
      const sub = this.#takeKind('sub')?.slice(1);
      return { ...path, filter, ...(sub !== undefined && { sub }) };
    });
  }

  #parseWhole<T>(parse: () => T): T {
    const parsedValue = parse();
    if (this.#at < this.#tokens.length)
      throw new FilterSyntaxError(`goes on after its end, with ${this.#getNextText()}`);
    return parsedValue;
  }

  /** Parses a filter. @param isOutsideValuePath whether it is outside a value path, within which no other value path is allowed */
  #parseExpression = (isOutsideValuePath: boolean): Filter =>
    this.#parseJoined('or', () => this.#parseJoined('and', () => this.#parseTerm(isOutsideValuePath)));

  #parseJoined(op: 'and' | 'or', parse: () => Filter): Filter {
    const firstFilter = parse();
    const filters = [firstFilter];
    while (this.#skipWord(op)) filters.push(parse());
    return filters.length === 1 ? firstFilter : { op, filters };
  }

  #parseTerm(isOutsideValuePath: boolean): Filter {
    if (this.#skipSign('(')) return this.#parseWithin(')', isOutsideValuePath);
    if (this.#isNextSign('(', 1) && this.#skipWord('not')) {
      this.#skipSign('(');
      return { op: 'not', filter: this.#parseWithin(')', isOutsideValuePath) };
    }
    const path = this.#parseAttribute();
    return isOutsideValuePath && this.#skipSign('[') ? this.#parseValuePath(path) : this.#parseComparison(path);
  }

  /** Parses a value path; also `emails[type eq "work"].value eq "…"`, which is not in the RFC: one element must match both. */
  #parseValuePath(path: AttributePath): Filter {
    const filter = this.#parseWithin(']');
    const sub = this.#takeKind('sub');
    if (sub === undefined) return { op: 'has', path, filter };
    return { op: 'has', path, filter: { op: 'and', filters: [filter, this.#parseComparison({ name: sub.slice(1) })] } };
  }

  #parseComparison(path: AttributePath): Filter {
    this.#comparisons += 1;
    if (this.#comparisons > FILTER_LIMITS.comparisons)
      throw new FilterSyntaxError(`has more than ${FILTER_LIMITS.comparisons} comparisons`);
    const word = this.#takeKind('word')?.toLowerCase();
    if (word === 'pr') return { op: 'pr', path };
    const op = COMPARISONS.find((comparison) => comparison === word);
    if (op === undefined) throw new FilterSyntaxError(`lacks an operator after ${printAttribute(path)}`);
    return { op, path, value: this.#parseValue() };
  }

  #parseValue(): Value {
    const token = this.#tokens[this.#at];
    this.#at += 1;
    const text = token?.kind === 'word' ? token.text.toLowerCase() : token?.text;
    try {
      if (token && token.kind !== 'sub') {
        const value: Value = JSON.parse(text as string);
        if (typeof value === 'string' ? value.isWellFormed() : value === null || Number.isFinite(Number(value)))
          return value;
      }
    } catch {
      // What is no JSON is told below.
    }
    throw new FilterSyntaxError(
      'compares with something that is neither a text in double quotes, a number, true, false nor null',
    );
  }

  #parseAttribute(): AttributePath {
    const text = this.#takeKind('word');
    if (text === undefined) throw new FilterSyntaxError(`lacks an attribute ${this.#describePosition()}`);
    const colon = text.lastIndexOf(':');
    const [name = '', sub] = text.slice(colon + 1).split('.');
    return { ...(colon > 0 && { schema: text.slice(0, colon) }), name, ...(sub !== undefined && { sub }) };
  }

  /** Parses a filter up to the bracket that closes it. */
  #parseWithin(end: ')' | ']', isOutsideValuePath = false): Filter {
    this.#depth += 1;
    if (this.#depth > FILTER_LIMITS.depth)
      throw new FilterSyntaxError(`is nested more than ${FILTER_LIMITS.depth} levels deep`);
    const filter = this.#parseExpression(isOutsideValuePath);
    if (!this.#skipSign(end)) throw new FilterSyntaxError(`lacks a ${end} ${this.#describePosition()}`);
    this.#depth -= 1;
    return filter;
  }

  #getNextText = (): string | undefined => this.#tokens[this.#at]?.text.slice(0, 40);

  /** Returns the position in the text, as words for an error message. */
  #describePosition(): string {
    const nextText = this.#getNextText();
    return nextText === undefined ? 'at its end' : `before ${nextText}`;
  }

  #isNextSign(punctuation: string, tokenOffset = 0): boolean {
    const token = this.#tokens[this.#at + tokenOffset];
    return token?.kind === 'sign' && token.text === punctuation;
  }

  #skipSign(punctuation: string): boolean {
    const isSkipped = this.#isNextSign(punctuation);
    if (isSkipped) this.#at += 1;
    return isSkipped;
  }

  #skipWord(word: string): boolean {
    const token = this.#tokens[this.#at];
    const isNextWord = token?.kind === 'word' && token.text.toLowerCase() === word;
    if (isNextWord) this.#at += 1;
    return isNextWord;
  }

  #takeKind(kind: Token['kind']): string | undefined {
    const token = this.#tokens[this.#at];
    if (token?.kind !== kind) return undefined;
    this.#at += 1;
    return token.text;
  }
}

/** Parses a filter. Operators and attributes may be in any case. @throws FilterSyntaxError */
export const parseFilter = (text: string): Filter => new Parser(text).parseFilter();

/** Parses the path of a PATCH operation. @throws FilterSyntaxError */
export const parsePath = (text: string): TargetPath => new Parser(text).parsePath();

export const printAttribute = ({ schema, name, sub }: AttributePath): string =>
  `${schema === undefined ? '' : `${schema}:`}${name}${sub === undefined ? '' : `.${sub}`}`;
