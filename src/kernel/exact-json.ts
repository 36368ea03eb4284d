import { isSameDecimal } from './decimals.ts';

/** Pattern of 16 digits or an exponent of three: numbers that a double perhaps cannot hold. A double holds all shorter ones. */
const INEXACT_NUMBER_PATTERN = /\d[\d.]{15}|[eE][+-]?\d{3}/;

/** JSON number that a double would round, or beyond ±(2^53−1), with the digits that were sent. It is no string. */
export class ExactNumber {
  readonly digits: string;

  constructor(digits: string) {
    this.digits = digits;
  }
}

/** Parses JSON like `JSON.parse`, but numbers that a double cannot hold become `ExactNumber`. @throws SyntaxError */
export const parseExactJson = (text: string): unknown =>
  INEXACT_NUMBER_PATTERN.test(text) ? JSON.parse(text, reviveExactNumber as Reviver) : JSON.parse(text);

/** Parses JSON like `JSON.parse`, but numbers that a double cannot hold become texts of their digits. @throws SyntaxError */
export const parseJsonWithTextNumbers = (text: string): unknown =>
  INEXACT_NUMBER_PATTERN.test(text) ? JSON.parse(text, reviveTextNumber as Reviver) : JSON.parse(text);

/** A reviver without its third parameter, which the library lacks: https://github.com/tc39/proposal-json-parse-with-source */
type Reviver = (key: string, value: unknown) => unknown;

function reviveTextNumber(key: string, value: unknown, context: { source: string }): unknown {
  const revivedValue = reviveExactNumber(key, value, context);
  return revivedValue instanceof ExactNumber ? revivedValue.digits : revivedValue;
}

function reviveExactNumber(_key: string, value: unknown, { source }: { source: string }): unknown {
  if (typeof value !== 'number') return value;
  return Math.abs(value) <= Number.MAX_SAFE_INTEGER && isSameDecimal(source, String(value))
    ? value
    : new ExactNumber(source);
}
