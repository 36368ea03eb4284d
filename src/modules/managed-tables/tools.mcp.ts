import { LIST_ARGUMENTS, type Tool } from '../../http/mcp/tools.ts';
import { FILTER_OPERATORS, type FilterOperator } from '../../tenant-sql/row-filters.ts';

/** The schema of a single value. It has no list of types, as several MCP clients cannot read one. */
const SCALAR_SCHEMA = { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }] };

const makeValueSchema = (operator: FilterOperator): object => {
  if (operator === 'in' || operator === 'nin') return { type: 'array', items: SCALAR_SCHEMA };
  if (operator === 'is_null') return { type: 'boolean' };
  return operator === 'contains' || operator === 'starts_with' ? { type: 'string' } : SCALAR_SCHEMA;
};

/** The schema of `filter`, as a model receives it. */
const filterSchema = {
  type: 'object',
  description: '`{ column: { operator: value } }`. All must fit. `ne` and `nin` keep nulls.',
  additionalProperties: {
    type: 'object',
    properties: Object.fromEntries(FILTER_OPERATORS.map((operator) => [operator, makeValueSchema(operator)])),
    additionalProperties: false,
  },
};

/** The MCP tools by which agents read tables. */
export const managedTableTools: readonly Tool[] = [
  {
    name: 'list_tables',
    title: 'List tables',
    description: 'Lists the tables with their columns, ids and numbers of rows.',
    operationId: 'listManagedTables',
    argumentNames: LIST_ARGUMENTS,
  },
  {
    name: 'describe_table',
    title: 'Describe a table',
    description: 'Shows the columns of one table with their types.',
    operationId: 'getManagedTable',
    id: 'table_id',
    argumentNames: [],
  },
  {
    name: 'query_rows',
    title: 'Query rows',
    description: 'Reads rows of one table, filtered, searched and sorted. For totals and averages, use query_metrics.',
    operationId: 'listManagedTableRows',
    id: 'table_id',
    argumentNames: ['filter', 'fields', 'sort_by', 'cursor', 'count', ...LIST_ARGUMENTS],
    argumentSchemas: { filter: filterSchema },
  },
];
