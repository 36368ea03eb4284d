import { LIST_ARGUMENTS, type Tool } from '../../../http/mcp/tools.ts';

/** The MCP tool by which agents look up business terms. */
export const conceptTools: readonly Tool[] = [
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
