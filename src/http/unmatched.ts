import { unknownRoute } from '../access/failures.ts';
import type { Failure } from '../kernel/failure.ts';
import { wrongMethod } from './failures.ts';
import type { SurfaceEndpoints } from './openapi.ts';
import { matchesPath } from './paths.ts';
import type { Surface } from './surface.ts';

/** Finds the failure of a request that fits no endpoint: its path is unknown, or only its method is. */
export function findUnmatchedFailure(surfaces: SurfaceEndpoints[], path: string): Failure {
  const methods = surfaces
    .flatMap(({ endpoints }) => endpoints)
    .filter(({ contract }) => matchesPath(contract.path, path))
    .map(({ contract }) => contract.method.toUpperCase());
  return methods.length === 0 ? unknownRoute() : wrongMethod([...new Set(methods)]);
}

/** Finds the console's path for the same resource as a path of the organization API; null if there is none. */
export function findCounterpart(surfaces: readonly SurfaceEndpoints[], path: string): string | null {
  const consolePath = `/v1${path.replace(/^\/admin(?=\/)/, '')}`;
  const bearerContracts = surfaces
    .filter(({ surface }) => surface.credential === 'bearer')
    .flatMap(({ endpoints }) => endpoints);
  return bearerContracts.find(({ contract }) => matchesPath(contract.path, consolePath))?.contract.path ?? null;
}

/** Finds the surface that a path belongs to, whether or not an endpoint accepts it: the one with the longest base above it. */
export function findSurface(surfaces: readonly SurfaceEndpoints[], path: string): Surface {
  const matchingBases = surfaces.flatMap(({ surface }) =>
    surface.basePaths
      .filter((basePath) => isUnderPath(path, basePath))
      .map((basePath) => ({ base: basePath, surface })),
  );
  const [longest] = matchingBases.toSorted((a, b) => b.base.length - a.base.length);
  if (!longest) throw new Error('No surface has the base of all paths.');
  return longest.surface;
}

/** Returns true if a path is at a base or below it. The empty base contains all paths. */
const isUnderPath = (path: string, basePath: string): boolean => path === basePath || path.startsWith(`${basePath}/`);
