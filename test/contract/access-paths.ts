import { NAMED_RESOURCE_PATHS } from './access-paths/access.ts';
import type { AccessPath } from './access-paths/access-path.ts';
import { MCP_PATHS } from './access-paths/agents.ts';
import { DIRECTORY_PATHS } from './access-paths/directories.ts';
import { KNOWLEDGE_PATHS } from './access-paths/knowledge.ts';
import { RESULT_PATHS } from './access-paths/results.ts';
import { SCHEDULE_PATHS } from './access-paths/schedules.ts';
import { SHARING_PATHS } from './access-paths/sharing.ts';
import { TABLE_PATHS } from './access-paths/tables.ts';
import { WRITE_RESPONSE_PATHS } from './writes.ts';

/**
 * All access paths to protected resources that a route does not declare: by a body, a query, another resource, a job or an
 * answer.
 */
export const ACCESS_PATHS: AccessPath[] = [
  ...RESULT_PATHS,
  ...SHARING_PATHS,
  ...SCHEDULE_PATHS,
  ...NAMED_RESOURCE_PATHS,
  ...TABLE_PATHS,
  ...KNOWLEDGE_PATHS,
  ...MCP_PATHS,
  ...DIRECTORY_PATHS,
  ...WRITE_RESPONSE_PATHS,
];
