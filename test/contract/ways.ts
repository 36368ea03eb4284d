import { NAMED_RESOURCE_PATHS } from './ways/access.ts';
import { MCP_PATHS } from './ways/agents.ts';
import { DIRECTORY_PATHS } from './ways/directories.ts';
import { KNOWLEDGE_PATHS } from './ways/knowledge.ts';
import { SCHEDULE_PATHS } from './ways/schedules.ts';
import { SHARING_PATHS } from './ways/sharing.ts';
import { RESULT_PATHS } from './ways/showing.ts';
import { TABLE_PATHS } from './ways/tables.ts';
import type { AccessPath } from './ways/way.ts';
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
