import type { CompiledGroup } from '../../src/access/evaluation.ts';
import { cachePrincipal, type KnownPrincipal } from '../../src/access/known-principals.ts';

/** A group that takes up more than an isolate may remember. */
const TOO_LARGE_GROUP = { source: { length: 2 ** 40 } } as unknown as CompiledGroup;

/** Has the isolate know of no principal, as a new one does: what is too much to remember displaces everybody, and itself. */
export function forgetPrincipals(): void {
  cachePrincipal('', { actor: { access: { groups: [TOO_LARGE_GROUP] } } } as unknown as KnownPrincipal, null);
}
