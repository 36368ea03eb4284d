import { EXPECTATIONS, toPostgresText } from '../../../tenant-sql/values.ts';
import { type Expression, ExpressionError, isTime, sql, type ValueType } from './expression.ts';

const UUID_PATTERN = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const INTERVAL_PATTERN = /^\d{1,6} *(second|minute|hour|day|week|month|year)s?$/i;

/** The words of a problem for a text or a JSON value that is not of a type. */
export const describeExpectation = (type: ValueType): string =>
  type === 'uuid'
    ? 'must be the id of a row'
    : type === 'interval'
      ? "must be a number and a unit such as '30 days'"
      : EXPECTATIONS[type];

/** The text that Postgres reads as a value of a type; undefined for a value of no such form. */
export function encodeValue(type: ValueType, value: unknown): string | undefined {
  if (type !== 'uuid' && type !== 'interval') return toPostgresText(type, value);
  return typeof value === 'string' && (type === 'uuid' ? UUID_PATTERN : INTERVAL_PATTERN).test(value)
    ? value
    : undefined;
}

export const isNumeric = ({ type }: Expression): boolean => type === 'integer' || type === 'decimal';

/** Whether a value has no type of its own, as null and texts in quotes: it takes the type of the values beside it. */
const isUntyped = ({ kind, type }: Expression): boolean => kind === 'null' || (kind === 'text' && type === 'text');

/** The expression as a value of a type. @throws ExpressionError where it is of another */
export function toType(type: ValueType, expression: Expression): Expression {
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

/** The type that values have in common, untyped ones aside. @throws ExpressionError where there is none */
function findCommonType(expressions: readonly Expression[]): ValueType {
  const typed = expressions.filter((each) => !isUntyped(each));
  const types = new Set(
    (typed.length > 0 ? typed : expressions.filter(({ kind }) => kind !== 'null')).map(({ type }) => type),
  );
  const [only = 'text', ...others] = types;
  if (others.length === 0) return only;
  if (types.size === 2 && types.has('integer') && types.has('decimal')) return 'decimal';
  if (types.size === 2 && types.has('date') && types.has('datetime')) return 'datetime';
  throw new ExpressionError(`values of types ${[...types].join(' and ')} cannot be combined`);
}

/** The values, untyped ones with the type that they have in common; numbers stay as they are. */
export function toCommonType(expressions: readonly Expression[]): { type: ValueType; values: Expression[] } {
  const type = findCommonType(expressions);
  return { type, values: expressions.map((each) => (isUntyped(each) ? toType(type, each) : each)) };
}

/** The expression as a text. */
export const castToText = (value: Expression): Expression =>
  value.type === 'text' ? value : sql('text')`${value}::text`;

/** The expression as a number that Postgres calculates with exactly. */
export function castToNumber(expression: Expression): Expression {
  if (isUntyped(expression)) return toType('decimal', expression);
  if (isNumeric(expression)) return expression;
  throw new ExpressionError(`a value is of type ${expression.type} where a number is expected`);
}

/** Applies `+`, `-`, `*`, `/` or `%`. Division by zero gives null; every division is one of decimals. */
export function applyArithmetic(operator: string, left: Expression, right: Expression): Expression {
  const time = operator === '+' || operator === '-' ? applyTimeArithmetic(operator, left, right) : undefined;
  if (time) return time;
  const [a, b] = [castToNumber(left), castToNumber(right)];
  if (operator === '/') return sql('decimal')`${toType('decimal', a)} / nullif(${b}, 0)`;
  const type = a.type === 'integer' && b.type === 'integer' ? 'integer' : 'decimal';
  if (operator === '%') return sql(type)`${a} % nullif(${b}, 0)`;
  return sql(type)`${a} ${operator} ${b}`;
}

/** Adds or subtracts days or an interval to or from a date or time, or subtracts two of these; undefined for other types. */
function applyTimeArithmetic(operator: string, left: Expression, right: Expression): Expression | undefined {
  if (operator === '+' && !isTime(left.type) && isTime(right.type)) return applyTimeArithmetic(operator, right, left);
  if (!isTime(left.type)) return undefined;
  if (right.type === 'interval') {
    const time = sql(left.type)`${left} ${operator} ${right}`;
    return left.type === 'date' ? sql('date')`${time}::date` : time;
  }
  if (left.type === 'date' && right.type === 'integer') return sql('date')`${left} ${operator} ${right}::integer`;
  if (operator === '+') throw new ExpressionError(`a value of type ${right.type} cannot be added to a ${left.type}`);
  if (isUntyped(right)) return applyTimeArithmetic(operator, left, toType(left.type, right));
  if (left.type === 'date' && right.type === 'date') return sql('integer')`${left} - ${right}`;
  return sql('interval')`${toType('datetime', left)} - ${toType('datetime', right)}`;
}
