import { castExpression, findCastType } from './casts.ts';
import { type Expression, ExpressionError, makeCall, sql } from './expression.ts';
import { TokenReader } from './token-reader.ts';
import { applyArithmetic, castToNumber, castToText, convertToType, toCommonType } from './types.ts';

/** The maximum nesting depth of brackets and calls. */
const MAX_DEPTH = 60;

const COMPARISONS = new Set(['=', '<>', '!=', '<', '<=', '>', '>=']);

/** Parses operators, from the loosest binding to the tightest binding. */
export abstract class OperatorParser extends TokenReader {
  #depth = 0;

  /** Parses an operand. */
  protected abstract operand(): Expression;

  protected expression(): Expression {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new ExpressionError(`it is nested more than ${MAX_DEPTH} deep`);
    let left = this.#conjunction();
    while (this.word('or')) left = applyOperator('OR', left, this.#conjunction());
    this.#depth -= 1;
    return left;
  }

  #conjunction(): Expression {
    let left = this.#negation();
    while (this.word('and')) left = applyOperator('AND', left, this.#negation());
    return left;
  }

  #negation(): Expression {
    let isNegated = false;
    while (this.word('not')) isNegated = !isNegated;
    const expression = this.#comparison();
    return isNegated ? sql('boolean')`NOT ${convertToType('boolean', expression)}` : expression;
  }

  #comparison(): Expression {
    const left = this.#concatenation();
    const { kind, value } = this.next;
    if (kind === 'sign' && COMPARISONS.has(value)) {
      this.advance();
      return applyComparison(value, left, this.#concatenation());
    }
    if (this.word('is')) return this.#state(left);
    const isNegated = this.word('not');
    const notPrefix = isNegated ? 'NOT ' : '';
    if (this.word('in')) return this.#membership(left, notPrefix);
    if (this.word('between')) {
      const low = this.#concatenation();
      this.expect('word', 'and');
      const [a, b, c] = toCommonType([left, low, this.#concatenation()]).values as [Expression, Expression, Expression];
      return sql('boolean')`${a} ${notPrefix}BETWEEN ${b} AND ${c}`;
    }
    for (const operator of ['like', 'ilike']) {
      if (!this.word(operator)) continue;
      const [text, pattern] = [convertToType('text', left), convertToType('text', this.#concatenation())];
      return sql('boolean')`${text} ${notPrefix}${operator.toUpperCase()} ${pattern}`;
    }
    if (isNegated) throw this.makeUnexpectedError();
    return left;
  }

  /** Parses the words after `IS`. */
  #state(left: Expression): Expression {
    const notPrefix = this.word('not') ? 'NOT ' : '';
    if (this.word('null')) return sql('boolean')`${left} IS ${notPrefix}NULL`;
    for (const truth of ['true', 'false']) {
      if (this.word(truth))
        return sql('boolean')`${convertToType('boolean', left)} IS ${notPrefix}${truth.toUpperCase()}`;
    }
    this.expect('word', 'distinct');
    this.expect('word', 'from');
    const [a, b] = toCommonType([left, this.#concatenation()]).values as [Expression, Expression];
    return sql('boolean')`${a} IS ${notPrefix}DISTINCT FROM ${b}`;
  }

  #membership(left: Expression, notPrefix: string): Expression {
    this.expect('sign', '(');
    if (this.is('word', 'select')) throw this.makeUnexpectedError();
    const [value, ...list] = toCommonType([left, ...this.list()]).values as [Expression, ...Expression[]];
    return sql('boolean')`${value} ${notPrefix}IN ${makeCall('boolean', '', list)}`;
  }

  #concatenation(): Expression {
    let left = this.#sum();
    while (this.sign('||')) {
      const right = this.#sum();
      if (left.type !== 'text' && right.type !== 'text')
        throw new ExpressionError('|| needs a text on at least one side');
      left = sql('text')`${castToText(left)} || ${castToText(right)}`;
    }
    return left;
  }

  #sum(): Expression {
    let left = this.#product();
    while (this.is('sign', '+') || this.is('sign', '-'))
      left = applyArithmetic(this.readToken('sign'), left, this.#product());
    return left;
  }

  #product(): Expression {
    let left = this.#signed();
    while (['*', '/', '%'].some((sign) => this.is('sign', sign))) {
      left = applyArithmetic(this.readToken('sign'), left, this.#signed());
    }
    return left;
  }

  #signed(): Expression {
    let isNegative = false;
    while (this.is('sign', '+') || this.is('sign', '-')) isNegative = (this.readToken('sign') === '-') !== isNegative;
    const expression = this.#cast();
    if (!isNegative) return expression;
    const number = castToNumber(expression);
    return sql(number.type)`- ${number}`;
  }

  #cast(): Expression {
    let expression = this.operand();
    while (this.sign('::')) expression = castExpression(expression, findCastType(this.readToken('word')));
    return expression;
  }

  /** Parses expressions separated by commas, up to the closing bracket. */
  protected list(): Expression[] {
    const values = [this.expression()];
    while (this.sign(',')) values.push(this.expression());
    this.expect('sign', ')');
    return values;
  }
}

const applyOperator = (operator: string, left: Expression, right: Expression): Expression =>
  sql('boolean')`${convertToType('boolean', left)} ${operator} ${convertToType('boolean', right)}`;

function applyComparison(operator: string, left: Expression, right: Expression): Expression {
  const [a, b] = toCommonType([left, right]).values as [Expression, Expression];
  return sql('boolean')`${a} ${operator === '!=' ? '<>' : operator} ${b}`;
}
