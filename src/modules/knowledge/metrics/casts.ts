import { type Expression, ExpressionError, formatType, isTimeType, sql, type ValueType } from './expression.ts';
import { convertToType } from './types.ts';

/** The type names that a cast accepts. */
const CAST_TYPES: ReadonlyMap<string, ValueType> = new Map([
  ['text', 'text'],
  ['integer', 'integer'],
  ['int', 'integer'],
  ['bigint', 'integer'],
  ['numeric', 'decimal'],
  ['decimal', 'decimal'],
  ['boolean', 'boolean'],
  ['date', 'date'],
  ['timestamptz', 'datetime'],
]);

/** Returns the type that a cast names. @throws ExpressionError for a name that is not listed */
export function findCastType(name: string): ValueType {
  const type = CAST_TYPES.get(name);
  if (type !== undefined) return type;
  throw new ExpressionError(
    `the type "${name.slice(0, 40)}" is not supported; use one of ${[...CAST_TYPES.keys()].join(', ')}`,
  );
}

/** Casts an expression. A quoted text is converted at once, and refused if it is not a value of the type. */
export function castExpression(expression: Expression, type: ValueType): Expression {
  if (expression.kind === 'text' || expression.kind === 'null') return convertToType(type, expression);
  if (expression.type === type) return expression;
  const { type: from } = expression;
  const isNotNumeric = isTimeType(from) || from === 'uuid' || from === 'interval';
  const isCastPossible =
    type === 'text' ||
    from === 'text' ||
    (isTimeType(type)
      ? isTimeType(from)
      : !isNotNumeric && !(type === 'boolean' && from === 'decimal') && !(type === 'decimal' && from === 'boolean'));
  if (!isCastPossible) throw new ExpressionError(`a value of type ${from} cannot be cast to ${type}`);
  const value = from === 'boolean' && type === 'integer' ? sql('integer')`${expression}::integer` : expression;
  return sql(type)`${value}::${formatType(type)}`;
}
