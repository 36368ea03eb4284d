import { type Expression, ExpressionError, isTime, sql, type ValueType } from './expression.ts';
import { toType } from './types.ts';

/** The names of types in a cast. */
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

/** The type that a cast names. @throws ExpressionError for one that is not listed */
export function findType(name: string): ValueType {
  const type = CAST_TYPES.get(name);
  if (type !== undefined) return type;
  throw new ExpressionError(
    `the type "${name.slice(0, 40)}" is not supported; use one of ${[...CAST_TYPES.keys()].join(', ')}`,
  );
}

/** Casts an expression. A text in quotes is read at once, and refused if it is no value of the type. */
export function cast(expression: Expression, type: ValueType): Expression {
  if (expression.kind === 'text' || expression.kind === 'null') return toType(type, expression);
  if (expression.type === type) return expression;
  const { type: from } = expression;
  const isNoNumber = isTime(from) || from === 'uuid' || from === 'interval';
  const isPossible =
    type === 'text' ||
    from === 'text' ||
    (isTime(type)
      ? isTime(from)
      : !isNoNumber && !(type === 'boolean' && from === 'decimal') && !(type === 'decimal' && from === 'boolean'));
  if (!isPossible) throw new ExpressionError(`a value of type ${from} cannot be cast to ${type}`);
  const name =
    type === 'integer' ? 'bigint' : type === 'decimal' ? 'numeric' : type === 'datetime' ? 'timestamptz' : type;
  const value = from === 'boolean' && type === 'integer' ? sql('integer')`${expression}::integer` : expression;
  return sql(type)`${value}::${name}`;
}
