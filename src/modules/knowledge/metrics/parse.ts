import { castExpression, findCastType } from './casts.ts';
import { type Expression, ExpressionError, type Table, type ValueType } from './expression.ts';
import { AGGREGATES, extractTimePart, FUNCTIONS } from './functions.ts';
import { OperatorParser } from './operators.ts';
import { type Token, tokenize } from './tokens.ts';
import { convertToType, toCommonType } from './types.ts';

/** The tables and metrics that an expression may name. */
export interface ExpressionScope {
  /** The tables whose columns the expression may name. */
  tables: readonly Table[];
  /**
   * Returns the type of a metric that the expression may build on. Without this function it may not contain aggregates either.
   */
  typeOfMetric?(name: string): ValueType;
}

/** Words that name no column unless they are quoted. */
const RESERVED_WORDS = new Set(
  'all and any array as between case cast collate distinct else end exists false filter from group having ilike in into is like limit not null offset or order over select similar some then true union when where window with within'.split(
    ' ',
  ),
);

/**
 * Parses an expression of the grammar that `docs/metrics.md` lists, and finds the type of each of its parts. @throws
 * ExpressionError for any other text
 */
export function parseExpression(text: string, scope: ExpressionScope): Expression {
  const parser = new Parser(tokenize(text), scope);
  return parser.whole();
}

class Parser extends OperatorParser {
  readonly #scope: ExpressionScope;
  #isWithinAggregate = false;

  constructor(tokens: readonly Token[], scope: ExpressionScope) {
    super(tokens);
    this.#scope = scope;
  }

  whole(): Expression {
    const expression = this.expression();
    if (this.next.kind !== 'end') throw this.makeUnexpectedError();
    return expression;
  }

  protected operand(): Expression {
    const { kind, value } = this.next;
    if (kind === 'word') return this.#ofWord(value);
    if (kind === 'name') return this.#column();
    if (kind === 'sign' && value === '(') {
      this.advance();
      const expression = this.expression();
      this.expect('sign', ')');
      return expression;
    }
    if (kind === 'text') return { kind: 'text', type: 'text', value: this.readToken('text') };
    if (kind === 'number') return toNumberLiteral(this.readToken('number'));
    if (kind === 'metric') return this.#metric();
    throw this.makeUnexpectedError();
  }

  #ofWord(word: string): Expression {
    const { after } = this;
    if (after.kind === 'sign' && after.value === '(' && !RESERVED_WORDS.has(word)) return this.#call();
    if (after.kind === 'text' && (word === 'date' || word === 'timestamptz' || word === 'interval'))
      return this.#literal();
    if (!RESERVED_WORDS.has(word)) return word === 'current_date' ? this.#today() : this.#column();
    if (this.word('true') || this.word('false')) return { kind: 'sql', type: 'boolean', parts: [word] };
    if (this.word('null')) return { kind: 'null', type: 'text' };
    if (this.word('case')) return this.#case();
    this.expect('word', 'cast');
    this.expect('sign', '(');
    const expression = this.expression();
    this.expect('word', 'as');
    const type = findCastType(this.readToken('word'));
    this.expect('sign', ')');
    return castExpression(expression, type);
  }

  #today(): Expression {
    this.advance();
    return { kind: 'sql', type: 'date', parts: ['current_date'] };
  }

  /** Parses a literal: `date '…'`, `timestamptz '…'`, `interval '90 days'` or `interval '90' day`. */
  #literal(): Expression {
    const word = this.readToken('word');
    const value = this.readToken('text');
    if (word !== 'interval')
      return convertToType(word === 'date' ? 'date' : 'datetime', { kind: 'text', type: 'text', value });
    const unit = this.next.kind === 'word' && /^\d+$/.test(value) ? ` ${this.readToken('word')}` : '';
    return convertToType('interval', { kind: 'text', type: 'text', value: `${value}${unit}` });
  }

  #column(): Expression {
    const first = this.#name();
    const second = this.sign('.') ? this.#name() : undefined;
    if (this.is('sign', '(') || this.is('sign', '.')) throw this.makeUnexpectedError();
    const { tables } = this.#scope;
    const searchedTables = second === undefined ? tables : tables.filter(({ name }) => name === first);
    const name = second ?? first;
    const spelledName = second === undefined ? name : `${first}.${second}`;
    const foundColumns = searchedTables.flatMap((table) =>
      table.columns.filter((column) => column.name === name).map((column) => ({ table, column })),
    );
    const [only, another] = foundColumns;
    if (!only) throw new ExpressionError(`column "${spelledName.slice(0, 130)}" does not exist in the mapped tables`);
    if (another) throw new ExpressionError(`column "${name}" is ambiguous: write its table before it`);
    return { kind: 'column', type: only.column.type, table: only.table, column: name };
  }

  #name(): string {
    if (this.next.kind === 'word' && RESERVED_WORDS.has(this.next.value)) throw this.makeUnexpectedError();
    return this.readToken(this.next.kind === 'name' ? 'name' : 'word');
  }

  #metric(): Expression {
    const name = this.readToken('metric');
    if (!this.#scope.typeOfMetric) throw new ExpressionError('it cannot build on metrics');
    if (this.#isWithinAggregate) throw new ExpressionError(`the metric {{${name}}} cannot be used inside an aggregate`);
    return { kind: 'metric', type: this.#scope.typeOfMetric(name), name };
  }

  #call(): Expression {
    const name = this.readToken('word');
    this.expect('sign', '(');
    const computeType = AGGREGATES.get(name);
    if (computeType) return this.#aggregate(name, computeType);
    if (name === 'extract') return this.#extract();
    const signature = FUNCTIONS.get(name);
    if (!signature) throw new ExpressionError(`the function "${name.slice(0, 70)}" is not supported`);
    const values = this.sign(')') ? [] : this.list();
    try {
      return signature(values);
    } catch (error) {
      throw error instanceof ExpressionError ? new ExpressionError(`${name}: ${error.message}`) : error;
    }
  }

  #extract(): Expression {
    const unit = this.readToken('word');
    this.expect('word', 'from');
    const time = this.expression();
    this.expect('sign', ')');
    return extractTimePart(unit, time);
  }

  #aggregate(name: string, typeOf: (value: Expression) => ValueType): Expression {
    if (!this.#scope.typeOfMetric) throw new ExpressionError(`${name} is an aggregate, which cannot be used here`);
    if (this.#isWithinAggregate) throw new ExpressionError('aggregates cannot be nested');
    this.#isWithinAggregate = true;
    const countsRows = name === 'count' && this.sign('*');
    const isDistinct = !countsRows && this.word('distinct');
    const argument = countsRows ? null : this.expression();
    this.expect('sign', ')');
    const filter = this.#filter();
    this.#isWithinAggregate = false;
    const type = argument === null ? 'integer' : typeOf(argument);
    return { kind: 'aggregate', type, call: { name, isDistinct, argument, filter } };
  }

  #filter(): Expression | null {
    if (!this.word('filter')) return null;
    this.expect('sign', '(');
    this.expect('word', 'where');
    const condition = convertToType('boolean', this.expression());
    this.expect('sign', ')');
    return condition;
  }

  #case(): Expression {
    const subject = this.is('word', 'when') ? null : this.expression();
    const conditionsOrValues: Expression[] = [];
    const results: Expression[] = [];
    while (this.word('when')) {
      conditionsOrValues.push(this.expression());
      this.expect('word', 'then');
      results.push(this.expression());
    }
    if (conditionsOrValues.length === 0) throw this.makeUnexpectedError();
    if (this.word('else')) results.push(this.expression());
    this.expect('word', 'end');
    const { type, values } = toCommonType(results);
    // The subject stands there once: written with each condition, nested ones would grow without bounds.
    const [compared, ...matches] = subject ? toCommonType([subject, ...conditionsOrValues]).values : [];
    const conditions = compared ? matches : conditionsOrValues.map((condition) => convertToType('boolean', condition));
    const branches = values.flatMap((value, index) =>
      index < conditions.length ? [' WHEN ', conditions[index] as Expression, ' THEN ', value] : [' ELSE ', value],
    );
    return { kind: 'sql', type, parts: ['CASE', ...(compared ? [' ', compared] : []), ...branches, ' END'] };
  }
}

const MAX_BIGINT = 2n ** 63n - 1n;

const toNumberLiteral = (digits: string): Expression => ({
  kind: 'sql',
  type: !digits.includes('.') && BigInt(digits) <= MAX_BIGINT ? 'integer' : 'decimal',
  parts: [digits],
});
