import { type Expression, ExpressionError, makeCall, sql, type ValueType } from './expression.ts';
import { castToNumber, castToText, convertToType, toCommonType } from './types.ts';

/** Makes an expression of the arguments of a call. @throws ExpressionError where they do not fit */
type MakeCallExpression = (values: readonly Expression[]) => Expression;

function requireArity(values: readonly Expression[], minCount: number, maxCount = minCount): void {
  if (values.length >= minCount && values.length <= maxCount) return;
  throw new ExpressionError(`takes ${minCount === maxCount ? minCount : `${minCount} to ${maxCount}`} arguments`);
}

/** Makes the signature of a function whose parameters have these types; the first `minCount` of them are required. */
const makeSignature =
  (name: string, type: ValueType, parameters: readonly ValueType[], minCount = parameters.length): MakeCallExpression =>
  (values) => {
    requireArity(values, minCount, parameters.length);
    return makeCall(
      type,
      name,
      values.map((value, index) => toArgument(parameters[index] as ValueType, value)),
    );
  };

/** Converts an argument of a function. Postgres's functions of whole numbers take a smaller type than columns have. */
const toArgument = (type: ValueType, value: Expression): Expression =>
  type === 'integer' ? sql('integer')`${convertToType(type, value)}::integer` : convertToType(type, value);

/** Makes the signature of a function of one number whose result has the same type. */
const makeNumberSignature =
  (name: string): MakeCallExpression =>
  (values) => {
    requireArity(values, 1);
    const number = castToNumber(values[0] as Expression);
    return makeCall(number.type, name, [number]);
  };

/** Makes the signature of a construct that takes several values of one type. */
const makeVariadicSignature =
  (name: string, minCount: number, maxCount: number): MakeCallExpression =>
  (values) => {
    requireArity(values, minCount, maxCount);
    const { type, values: sameTypeValues } = toCommonType(values);
    return makeCall(type, name, sameTypeValues);
  };

const MAX_ARGUMENTS = 20;

/** Parses the unit of time in a call: a quoted text. @throws ExpressionError for an unknown unit */
function parseUnit(units: ReadonlySet<string>, value: Expression | undefined): string {
  const unit = value?.kind === 'text' ? value.value.toLowerCase() : '';
  if (!units.has(unit)) throw new ExpressionError(`takes one of ${[...units].join(', ')} in quotes`);
  return unit;
}

const TRUNCATION_UNITS = new Set(['minute', 'hour', 'day', 'week', 'month', 'quarter', 'year']);
const EXTRACTION_UNITS = new Set([...TRUNCATION_UNITS, 'second', 'dow', 'isodow', 'doy', 'isoyear', 'epoch']);

/** Makes the expression for the time at which a unit began, in UTC; weeks begin on Monday. */
export function truncateTime(unit: string, time: Expression): Expression {
  if (time.type === 'date') return sql('date')`date_trunc('${unit}', ${time}::timestamp)::date`;
  return sql('datetime')`date_trunc('${unit}', ${convertToType('datetime', time)}, 'UTC')`;
}

/** Makes the expression for a part of a time in UTC, or of an interval: `extract(unit from time)`. */
export function extractTimePart(unit: string, time: Expression): Expression {
  if (!EXTRACTION_UNITS.has(unit))
    throw new ExpressionError(`extract takes one of ${[...EXTRACTION_UNITS].join(', ')}`);
  if (time.type !== 'interval') convertToType('datetime', time);
  const timestamp = time.kind === 'text' || time.kind === 'null' ? convertToType('datetime', time) : time;
  return sql('decimal')`extract(${unit} FROM ${timestamp})`;
}

/** The functions of one number, calculated exactly. */
const DECIMAL_FUNCTIONS = ['ceil', 'ceiling', 'floor', 'sign', 'sqrt', 'exp', 'ln'];
/** The functions that make a text of one text. */
const TEXT_FUNCTIONS = ['lower', 'upper', 'btrim', 'ltrim', 'rtrim'];

/** The supported functions. Constructs with a syntax of their own are in the parser. */
export const FUNCTIONS: ReadonlyMap<string, MakeCallExpression> = new Map<string, MakeCallExpression>([
  ['abs', makeNumberSignature('abs')],
  ...DECIMAL_FUNCTIONS.map((name) => [name, makeSignature(name, 'decimal', ['decimal'])] as const),
  ['round', makeSignature('round', 'decimal', ['decimal', 'integer'], 1)],
  ['trunc', makeSignature('trunc', 'decimal', ['decimal', 'integer'], 1)],
  ['power', makeSignature('power', 'decimal', ['decimal', 'decimal'])],
  [
    'mod',
    (values) => {
      requireArity(values, 2);
      const [left, right] = values.map(castToNumber) as [Expression, Expression];
      return sql(left.type === right.type ? left.type : 'decimal')`${left} % nullif(${right}, 0)`;
    },
  ],
  ['greatest', makeVariadicSignature('greatest', 1, MAX_ARGUMENTS)],
  ['least', makeVariadicSignature('least', 1, MAX_ARGUMENTS)],
  ['coalesce', makeVariadicSignature('coalesce', 1, MAX_ARGUMENTS)],
  ['nullif', makeVariadicSignature('nullif', 2, 2)],
  ...TEXT_FUNCTIONS.map((name) => [name, makeSignature(name, 'text', ['text'])] as const),
  ['trim', makeSignature('btrim', 'text', ['text'])],
  ['length', makeSignature('length', 'integer', ['text'])],
  ['left', makeSignature('left', 'text', ['text', 'integer'])],
  ['right', makeSignature('right', 'text', ['text', 'integer'])],
  ['substr', makeSignature('substr', 'text', ['text', 'integer', 'integer'], 2)],
  ['substring', makeSignature('substr', 'text', ['text', 'integer', 'integer'], 2)],
  ['replace', makeSignature('replace', 'text', ['text', 'text', 'text'])],
  ['split_part', makeSignature('split_part', 'text', ['text', 'text', 'integer'])],
  ['strpos', makeSignature('strpos', 'integer', ['text', 'text'])],
  ['starts_with', makeSignature('starts_with', 'boolean', ['text', 'text'])],
  [
    'concat',
    (values) => {
      requireArity(values, 1, MAX_ARGUMENTS);
      return makeCall('text', 'concat', values.map(castToText));
    },
  ],
  [
    'date_trunc',
    (values) => {
      requireArity(values, 2);
      return truncateTime(parseUnit(TRUNCATION_UNITS, values[0]), values[1] as Expression);
    },
  ],
  [
    'date_part',
    (values) => {
      requireArity(values, 2);
      return extractTimePart(parseUnit(EXTRACTION_UNITS, values[0]), values[1] as Expression);
    },
  ],
  ['now', makeSignature('now', 'datetime', [])],
]);

const toDecimalType = (value: Expression): ValueType => {
  castToNumber(value);
  return 'decimal';
};
const requireOrderedType = ({ type }: Expression): ValueType => {
  if (type === 'boolean' || type === 'uuid') throw new ExpressionError(`takes no value of type ${type}`);
  return type;
};
const toBooleanType = (value: Expression): ValueType => convertToType('boolean', value).type;

const NUMBER_AGGREGATES = ['sum', 'avg', 'stddev', 'stddev_samp', 'stddev_pop', 'variance', 'var_samp', 'var_pop'];

/** The supported aggregates: the type of the result by the type of the argument. */
export const AGGREGATES: ReadonlyMap<string, (value: Expression) => ValueType> = new Map([
  ...NUMBER_AGGREGATES.map((name) => [name, toDecimalType] as const),
  ['count', () => 'integer' as const],
  ['min', requireOrderedType],
  ['max', requireOrderedType],
  ['bool_and', toBooleanType],
  ['bool_or', toBooleanType],
]);
