import { unknownRoute } from '../access/failures.ts';
import type { Failure } from '../kernel/failure.ts';
import { wrongMethod } from './failures.ts';
import type { SurfaceEndpoints } from './openapi.ts';
import { matchesPath } from './paths.ts';
import type { Surface } from './surface.ts';

/** The failure of a request that no endpoint takes: its path is unknown, or only its method is. */
export function findUnmatchedFailure(surfaces: SurfaceEndpoints[], path: string): Failure {
  const methods = surfaces
    .flatMap(({ endpoints }) => endpoints)
    .filter(({ contract }) => matchesPath(contract.path, path))
    .map(({ contract }) => contract.method.toUpperCase());
  return methods.length === 0 ? unknownRoute() : wrongMethod([...new Set(methods)]);
}

/** The path of the console for the same resource as a path of the organization API; null where there is none. */
export function findCounterpart(surfaces: readonly SurfaceEndpoints[], path: string): string | null {
  const onConsole = `/v1${path.replace(/^\/admin(?=\/)/, '')}`;
  const bearing = surfaces
    .filter(({ surface }) => surface.credential === 'bearer')
    .flatMap(({ endpoints }) => endpoints);
  return bearing.find(({ contract }) => matchesPath(contract.path, onConsole))?.contract.path ?? null;
}

/** The surface that a path belongs to, whether or not an endpoint takes it: the one with the longest base above it. */
export function findSurface(surfaces: readonly SurfaceEndpoints[], path: string): Surface {
  const fitting = surfaces.flatMap(({ surface }) =>
    surface.bases.filter((base) => isUnderPath(path, base)).map((base) => ({ base, surface })),
  );
  const [longest] = fitting.toSorted((a, b) => b.base.length - a.base.length);
  if (!longest) throw new Error('No surface has the base of all paths.');
  return longest.surface;
}

/** Whether a path is at a base or below it. The empty base is that of all paths. */
const isUnderPath = (path: string, base: string): boolean => path === base || path.startsWith(`${base}/`);
