/**
 * Something on this machine stands in the way of a local start, and a person can remedy it.
 * The message is one sentence (or two) for that person: what is wrong and what to do.
 */
export class LocalProblem extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'LocalProblem';
  }
}
