import { ExpressionError } from './expression.ts';
import type { Token } from './tokens.ts';

/** The maximum number of operators of an expression: they may nest, each in the one after it. */
const MAX_OPERATORS = 100;

/** The operators that can be repeated without brackets; arithmetic signs are counted where they are read. */
const REPEATABLE_OPERATORS = new Set(['or', 'and', 'not', '||', '::']);

/** Reads tokens one after another; the last one is the end token. */
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

  /** Returns the token after the next one. */
  get after(): Token {
    return this.#tokens[this.#at + 1] as Token;
  }

  /** Skips the next token. */
  skipToken(): void {
    this.#at += 1;
  }

  makeUnexpectedTokenError(): ExpressionError {
    const { kind, value } = this.next;
    if (kind === 'end') return new ExpressionError('it ends too early');
    if (value === 'select' || value === 'with') return new ExpressionError('subqueries are not allowed');
    return new ExpressionError(`"${value.slice(0, 40)}" is not expected there`);
  }

  isNext(kind: 'word' | 'sign', value: string): boolean {
    return this.next.kind === kind && this.next.value === value;
  }

  /** Skips the next token if it has this kind and value. @returns whether it was skipped */
  skipTokenIf(kind: 'word' | 'sign', value: string): boolean {
    const is = this.isNext(kind, value);
    if (is) this.#at += 1;
    if (is && REPEATABLE_OPERATORS.has(value)) this.#count();
    return is;
  }

  #count(): void {
    this.#operators += 1;
    if (this.#operators > MAX_OPERATORS) throw new ExpressionError(`it has more than ${MAX_OPERATORS} operators`);
  }

  skipWord = (value: string): boolean => this.skipTokenIf('word', value);
  skipSign = (value: string): boolean => this.skipTokenIf('sign', value);

  /** Skips the next token, which must have this kind and value. */
  skipRequiredToken(kind: 'word' | 'sign', value: string): void {
    if (!this.skipTokenIf(kind, value)) throw this.makeUnexpectedTokenError();
  }

  /** Reads the next token, which must be of this kind. @returns its value */
  readToken(kind: Token['kind']): string {
    if (this.next.kind !== kind) throw this.makeUnexpectedTokenError();
    const { value } = this.next;
    this.#at += 1;
    if (kind === 'sign') this.#count();
    return value;
  }
}
