import type { Schema } from '@cfworker/json-schema';
import table from './generated/routes.tsv?raw';

/** A route as the contract lists it. */
export interface Route {
  method: string;
  path: string;
  credential: string;
  permission: string;
  success: string;
}

/** The table as it is written: its head, and a line for each route. */
export const LINES = table.trim().split('\n');

/** Every route of the contract. */
export const ROUTES: Route[] = LINES.slice(1).map((line) => {
  const [, method = '', path = '', credential = '', permission = '', success = ''] = line.split('\t');
  return { method, path, credential, permission, success };
});

/** What an operation of an OpenAPI document says, as far as the tests look. */
export interface Operation {
  security: Record<string, string[]>[];
  tags: string[];
  parameters?: { name: string; schema: Schema; example?: unknown }[];
  requestBody?: { content: Record<string, { schema: Schema; example?: unknown }> };
  responses: Record<string, { content?: Record<string, { example?: unknown }> }>;
  'x-permission'?: string;
  'x-legacy-permission'?: string;
}

/** The operations of an OpenAPI document, one by one. */
export function listOperations(document: { paths: Record<string, Record<string, Operation>> }) {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

/** The statuses of success. A change of access that is only asked for is answered 200, whatever the change itself is. */
export function listSuccessStatuses({ parameters = [], responses }: Operation): string[] {
  const all = Object.keys(responses).filter((status) => !/^[45]|304|default/.test(status));
  const isTried = all.length > 1 && parameters.some(({ name }) => name === 'dry_run');
  return isTried ? all.filter((status) => status !== '200') : all;
}
