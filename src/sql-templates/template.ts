import { RecentlyUsed } from '../kernel/recently-used.ts';
import { readSqlToken, type SqlToken } from './lexer.ts';
import type { ParameterKind } from './parameters.ts';

/** The part of a parameter's value that a placeholder takes: a date range has two ends. */
export type ParameterPart = 'value' | 'from' | 'to';

/** One placeholder `{{slug}}` of a template. */
export interface Placeholder {
  slug: string;
  part: ParameterPart;
  /** Whether the placeholder stands in `ANY (…)`, `SOME (…)` or `ALL (…)`, and so takes a list. */
  takesList: boolean;
  place: ClausePlace;
}

/** The clauses around a piece of a template, which decide whether a statement contains the piece. */
export interface ClausePlace {
  /** The index of the `[[ … ]]` around the piece; null outside of them. */
  clauseIndex: number | null;
  /** The indexes of the clauses whose default the piece is: a statement contains the piece only where these are dropped. */
  droppedClauses: readonly number[];
}

/** A piece of a template. `start` is its beginning in the template, as an index of the string. */
type TemplatePiece = { start: number; place: ClausePlace } & (
  | { type: 'sql'; text: string }
  | { type: 'placeholder'; placeholder: Placeholder }
);

/** A parsed template. */
export interface SqlTemplate {
  pieces: readonly TemplatePiece[];
  placeholders: readonly Placeholder[];
}

/** Thrown for a template that cannot be used. `message` is for its author; `position` is an index of the string. */
export class TemplateError extends Error {
  readonly position: number;

  constructor(message: string, position: number) {
    super(message);
    this.name = 'TemplateError';
    this.position = position;
  }
}

/**
 * The maximum number of clauses with a default in one line: each later piece of the line lists all of them, which can take a
 * thousand times the line's length.
 */
const MAX_DEFAULTS_PER_LINE = 20;

const SLUG_PATTERN = /\{\{[ \t\n\r]*([a-z0-9][a-z0-9_]*(?:-[a-z0-9_]+)*)(?:\.([a-z]+))?[ \t\n\r]*\}\}/y;

/**
 * Parses SQL in Metabase's form: `{{slug}}` is a bound parameter, `{{slug.from}}` and `{{slug.to}}` the ends of a date range, and
 * `[[ … ]]` a clause that is dropped when one of its parameters has no value. The text after a clause that ends in a comment,
 * `[[ {{slug}} -- ]] 1`, is its default, to the end of the line. Literals, other comments, quoted names and `ARRAY[[…]]` are
 * left alone.
 * @throws TemplateError
 */
export const parseTemplate = (sql: string): SqlTemplate => new TemplateParser(sql).parse();

/** The approximate number of bytes that cached templates may take in an isolate, which has 128 MB for everything. */
const MAX_CACHE_BYTES = 8 * 1024 * 1024;
const BYTES_PER_PIECE = 150;

const cachedTemplates = new RecentlyUsed<string, SqlTemplate>(
  MAX_CACHE_BYTES,
  (sql, { pieces }) => 2 * sql.length + BYTES_PER_PIECE * pieces.length,
);

/** Parses a template, cached for each text: to parse a long one takes milliseconds. @throws TemplateError */
export function getTemplate(sql: string): SqlTemplate {
  const cachedTemplate = cachedTemplates.get(sql);
  if (cachedTemplate) return cachedTemplate;
  const template = parseTemplate(sql);
  cachedTemplates.set(sql, template);
  return template;
}

class TemplateParser {
  readonly #sql: string;
  readonly #pieces: TemplatePiece[] = [];
  readonly #placeholders: Placeholder[] = [];
  /** The start of the SQL that is not yet put into a piece. */
  #pieceStart = 0;
  #clauseCount = 0;
  #clause: { index: number; start: number; placeholderCount: number } | null = null;
  /** The indexes of the clauses whose default is the rest of the line. */
  #droppedClauses: readonly number[] = [];
  /** The end of the statement itself, without `;`, spaces and comments at the end. */
  #statementEnd = 0;
  /** The number of open brackets of an array: inside an array every bracket belongs to the SQL itself. */
  #bracketCount = 0;
  /** The last two tokens except spaces and comments, in lower case. */
  #lastTokens: [string, string] = ['', ''];

  constructor(sql: string) {
    this.#sql = sql;
  }

  parse(): SqlTemplate {
    for (let at = 0; at < this.#sql.length; ) at = this.#take(readSqlToken(this.#sql, at));
    // People end their statement with `;`; the statement around it would not bear one.
    this.#flush(this.#statementEnd);
    if (this.#clause) throw new TemplateError('an optional clause "[[" is not closed', this.#clause.start);
    return { pieces: this.#pieces, placeholders: this.#placeholders };
  }

  /** Processes a token. @returns the index where the next token begins */
  #take({ kind, start, end }: SqlToken): number {
    if (this.#droppedClauses.length > 0) this.#endDefault(kind, start, end);
    if (kind === 'comment') return this.#takeComment(start, end);
    if (kind === 'space') return end;
    if (this.#sql[start] !== ';') this.#statementEnd = end;
    if (kind === 'position') throw new TemplateError('write parameters as {{slug}}, not as $1', start);
    if (kind === 'symbol') {
      const pair = this.#sql.slice(start, start + 2);
      if (pair === '{{') return this.#takePlaceholder(start);
      if (pair === '[[' && this.#bracketCount === 0 && this.#lastTokens[1] !== 'array') return this.#openClause(start);
      if (pair === ']]' && this.#bracketCount === 0 && this.#clause) return this.#closeClause(start);
      if (this.#sql[start] === '[') this.#bracketCount++;
      if (this.#sql[start] === ']') this.#bracketCount = Math.max(0, this.#bracketCount - 1);
    }
    this.#remember(this.#sql.slice(start, end).toLowerCase());
    return end;
  }

  /**
   * Processes a comment: in a clause, a comment to the end of a line ends with the clause, and the text after it is the default.
   */
  #takeComment(start: number, end: number): number {
    const closingOffset = this.#sql.slice(start, end).indexOf(']]');
    if (!this.#clause || this.#bracketCount > 0 || closingOffset < 0 || !this.#sql.startsWith('--', start)) return end;
    this.#flush(start);
    this.#pieceStart = start + closingOffset;
    const { index } = this.#clause;
    const closedOffset = this.#closeClause(start + closingOffset);
    if (this.#droppedClauses.length === MAX_DEFAULTS_PER_LINE)
      throw new TemplateError(`a line holds at most ${MAX_DEFAULTS_PER_LINE} optional clauses with a default`, start);
    this.#droppedClauses = [...this.#droppedClauses, index];
    return closedOffset;
  }

  /** Where the line ends, ends the default: the text after the `]]` of clauses that close in a `--` comment. */
  #endDefault(kind: SqlToken['kind'], start: number, end: number): void {
    const line = this.#sql.slice(start, end).search(/[\n\r]/);
    if (line < 0) return;
    if (kind !== 'space' || this.#clause)
      throw new TemplateError('the default of an optional clause ends with its line', start);
    this.#flush(start + line);
    this.#droppedClauses = [];
  }

  get #place(): ClausePlace {
    return { clauseIndex: this.#clause?.index ?? null, droppedClauses: this.#droppedClauses };
  }

  #remember(token: string): void {
    this.#lastTokens = [this.#lastTokens[1], token];
  }

  #takePlaceholder(start: number): number {
    SLUG_PATTERN.lastIndex = start;
    const slugMatch = SLUG_PATTERN.exec(this.#sql);
    if (!slugMatch) throw new TemplateError('a parameter is written {{slug}}', start);
    const [, slug = '', part = 'value'] = slugMatch;
    if (part !== 'value' && part !== 'from' && part !== 'to') {
      throw new TemplateError(`{{${slug}.${part}}}: a date range gives .from and .to`, start);
    }
    this.#flush(start);
    const isList = this.#lastTokens[1] === '(' && ['any', 'some', 'all'].includes(this.#lastTokens[0]);
    const placeholder: Placeholder = { slug, part, takesList: isList, place: this.#place };
    this.#placeholders.push(placeholder);
    this.#pieces.push({ type: 'placeholder', placeholder, start, place: this.#place });
    this.#remember('{{}}');
    this.#pieceStart = SLUG_PATTERN.lastIndex;
    this.#statementEnd = this.#pieceStart;
    return this.#pieceStart;
  }

  #openClause(start: number): number {
    if (this.#clause) throw new TemplateError('optional clauses "[[ … ]]" do not nest', start);
    this.#flush(start);
    this.#clause = { index: this.#clauseCount++, start, placeholderCount: this.#placeholders.length };
    this.#pieceStart = start + 2;
    return this.#pieceStart;
  }

  #closeClause(start: number): number {
    const { start: clauseStart, placeholderCount } = this.#clause as { start: number; placeholderCount: number };
    this.#flush(start);
    if (this.#placeholders.length === placeholderCount) {
      throw new TemplateError('an optional clause "[[ … ]]" needs a parameter', clauseStart);
    }
    this.#clause = null;
    this.#pieceStart = start + 2;
    this.#statementEnd = this.#pieceStart;
    return this.#pieceStart;
  }

  #flush(end: number): void {
    if (end > this.#pieceStart) {
      const text = this.#sql.slice(this.#pieceStart, end);
      this.#pieces.push({ type: 'sql', text, start: this.#pieceStart, place: this.#place });
    }
    this.#pieceStart = end;
  }
}

/**
 * Finds the use of a parameter that its kind does not allow, as a sentence part for the author; undefined when the use is right.
 */
export function findMisuse({ slug, part }: Placeholder, kind: ParameterKind | undefined): string | undefined {
  if (kind === undefined) return `uses {{${slug}}}, which is not among the parameters`;
  if (kind === 'date_range' && part === 'value') {
    return `uses {{${slug}}}, which is a date range: use {{${slug}.from}} and {{${slug}.to}}`;
  }
  if (kind !== 'date_range' && part !== 'value') return `uses {{${slug}.${part}}}, but ${slug} is not a date range`;
  return undefined;
}

/** Tells whether a parameter accepts any number of values: every use of it takes a list. */
export function acceptsList(template: SqlTemplate, slug: string, kind: ParameterKind): boolean {
  if (kind === 'multi_select') return true;
  return kind === 'select' && template.placeholders.every((place) => place.slug !== slug || place.takesList);
}
