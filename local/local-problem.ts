/**
 * A problem of this machine that prevents a local start and that a person can solve. The message is one or two
 * sentences for that person: what is wrong and what to do.
 */
export class LocalProblem extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'LocalProblem';
  }
}
