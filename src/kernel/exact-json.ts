import { sameDecimal } from './decimals.ts';

/** A run of 16 digits, or an exponent of three: numbers that a double may not hold. Shorter ones survive it always. */
const SUSPECT = /\d[\d.]{15}|[eE][+-]?\d{3}/;

/** A JSON number that a double would round, or that is beyond ±(2^53−1), as it was sent. No string: it is a number. */
export class ExactNumber {
  readonly digits: string;

  constructor(digits: string) {
    this.digits = digits;
  }
}

/** Like `JSON.parse`, but numbers that a double cannot hold become `ExactNumber`. @throws SyntaxError */
export const parseExactJson = (text: string): unknown =>
  SUSPECT.test(text) ? JSON.parse(text, keepDigits as Reviver) : JSON.parse(text);

/** Without the third parameter, which the library lacks: https://github.com/tc39/proposal-json-parse-with-source */
type Reviver = (key: string, value: unknown) => unknown;

function keepDigits(_key: string, value: unknown, { source }: { source: string }): unknown {
  if (typeof value !== 'number') return value;
  return Math.abs(value) <= Number.MAX_SAFE_INTEGER && sameDecimal(source, String(value))
    ? value
    : new ExactNumber(source);
}
