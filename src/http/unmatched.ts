import type { Failure } from '../kernel/failure.ts';
import { unknownRoute, wrongMethod } from './failures.ts';
import type { SurfaceEndpoints } from './openapi.ts';
import type { Surface } from './surface.ts';

/** The failure of a request that no endpoint takes: its path is unknown, or only its method is. */
export function unmatched(surfaces: SurfaceEndpoints[], path: string): Failure {
  const methods = surfaces
    .flatMap(({ endpoints }) => endpoints)
    .filter(({ contract }) => pattern(contract.path).test(path))
    .map(({ contract }) => contract.method.toUpperCase());
  return methods.length === 0 ? unknownRoute() : wrongMethod([...new Set(methods)]);
}

/** The surface that words a failure of a path which no endpoint took: the most specific prefix wins. */
export function surfaceOf(path: string, byPrefix: readonly (readonly [prefix: string, surface: Surface])[]): Surface {
  const [, surface] =
    byPrefix.find(([prefix]) => path === prefix || path.startsWith(`${prefix}/`)) ?? byPrefix.at(-1) ?? [];
  if (!surface) throw new Error('There is no surface for unknown routes.');
  return surface;
}

const pattern = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
