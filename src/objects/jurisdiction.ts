type Jurisdiction = 'eu' | 'fedramp';

/** The bindings of Durable Objects. */
export const OBJECT_NAMES = [
  'ORGANIZATION_GATE',
  'IP_LIMITER',
  'TOKEN_LIMITER',
  'ATTEMPT_LIMITER',
  'VIEWER_GATE',
  'COMPANY_LOG',
  'WEBHOOK_SENDER',
] as const;

type Objects = Record<(typeof OBJECT_NAMES)[number], DurableObjectNamespace>;

const cachedNamespaces = new WeakMap<Objects, Objects>();

/**
 * Limits the Durable Objects of the bindings to a jurisdiction, which their data does not leave; without a jurisdiction
 * the bindings are unchanged. An object of the same name outside it is another object.
 */
export function withinJurisdiction<B extends Objects>(bindings: B, jurisdiction: Jurisdiction | undefined): B {
  if (jurisdiction === undefined) return bindings;
  const within = cachedNamespaces.get(bindings) ?? limited(bindings, jurisdiction);
  cachedNamespaces.set(bindings, within);
  // Bindings that are limited already stay as they are.
  cachedNamespaces.set(within, within);
  return within as B;
}

function limited(bindings: Objects, jurisdiction: Jurisdiction): Objects {
  const within = { ...bindings };
  for (const name of OBJECT_NAMES) {
    Object.defineProperty(within, name, { enumerable: true, get: () => bindings[name].jurisdiction(jurisdiction) });
  }
  return within;
}
