import { type Known, remember } from '../../src/access/known-principals.ts';

/** More than an isolate may remember. */
const TOO_MUCH = 2 ** 40;

/** Has the isolate know of no principal, as a new one does: what is too much to remember displaces everybody, and itself. */
export function forgetPrincipals(): void {
  remember('', { weight: TOO_MUCH } as Known, null);
}
