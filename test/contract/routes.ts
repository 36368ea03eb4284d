import type { Schema } from '@cfworker/json-schema';
import table from './generated/routes.tsv?raw';

/** A route in the contract's table of routes. */
export interface Route {
  method: string;
  path: string;
  credential: string;
  permission: string;
  success: string;
}

/** The lines of the table of routes: its head, and a line for each route. */
export const TABLE_LINES = table.trim().split('\n');

/** Every route of the contract. */
export const ROUTES: Route[] = TABLE_LINES.slice(1).map((line) => {
  const [, method = '', path = '', credential = '', permission = '', success = ''] = line.split('\t');
  return { method, path, credential, permission, success };
});

/** The members of an OpenAPI operation that the tests read. */
export interface Operation {
  security: Record<string, string[]>[];
  tags: string[];
  parameters?: { name: string; schema: Schema; example?: unknown }[];
  requestBody?: { content: Record<string, { schema: Schema; example?: unknown }> };
  responses: Record<string, { content?: Record<string, { example?: unknown }> }>;
  'x-permission'?: string;
  'x-legacy-permission'?: string;
}

/** Lists the operations of an OpenAPI document. */
export function listOperations(document: { paths: Record<string, Record<string, Operation>> }) {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

/** Lists the success statuses of an operation, except 200 for a dry run where a real change has another status. */
export function listSuccessStatuses({ parameters = [], responses }: Operation): string[] {
  const successStatuses = Object.keys(responses).filter((status) => !/^[45]|304|default/.test(status));
  const hasDryRun = successStatuses.length > 1 && parameters.some(({ name }) => name === 'dry_run');
  return hasDryRun ? successStatuses.filter((status) => status !== '200') : successStatuses;
}
