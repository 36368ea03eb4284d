import { LIST_ARGUMENTS, type Tool } from '../../http/mcp/tools.ts';

/** The MCP tools by which agents list and compute metrics, ask questions in plain language, and look up business terms. */
export const knowledgeTools: readonly Tool[] = [
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
  {
    name: 'query_metrics',
    title: 'Query metrics',
    description: 'Computes metrics, grouped by dimensions. Use the names or ids that list_metrics returns.',
    operationId: 'queryMetrics',
    argumentNames: ['metrics', 'dimensions', 'filters', 'time_grain', 'order_by', 'limit'],
    bodyArgument: 'query',
  },
  {
    name: 'ask',
    title: 'Ask',
    description:
      'Answers a question in plain language with the available metrics and dimensions, or says what it could mean. To write the query yourself, use query_metrics.',
    operationId: 'askQuestion',
    argumentNames: ['question', 'execute'],
  },
  {
    name: 'search_concepts',
    title: 'Search concepts',
    description: 'Finds business terms and what they mean, by part of a name, description or alias.',
    operationId: 'listConcepts',
    argumentNames: LIST_ARGUMENTS,
    aliases: { query: 'search' },
    fixedParameters: { status: 'active' },
  },
];
