type Jurisdiction = 'eu' | 'fedramp';

type Objects = Record<
  'ORGANIZATION_GATE' | 'IP_LIMITER' | 'TOKEN_LIMITER' | 'ATTEMPT_LIMITER' | 'VIEWER_GATE',
  DurableObjectNamespace
>;

const known = new WeakMap<Objects, Objects>();

/**
 * Limits the Durable Objects of the bindings to a jurisdiction, which their data does not leave; without a jurisdiction
 * the bindings are unchanged. An object of the same name outside it is another object.
 */
export function withinJurisdiction<B extends Objects>(bindings: B, jurisdiction: Jurisdiction | undefined): B {
  if (jurisdiction === undefined) return bindings;
  const within = (known.get(bindings) ?? {
    ...bindings,
    ORGANIZATION_GATE: bindings.ORGANIZATION_GATE.jurisdiction(jurisdiction),
    IP_LIMITER: bindings.IP_LIMITER.jurisdiction(jurisdiction),
    TOKEN_LIMITER: bindings.TOKEN_LIMITER.jurisdiction(jurisdiction),
    ATTEMPT_LIMITER: bindings.ATTEMPT_LIMITER.jurisdiction(jurisdiction),
    VIEWER_GATE: bindings.VIEWER_GATE.jurisdiction(jurisdiction),
  }) as B;
  known.set(bindings, within);
  return within;
}
