import { ExpressionError } from './expression.ts';
import type { Token } from './tokens.ts';

/** How many operators an expression may hold: each may stand in the one after it. */
const MAX_OPERATORS = 100;

/** Those that are repeated without brackets; signs of calculation are counted as they are taken. */
const OPERATORS = new Set(['or', 'and', 'not', '||', '::']);

/** Reads tokens one after another, the last of which is the end. */
export class TokenReader {
  readonly #tokens: readonly Token[];
  #at = 0;
  #operators = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get next(): Token {
    return this.#tokens[this.#at] as Token;
  }

  /** The token after the next one. */
  get after(): Token {
    return this.#tokens[this.#at + 1] as Token;
  }

  /** Skips the next token. */
  advance(): void {
    this.#at += 1;
  }

  unexpected(): ExpressionError {
    const { kind, value } = this.next;
    if (kind === 'end') return new ExpressionError('it ends too early');
    if (value === 'select' || value === 'with') return new ExpressionError('subqueries are not allowed');
    return new ExpressionError(`"${value.slice(0, 40)}" is not expected there`);
  }

  is(kind: 'word' | 'sign', value: string): boolean {
    return this.next.kind === kind && this.next.value === value;
  }

  /** Takes the next token if it is this one. @returns whether it was */
  skip(kind: 'word' | 'sign', value: string): boolean {
    const is = this.is(kind, value);
    if (is) this.#at += 1;
    if (is && OPERATORS.has(value)) this.#count();
    return is;
  }

  #count(): void {
    this.#operators += 1;
    if (this.#operators > MAX_OPERATORS) throw new ExpressionError(`it has more than ${MAX_OPERATORS} operators`);
  }

  word = (value: string): boolean => this.skip('word', value);
  sign = (value: string): boolean => this.skip('sign', value);

  /** Takes the next token, which must be this one. */
  expect(kind: 'word' | 'sign', value: string): void {
    if (!this.skip(kind, value)) throw this.unexpected();
  }

  /** Takes the next one, which must be of a kind. @returns its value */
  take(kind: Token['kind']): string {
    if (this.next.kind !== kind) throw this.unexpected();
    const { value } = this.next;
    this.#at += 1;
    if (kind === 'sign') this.#count();
    return value;
  }
}
