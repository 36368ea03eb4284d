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
   * Returns the type of a metric that the expression may build on. Without this function the expression may contain neither
   * metrics nor aggregates.
   */
  getMetricType?(name: string): ValueType;
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
  return new Parser(tokenize(text), scope).parseWholeExpression();
}

class Parser extends OperatorParser {
  readonly #scope: ExpressionScope;
  #isWithinAggregate = false;

  constructor(tokens: readonly Token[], scope: ExpressionScope) {
    super(tokens);
    this.#scope = scope;
  }

  parseWholeExpression(): Expression {
    const expression = this.parseExpression();
    if (this.next.kind !== 'end') throw this.makeUnexpectedTokenError();
    return expression;
  }

  protected parseOperand(): Expression {
    const { kind, value } = this.next;
    if (kind === 'word') return this.#parseWord(value);
    if (kind === 'name') return this.#parseColumn();
    if (kind === 'sign' && value === '(') {
      this.skipToken();
      const expression = this.parseExpression();
      this.skipRequiredToken('sign', ')');
      return expression;
    }
    if (kind === 'text') return { kind: 'text', type: 'text', value: this.readToken('text') };
    if (kind === 'number') return toNumberLiteral(this.readToken('number'));
    if (kind === 'metric') return this.#parseMetric();
    throw this.makeUnexpectedTokenError();
  }

  #parseWord(word: string): Expression {
    const { after } = this;
    if (after.kind === 'sign' && after.value === '(' && !RESERVED_WORDS.has(word)) return this.#parseCall();
    if (after.kind === 'text' && (word === 'date' || word === 'timestamptz' || word === 'interval'))
      return this.#parseLiteral();
    if (!RESERVED_WORDS.has(word)) return word === 'current_date' ? this.#parseToday() : this.#parseColumn();
    if (this.skipWord('true') || this.skipWord('false')) return { kind: 'sql', type: 'boolean', parts: [word] };
    if (this.skipWord('null')) return { kind: 'null', type: 'text' };
    if (this.skipWord('case')) return this.#parseCase();
    this.skipRequiredToken('word', 'cast');
    this.skipRequiredToken('sign', '(');
    const expression = this.parseExpression();
    this.skipRequiredToken('word', 'as');
    const type = findCastType(this.readToken('word'));
    this.skipRequiredToken('sign', ')');
    return castExpression(expression, type);
  }

  #parseToday(): Expression {
    this.skipToken();
    return { kind: 'sql', type: 'date', parts: ['current_date'] };
  }

  /** Parses a literal: `date '…'`, `timestamptz '…'`, `interval '90 days'` or `interval '90' day`. */
  #parseLiteral(): Expression {
    const word = this.readToken('word');
    const value = this.readToken('text');
    if (word !== 'interval')
      return convertToType(word === 'date' ? 'date' : 'datetime', { kind: 'text', type: 'text', value });
    const unit = this.next.kind === 'word' && /^\d+$/.test(value) ? ` ${this.readToken('word')}` : '';
    return convertToType('interval', { kind: 'text', type: 'text', value: `${value}${unit}` });
  }

  #parseColumn(): Expression {
    const firstName = this.#readName();
    const secondName = this.skipSign('.') ? this.#readName() : undefined;
    if (this.isNext('sign', '(') || this.isNext('sign', '.')) throw this.makeUnexpectedTokenError();
    const { tables } = this.#scope;
    const searchedTables = secondName === undefined ? tables : tables.filter(({ name }) => name === firstName);
    const name = secondName ?? firstName;
    const spelledName = secondName === undefined ? name : `${firstName}.${secondName}`;
    const foundColumns = searchedTables.flatMap((table) =>
      table.columns.filter((column) => column.name === name).map((column) => ({ table, column })),
    );
    const [only, another] = foundColumns;
    if (!only) throw new ExpressionError(`column "${spelledName.slice(0, 130)}" does not exist in the mapped tables`);
    if (another) throw new ExpressionError(`column "${name}" is ambiguous: write its table before it`);
    return { kind: 'column', type: only.column.type, table: only.table, column: name };
  }

  #readName(): string {
    if (this.next.kind === 'word' && RESERVED_WORDS.has(this.next.value)) throw this.makeUnexpectedTokenError();
    return this.readToken(this.next.kind === 'name' ? 'name' : 'word');
  }

  #parseMetric(): Expression {
    const name = this.readToken('metric');
    if (!this.#scope.getMetricType) throw new ExpressionError('it cannot build on metrics');
    if (this.#isWithinAggregate) throw new ExpressionError(`the metric {{${name}}} cannot be used inside an aggregate`);
    return { kind: 'metric', type: this.#scope.getMetricType(name), name };
  }

  #parseCall(): Expression {
    const name = this.readToken('word');
    this.skipRequiredToken('sign', '(');
    const computeType = AGGREGATES.get(name);
    if (computeType) return this.#parseAggregate(name, computeType);
    if (name === 'extract') return this.#parseExtract();
    const makeCall = FUNCTIONS.get(name);
    if (!makeCall) throw new ExpressionError(`the function "${name.slice(0, 70)}" is not supported`);
    const values = this.skipSign(')') ? [] : this.parseList();
    try {
      return makeCall(values);
    } catch (error) {
      throw error instanceof ExpressionError ? new ExpressionError(`${name}: ${error.message}`) : error;
    }
  }

  #parseExtract(): Expression {
    const unit = this.readToken('word');
    this.skipRequiredToken('word', 'from');
    const time = this.parseExpression();
    this.skipRequiredToken('sign', ')');
    return extractTimePart(unit, time);
  }

  #parseAggregate(name: string, computeType: (value: Expression) => ValueType): Expression {
    if (!this.#scope.getMetricType) throw new ExpressionError(`${name} is an aggregate, which cannot be used here`);
    if (this.#isWithinAggregate) throw new ExpressionError('aggregates cannot be nested');
    this.#isWithinAggregate = true;
    const countsRows = name === 'count' && this.skipSign('*');
    const isDistinct = !countsRows && this.skipWord('distinct');
    const argument = countsRows ? null : this.parseExpression();
    this.skipRequiredToken('sign', ')');
    const filter = this.#parseFilter();
    this.#isWithinAggregate = false;
    const type = argument === null ? 'integer' : computeType(argument);
    return { kind: 'aggregate', type, call: { name, isDistinct, argument, filter } };
  }

  #parseFilter(): Expression | null {
    if (!this.skipWord('filter')) return null;
    this.skipRequiredToken('sign', '(');
    this.skipRequiredToken('word', 'where');
    const condition = convertToType('boolean', this.parseExpression());
    this.skipRequiredToken('sign', ')');
    return condition;
  }

  #parseCase(): Expression {
    const caseOperand = this.isNext('word', 'when') ? null : this.parseExpression();
    const conditionsOrValues: Expression[] = [];
    const results: Expression[] = [];
    while (this.skipWord('when')) {
      conditionsOrValues.push(this.parseExpression());
      this.skipRequiredToken('word', 'then');
      results.push(this.parseExpression());
    }
    if (conditionsOrValues.length === 0) throw this.makeUnexpectedTokenError();
    if (this.skipWord('else')) results.push(this.parseExpression());
    this.skipRequiredToken('word', 'end');
    const { type, values } = toCommonType(results);
    // The subject stands there once: written with each condition, nested ones would grow without bounds.
    const [compared, ...matches] = caseOperand ? toCommonType([caseOperand, ...conditionsOrValues]).values : [];
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
