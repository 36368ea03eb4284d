import type { Tool } from '../../../http/mcp/tools.ts';

/** The MCP tool by which agents ask questions in plain language. */
export const askTools: readonly Tool[] = [
  {
    name: 'ask',
    title: 'Ask',
    description:
      'Answers a question in plain language with the available metrics and dimensions, or says what it could mean. To write the query yourself, use query_metrics.',
    operationId: 'askQuestion',
    argumentNames: ['question', 'execute'],
  },
];
