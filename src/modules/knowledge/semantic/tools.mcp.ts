import { LIST_ARGUMENTS, type Tool } from '../../../http/mcp/tools.ts';

/** The MCP tool by which agents list the metrics that they may compute. */
export const semanticTools: readonly Tool[] = [
  {
    name: 'list_metrics',
    title: 'List metrics',
    description:
      'Lists the metrics that query_metrics can compute. With `kind` "dimension", lists the dimensions to group and filter them by.',
    operationId: 'listSemanticItems',
    argumentNames: ['kind', ...LIST_ARGUMENTS],
    allowedValues: { kind: ['metric', 'dimension'] },
    defaultParameters: { kind: 'metric' },
    fixedParameters: { status: 'active' },
  },
];
