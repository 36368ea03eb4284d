const PARAMETER = /\{(\w+)\}/g;

/** A template such as `/accounts/{id}` as Hono writes it: `/accounts/:id`. */
export const toHonoPath = (template: string): string => template.replaceAll(PARAMETER, ':$1');

/** The parameters of a template, in order. */
export const listParameters = (template: string): string[] =>
  [...template.matchAll(PARAMETER)].map(([, name]) => name as string);

/** A template with its parameters filled in. */
export const fillPath = (template: string, value: (name: string) => string): string =>
  template.replaceAll(PARAMETER, (_, name) => value(name));

/** Whether a path, without its query, is one of a template's. */
export function matchesPath(template: string, path: string): boolean {
  const segments = path.split('/');
  const expected = template.split('/');
  return (
    segments.length === expected.length &&
    expected.every((segment, index) => (isParameter(segment) ? segments[index] !== '' : segment === segments[index]))
  );
}

/** Orders templates so that a literal segment comes before a parameter in the same place. */
export const compareSpecificity = (a: string, b: string): number =>
  measureSpecificity(b).localeCompare(measureSpecificity(a));

const measureSpecificity = (template: string): string =>
  template
    .split('/')
    .map((segment) => (isParameter(segment) ? '0' : '1'))
    .join('');

const isParameter = (segment: string): boolean => segment.startsWith('{');
