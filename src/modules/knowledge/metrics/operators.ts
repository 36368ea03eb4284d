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
  protected abstract parseOperand(): Expression;

  protected parseExpression(): Expression {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new ExpressionError(`it is nested more than ${MAX_DEPTH} deep`);
    let left = this.#parseConjunction();
    while (this.skipWord('or')) left = applyOperator('OR', left, this.#parseConjunction());
    this.#depth -= 1;
    return left;
  }

  #parseConjunction(): Expression {
    let left = this.#parseNegation();
    while (this.skipWord('and')) left = applyOperator('AND', left, this.#parseNegation());
    return left;
  }

  #parseNegation(): Expression {
    let isNegated = false;
    while (this.skipWord('not')) isNegated = !isNegated;
    const expression = this.#parseComparison();
    return isNegated ? sql('boolean')`NOT ${convertToType('boolean', expression)}` : expression;
  }

  #parseComparison(): Expression {
    const left = this.#parseConcatenation();
    const { kind, value } = this.next;
    if (kind === 'sign' && COMPARISONS.has(value)) {
      this.skipToken();
      return applyComparison(value, left, this.#parseConcatenation());
    }
    if (this.skipWord('is')) return this.#parseIsCondition(left);
    const isNegated = this.skipWord('not');
    const notPrefix = isNegated ? 'NOT ' : '';
    if (this.skipWord('in')) return this.#parseMembership(left, notPrefix);
    if (this.skipWord('between')) {
      const low = this.#parseConcatenation();
      this.skipRequiredToken('word', 'and');
      const [a, b, c] = toCommonType([left, low, this.#parseConcatenation()]).values as [
        Expression,
        Expression,
        Expression,
      ];
      return sql('boolean')`${a} ${notPrefix}BETWEEN ${b} AND ${c}`;
    }
    for (const operator of ['like', 'ilike']) {
      if (!this.skipWord(operator)) continue;
      const [text, pattern] = [convertToType('text', left), convertToType('text', this.#parseConcatenation())];
      return sql('boolean')`${text} ${notPrefix}${operator.toUpperCase()} ${pattern}`;
    }
    if (isNegated) throw this.makeUnexpectedTokenError();
    return left;
  }

  /** Parses the words after `IS`. */
  #parseIsCondition(left: Expression): Expression {
    const notPrefix = this.skipWord('not') ? 'NOT ' : '';
    if (this.skipWord('null')) return sql('boolean')`${left} IS ${notPrefix}NULL`;
    for (const booleanWord of ['true', 'false']) {
      if (this.skipWord(booleanWord))
        return sql('boolean')`${convertToType('boolean', left)} IS ${notPrefix}${booleanWord.toUpperCase()}`;
    }
    this.skipRequiredToken('word', 'distinct');
    this.skipRequiredToken('word', 'from');
    const [a, b] = toCommonType([left, this.#parseConcatenation()]).values as [Expression, Expression];
    return sql('boolean')`${a} IS ${notPrefix}DISTINCT FROM ${b}`;
  }

  #parseMembership(left: Expression, notPrefix: string): Expression {
    this.skipRequiredToken('sign', '(');
    if (this.isNext('word', 'select')) throw this.makeUnexpectedTokenError();
    const [value, ...list] = toCommonType([left, ...this.parseList()]).values as [Expression, ...Expression[]];
    return sql('boolean')`${value} ${notPrefix}IN ${makeCall('boolean', '', list)}`;
  }

  #parseConcatenation(): Expression {
    let left = this.#parseSum();
    while (this.skipSign('||')) {
      const right = this.#parseSum();
      if (left.type !== 'text' && right.type !== 'text')
        throw new ExpressionError('|| needs a text on at least one side');
      left = sql('text')`${castToText(left)} || ${castToText(right)}`;
    }
    return left;
  }

  #parseSum(): Expression {
    let left = this.#parseProduct();
    while (this.isNext('sign', '+') || this.isNext('sign', '-'))
      left = applyArithmetic(this.readToken('sign'), left, this.#parseProduct());
    return left;
  }

  #parseProduct(): Expression {
    let left = this.#parseSigned();
    while (['*', '/', '%'].some((operatorSign) => this.isNext('sign', operatorSign))) {
      left = applyArithmetic(this.readToken('sign'), left, this.#parseSigned());
    }
    return left;
  }

  #parseSigned(): Expression {
    let isNegative = false;
    while (this.isNext('sign', '+') || this.isNext('sign', '-'))
      isNegative = (this.readToken('sign') === '-') !== isNegative;
    const expression = this.#parseCast();
    if (!isNegative) return expression;
    const number = castToNumber(expression);
    return sql(number.type)`- ${number}`;
  }

  #parseCast(): Expression {
    let expression = this.parseOperand();
    while (this.skipSign('::')) expression = castExpression(expression, findCastType(this.readToken('word')));
    return expression;
  }

  /** Parses expressions separated by commas, up to the closing bracket. */
  protected parseList(): Expression[] {
    const values = [this.parseExpression()];
    while (this.skipSign(',')) values.push(this.parseExpression());
    this.skipRequiredToken('sign', ')');
    return values;
  }
}

const applyOperator = (operator: string, left: Expression, right: Expression): Expression =>
  sql('boolean')`${convertToType('boolean', left)} ${operator} ${convertToType('boolean', right)}`;

function applyComparison(operator: string, left: Expression, right: Expression): Expression {
  const [a, b] = toCommonType([left, right]).values as [Expression, Expression];
  return sql('boolean')`${a} ${operator === '!=' ? '<>' : operator} ${b}`;
}
