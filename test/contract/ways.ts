import { NAMED_RESOURCE_WAYS } from './ways/access.ts';
import { MCP_WAYS } from './ways/agents.ts';
import { DIRECTORY_WAYS } from './ways/directories.ts';
import { KNOWLEDGE_WAYS } from './ways/knowledge.ts';
import { SCHEDULE_WAYS } from './ways/schedules.ts';
import { SHARING_WAYS } from './ways/sharing.ts';
import { SHOWING_WAYS } from './ways/showing.ts';
import { TABLE_WAYS } from './ways/tables.ts';
import type { AccessPath } from './ways/way.ts';
import { WRITE_RESPONSE_PATHS } from './writes.ts';

/** Every way to a protected thing that its declaration does not say: by a body, a query, another thing, a job or an answer. */
export const ACCESS_PATHS: AccessPath[] = [
  ...SHOWING_WAYS,
  ...SHARING_WAYS,
  ...SCHEDULE_WAYS,
  ...NAMED_RESOURCE_WAYS,
  ...TABLE_WAYS,
  ...KNOWLEDGE_WAYS,
  ...MCP_WAYS,
  ...DIRECTORY_WAYS,
  ...WRITE_RESPONSE_PATHS,
];
