import type { CompiledGroup } from '../../src/access/evaluation.ts';
import { cachePrincipal, type KnownPrincipal } from '../../src/access/known-principals.ts';

/** A compiled group that is larger than the principal cache of an isolate. */
const TOO_LARGE_GROUP = { sourceText: { length: 2 ** 40 } } as unknown as CompiledGroup;

/** Empties the principal cache of the isolate: an entry that is too large displaces all others, and itself. */
export function forgetPrincipals(): void {
  cachePrincipal('', { actor: { access: { groups: [TOO_LARGE_GROUP] } } } as unknown as KnownPrincipal, null);
}
