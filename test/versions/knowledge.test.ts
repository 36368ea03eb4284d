import { describeVersions } from './describe-versions.ts';
import { KNOWLEDGE_KINDS } from './kinds.ts';

describeVersions(KNOWLEDGE_KINDS);
