import type { Tool } from '../../../http/mcp/tools.ts';

/** The MCP tool by which agents compute metrics. */
export const metricTools: readonly Tool[] = [
  {
    name: 'query_metrics',
    title: 'Query metrics',
    description: 'Computes metrics, grouped by dimensions. Use the names or ids that list_metrics returns.',
    operationId: 'queryMetrics',
    argumentNames: ['metrics', 'dimensions', 'filters', 'time_grain', 'order_by', 'limit'],
    bodyArgument: 'query',
  },
];
