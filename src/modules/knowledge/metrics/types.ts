import { EXPECTED_VALUES, toPostgresText } from '../../../tenant-sql/values.ts';
import { type Expression, ExpressionError, isTimeType, sql, type ValueType } from './expression.ts';

const UUID_PATTERN = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const INTERVAL_PATTERN = /^\d{1,6} *(second|minute|hour|day|week|month|year)s?$/i;

/** Describes which values a type accepts, for a text or a JSON value that is not of the type. */
export const describeExpectation = (type: ValueType): string =>
  type === 'uuid'
    ? 'must be the id of a row'
    : type === 'interval'
      ? "must be a number and a unit such as '30 days'"
      : EXPECTED_VALUES[type];

/** Returns the text that Postgres parses as a value of a type; undefined for a value of another form. */
export function encodeValue(type: ValueType, value: unknown): string | undefined {
  if (type !== 'uuid' && type !== 'interval') return toPostgresText(type, value);
  return typeof value === 'string' && (type === 'uuid' ? UUID_PATTERN : INTERVAL_PATTERN).test(value)
    ? value
    : undefined;
}

export const isNumeric = ({ type }: Expression): boolean => type === 'integer' || type === 'decimal';

/** Tells whether a value has no type of its own, like null and quoted texts: it takes the type of neighbouring values. */
const isUntyped = ({ kind, type }: Expression): boolean => kind === 'null' || (kind === 'text' && type === 'text');

/** Converts an expression to a type. @throws ExpressionError where it is of another type */
export function convertToType(type: ValueType, expression: Expression): Expression {
  if (expression.kind === 'null') return { ...expression, type };
  if (expression.type === type) return expression;
  if (isUntyped(expression) && expression.kind === 'text') {
    const value = encodeValue(type, expression.value);
    if (value === undefined) throw new ExpressionError(`a text ${describeExpectation(type)}`);
    return { kind: 'text', type, value };
  }
  if (type === 'decimal' && expression.type === 'integer') return sql('decimal')`${expression}::numeric`;
  if (type === 'datetime' && expression.type === 'date') return sql('datetime')`${expression}::timestamptz`;
  throw new ExpressionError(`a value is of type ${expression.type} where one of type ${type} is expected`);
}

/** Finds the type that values have in common, ignoring untyped ones. @throws ExpressionError where there is none */
function findCommonType(expressions: readonly Expression[]): ValueType {
  const typedExpressions = expressions.filter((expression) => !isUntyped(expression));
  const types = new Set(
    (typedExpressions.length > 0 ? typedExpressions : expressions.filter(({ kind }) => kind !== 'null')).map(
      ({ type }) => type,
    ),
  );
  const [only = 'text', ...others] = types;
  if (others.length === 0) return only;
  if (types.size === 2 && types.has('integer') && types.has('decimal')) return 'decimal';
  if (types.size === 2 && types.has('date') && types.has('datetime')) return 'datetime';
  throw new ExpressionError(`values of types ${[...types].join(' and ')} cannot be combined`);
}

/** Returns the values with their common type, which untyped values take; numbers stay as they are. */
export function toCommonType(expressions: readonly Expression[]): { type: ValueType; values: Expression[] } {
  const type = findCommonType(expressions);
  return {
    type,
    values: expressions.map((expression) => (isUntyped(expression) ? convertToType(type, expression) : expression)),
  };
}

/** Converts an expression to a text. */
export const castToText = (value: Expression): Expression =>
  value.type === 'text' ? value : sql('text')`${value}::text`;

/** Converts an expression to a number that Postgres calculates with exactly. */
export function castToNumber(expression: Expression): Expression {
  if (isUntyped(expression)) return convertToType('decimal', expression);
  if (isNumeric(expression)) return expression;
  throw new ExpressionError(`a value is of type ${expression.type} where a number is expected`);
}

/** Applies `+`, `-`, `*`, `/` or `%`. Division by zero gives null; every division is a decimal division. */
export function applyArithmetic(operator: string, left: Expression, right: Expression): Expression {
  const time = operator === '+' || operator === '-' ? applyTimeArithmetic(operator, left, right) : undefined;
  if (time) return time;
  const [a, b] = [castToNumber(left), castToNumber(right)];
  // Postgres sums small integers to bigint, whatever type the sum has here, and cuts the quotient of two bigints.
  if (operator === '/') return sql('decimal')`${a}::numeric / nullif(${b}, 0)`;
  const type = a.type === 'integer' && b.type === 'integer' ? 'integer' : 'decimal';
  if (operator === '%') return sql(type)`${a} % nullif(${b}, 0)`;
  return sql(type)`${a} ${operator} ${b}`;
}

/** Adds or subtracts days or an interval to or from a date or time, or subtracts two of these; undefined for other types. */
function applyTimeArithmetic(operator: string, left: Expression, right: Expression): Expression | undefined {
  if (operator === '+' && !isTimeType(left.type) && isTimeType(right.type))
    return applyTimeArithmetic(operator, right, left);
  if (!isTimeType(left.type)) return undefined;
  if (right.type === 'interval') {
    const time = sql(left.type)`${left} ${operator} ${right}`;
    return left.type === 'date' ? sql('date')`${time}::date` : time;
  }
  if (left.type === 'date' && right.type === 'integer') return sql('date')`${left} ${operator} ${right}::integer`;
  if (operator === '+') throw new ExpressionError(`a value of type ${right.type} cannot be added to a ${left.type}`);
  if (isUntyped(right)) return applyTimeArithmetic(operator, left, convertToType(left.type, right));
  if (left.type === 'date' && right.type === 'date') return sql('integer')`${left} - ${right}`;
  return sql('interval')`${convertToType('datetime', left)} - ${convertToType('datetime', right)}`;
}
