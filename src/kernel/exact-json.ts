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

/**
 * JSON whose numbers lose no digit: those that a double cannot hold are given as `ExactNumber`. Everything else is as
 * `JSON.parse` gives it.
 * @throws SyntaxError
 */
export function parseExactJson(text: string): unknown {
  return SUSPECT.test(text) ? JSON.parse(text, keepDigits as Reviver) : JSON.parse(text);
}

/**
 * A reviver without the third parameter, which the compiler's library lacks; see
 * https://github.com/tc39/proposal-json-parse-with-source
 */
type Reviver = (key: string, value: unknown) => unknown;

function keepDigits(_key: string, value: unknown, { source }: { source: string }): unknown {
  if (typeof value !== 'number') return value;
  return Math.abs(value) <= Number.MAX_SAFE_INTEGER && sameDecimal(source, String(value))
    ? value
    : new ExactNumber(source);
}
