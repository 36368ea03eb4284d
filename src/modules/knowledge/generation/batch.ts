import type { CompanyContext } from '../../../context.ts';
import type { AiSettings, AiUsage } from '../../../platform/ai.ts';
import type { Candidate } from '../suggestions/service.ts';
import type { JobRow } from './store.ts';

/** What one batch works with. */
export interface BatchTurn {
  ctx: CompanyContext;
  settings: AiSettings;
  job: JobRow;
  /** Counts what the model was asked, also when the batch fails. */
  usage: AiUsage;
}

/** What came of one batch. */
export interface Batch {
  rows: Candidate[];
  /** Candidates that were dropped. */
  rejected: number;
}

/** A batch whose material is gone. */
export class SourceGone extends Error {}
