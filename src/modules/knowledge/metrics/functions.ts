import { call, type Expression, ExpressionError, sql, type ValueType } from './expression.ts';
import { castToNumber, castToText, toCommonType, toType } from './types.ts';

/** Makes an expression of the arguments of a call. @throws ExpressionError where they do not fit */
type Signature = (values: readonly Expression[]) => Expression;

function requireArity(values: readonly Expression[], least: number, most = least): void {
  if (values.length >= least && values.length <= most) return;
  throw new ExpressionError(`takes ${least === most ? least : `${least} to ${most}`} arguments`);
}

/** The signature of a function whose parameters have these types; the first `least` of them are required. */
const makeSignature =
  (name: string, type: ValueType, parameters: readonly ValueType[], least = parameters.length): Signature =>
  (values) => {
    requireArity(values, least, parameters.length);
    return call(
      type,
      name,
      values.map((value, index) => toArgument(parameters[index] as ValueType, value)),
    );
  };

/** An argument of a function. Postgres's functions of whole numbers take a smaller type than columns have. */
const toArgument = (type: ValueType, value: Expression): Expression =>
  type === 'integer' ? sql('integer')`${toType(type, value)}::integer` : toType(type, value);

/** The signature of a function of one number, calculated exactly. */
const decimalFunction = (name: string): Signature => makeSignature(name, 'decimal', ['decimal']);

/** The signature of a function of one number whose result is of the same type. */
const numberFunction =
  (name: string): Signature =>
  (values) => {
    requireArity(values, 1);
    const number = castToNumber(values[0] as Expression);
    return call(number.type, name, [number]);
  };

const textFunction = (name: string): Signature => makeSignature(name, 'text', ['text']);

/** The signature of a construct that takes several values of one type. */
const variadicFunction =
  (name: string, least: number, most: number): Signature =>
  (values) => {
    requireArity(values, least, most);
    const { type, values: same } = toCommonType(values);
    return call(type, name, same);
  };

const MAX_ARGUMENTS = 20;

/** Reads the unit of time in a call: a text in quotes. @throws ExpressionError for an unknown unit */
function parseUnit(units: ReadonlySet<string>, value: Expression | undefined): string {
  const unit = value?.kind === 'text' ? value.value.toLowerCase() : '';
  if (!units.has(unit)) throw new ExpressionError(`takes one of ${[...units].join(', ')} in quotes`);
  return unit;
}

const TRUNCATION_UNITS = new Set(['minute', 'hour', 'day', 'week', 'month', 'quarter', 'year']);
const EXTRACTION_UNITS = new Set([...TRUNCATION_UNITS, 'second', 'dow', 'isodow', 'doy', 'isoyear', 'epoch']);

/** The time at which a unit began, in UTC; weeks begin on Monday. */
export function truncateTime(unit: string, time: Expression): Expression {
  if (time.type === 'date') return sql('date')`date_trunc('${unit}', ${time}::timestamp)::date`;
  return sql('datetime')`date_trunc('${unit}', ${toType('datetime', time)}, 'UTC')`;
}

/** A part of a time in UTC, or of the time between two: `extract(unit from time)`. */
export function extractTimePart(unit: string, time: Expression): Expression {
  if (!EXTRACTION_UNITS.has(unit))
    throw new ExpressionError(`extract takes one of ${[...EXTRACTION_UNITS].join(', ')}`);
  if (time.type !== 'interval') toType('datetime', time);
  const of = time.kind === 'text' || time.kind === 'null' ? toType('datetime', time) : time;
  return sql('decimal')`extract(${unit} FROM ${of})`;
}

/** The functions that are listed. Constructs with a syntax of their own are the parser's. */
export const FUNCTIONS: ReadonlyMap<string, Signature> = new Map<string, Signature>([
  ['abs', numberFunction('abs')],
  ['ceil', decimalFunction('ceil')],
  ['ceiling', decimalFunction('ceiling')],
  ['floor', decimalFunction('floor')],
  ['round', makeSignature('round', 'decimal', ['decimal', 'integer'], 1)],
  ['trunc', makeSignature('trunc', 'decimal', ['decimal', 'integer'], 1)],
  ['sign', decimalFunction('sign')],
  ['sqrt', decimalFunction('sqrt')],
  ['exp', decimalFunction('exp')],
  ['ln', decimalFunction('ln')],
  ['power', makeSignature('power', 'decimal', ['decimal', 'decimal'])],
  [
    'mod',
    (values) => {
      requireArity(values, 2);
      const [left, right] = values.map(castToNumber) as [Expression, Expression];
      return sql(left.type === right.type ? left.type : 'decimal')`${left} % nullif(${right}, 0)`;
    },
  ],
  ['greatest', variadicFunction('greatest', 1, MAX_ARGUMENTS)],
  ['least', variadicFunction('least', 1, MAX_ARGUMENTS)],
  ['coalesce', variadicFunction('coalesce', 1, MAX_ARGUMENTS)],
  ['nullif', variadicFunction('nullif', 2, 2)],
  ['lower', textFunction('lower')],
  ['upper', textFunction('upper')],
  ['trim', textFunction('btrim')],
  ['btrim', textFunction('btrim')],
  ['ltrim', textFunction('ltrim')],
  ['rtrim', textFunction('rtrim')],
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
      return call('text', 'concat', values.map(castToText));
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
const toBooleanType = (value: Expression): ValueType => toType('boolean', value).type;

/** The aggregates that are listed: the type of the result by that of the argument. */
export const AGGREGATES: ReadonlyMap<string, (value: Expression) => ValueType> = new Map([
  ['sum', toDecimalType],
  ['avg', toDecimalType],
  ['count', () => 'integer' as const],
  ['min', requireOrderedType],
  ['max', requireOrderedType],
  ['stddev', toDecimalType],
  ['stddev_samp', toDecimalType],
  ['stddev_pop', toDecimalType],
  ['variance', toDecimalType],
  ['var_samp', toDecimalType],
  ['var_pop', toDecimalType],
  ['bool_and', toBooleanType],
  ['bool_or', toBooleanType],
]);
