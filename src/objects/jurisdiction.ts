type Jurisdiction = 'eu' | 'fedramp';

/** The names of the Durable Object bindings. */
export const OBJECT_BINDING_NAMES = [
  'ORGANIZATION_GATE',
  'IP_LIMITER',
  'TOKEN_LIMITER',
  'ATTEMPT_LIMITER',
  'VIEWER_GATE',
  'COMPANY_LOG',
  'WEBHOOK_SENDER',
] as const;

type ObjectBindings = Record<(typeof OBJECT_BINDING_NAMES)[number], DurableObjectNamespace>;

const cachedNamespaces = new WeakMap<ObjectBindings, ObjectBindings>();

/**
 * Limits the Durable Objects of the bindings to a jurisdiction, which their data does not leave; without a jurisdiction the
 * bindings are unchanged. The object of the same name outside the jurisdiction is another object.
 */
export function limitToJurisdiction<B extends ObjectBindings>(bindings: B, jurisdiction: Jurisdiction | undefined): B {
  if (jurisdiction === undefined) return bindings;
  const limitedBindings = cachedNamespaces.get(bindings) ?? createLimitedBindings(bindings, jurisdiction);
  cachedNamespaces.set(bindings, limitedBindings);
  // Bindings that are limited already stay as they are.
  cachedNamespaces.set(limitedBindings, limitedBindings);
  return limitedBindings as B;
}

function createLimitedBindings(bindings: ObjectBindings, jurisdiction: Jurisdiction): ObjectBindings {
  const limitedBindings = { ...bindings };
  for (const name of OBJECT_BINDING_NAMES) {
    Object.defineProperty(limitedBindings, name, {
      enumerable: true,
      get: () => bindings[name].jurisdiction(jurisdiction),
    });
  }
  return limitedBindings;
}
