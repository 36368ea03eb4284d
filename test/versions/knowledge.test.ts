import { describeVersions } from './held.ts';
import { KNOWLEDGE_KINDS } from './kinds.ts';

describeVersions(KNOWLEDGE_KINDS);
