import { describeVersions } from './held.ts';
import { KNOWLEDGE } from './kinds.ts';

describeVersions(KNOWLEDGE);
