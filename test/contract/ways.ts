import { NAMED } from './ways/access.ts';
import { AGENTS } from './ways/agents.ts';
import { DIRECTORIES } from './ways/directories.ts';
import { KNOWLEDGE } from './ways/knowledge.ts';
import { SCHEDULED } from './ways/schedules.ts';
import { SHARED } from './ways/sharing.ts';
import { SHOWING } from './ways/showing.ts';
import { TABLES } from './ways/tables.ts';
import type { Way } from './ways/way.ts';
import { ANSWERS } from './writes.ts';

/** Every way to a protected thing that its declaration does not say: by a body, a query, another thing, a job or an answer. */
export const WAYS: Way[] = [
  ...SHOWING,
  ...SHARED,
  ...SCHEDULED,
  ...NAMED,
  ...TABLES,
  ...KNOWLEDGE,
  ...AGENTS,
  ...DIRECTORIES,
  ...ANSWERS,
];
