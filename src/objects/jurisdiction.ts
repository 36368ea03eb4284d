import type { Bindings } from '../config.ts';

type Jurisdiction = 'eu' | 'fedramp';

const known = new WeakMap<Bindings, Bindings>();

/**
 * The bindings, with Durable Objects whose data does not leave a jurisdiction; as they are where there is none. An object of
 * the same name outside it is another object.
 */
export function withinJurisdiction(bindings: Bindings, jurisdiction: Jurisdiction | undefined): Bindings {
  if (jurisdiction === undefined) return bindings;
  const within = known.get(bindings) ?? {
    ...bindings,
    ORGANIZATION_GATE: bindings.ORGANIZATION_GATE.jurisdiction(jurisdiction),
    IP_LIMITER: bindings.IP_LIMITER.jurisdiction(jurisdiction),
    TOKEN_LIMITER: bindings.TOKEN_LIMITER.jurisdiction(jurisdiction),
    ATTEMPT_LIMITER: bindings.ATTEMPT_LIMITER.jurisdiction(jurisdiction),
    VIEWER_GATE: bindings.VIEWER_GATE.jurisdiction(jurisdiction),
  };
  known.set(bindings, within);
  return within;
}
