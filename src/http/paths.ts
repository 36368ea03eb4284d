const PARAMETER_PATTERN = /\{(\w+)\}/g;

/** Converts a template such as `/accounts/{id}` to Hono's form: `/accounts/:id`. */
export const toHonoPath = (template: string): string => template.replaceAll(PARAMETER_PATTERN, ':$1');

/** Lists the parameters of a template, in order. */
export const listParameters = (template: string): string[] =>
  [...template.matchAll(PARAMETER_PATTERN)].map(([, name]) => name as string);

/** Fills in the parameters of a template. */
export const fillPath = (template: string, getValue: (name: string) => string): string =>
  template.replaceAll(PARAMETER_PATTERN, (_, name) => getValue(name));

/** Returns true if a path, without its query, fits a template. */
export function matchesPath(template: string, path: string): boolean {
  const segments = path.split('/');
  const expectedSegments = template.split('/');
  return (
    segments.length === expectedSegments.length &&
    expectedSegments.every((segment, index) =>
      isParameter(segment) ? segments[index] !== '' : segment === segments[index],
    )
  );
}

/** Compares templates so that a literal segment comes before a parameter in the same position. */
export const compareSpecificity = (a: string, b: string): number =>
  measureSpecificity(b).localeCompare(measureSpecificity(a));

const measureSpecificity = (template: string): string =>
  template
    .split('/')
    .map((segment) => (isParameter(segment) ? '0' : '1'))
    .join('');

const isParameter = (segment: string): boolean => segment.startsWith('{');
