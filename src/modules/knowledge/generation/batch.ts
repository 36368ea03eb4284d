import type { CompanyContext } from '../../../context.ts';
import type { AiSettings, AiUsage } from '../../../platform/ai.ts';
import { type NewSuggestion, type Rationale, readRationale } from '../suggestions/service.ts';
import type { JobRow } from './store.ts';

export interface BatchInput {
  ctx: CompanyContext;
  settings: AiSettings;
  job: JobRow;
  /** Is increased by every question to the model, also when the batch fails. */
  usage: AiUsage;
}

export interface BatchResult {
  suggestions: NewSuggestion[];
  /** The number of the model's candidates that were not valid. */
  rejected: number;
  /** The number of existing concepts that the prompt left out. */
  conceptsNotSent?: number;
}

/** The columns for the origin of a job's suggestion. @param candidateKey unique within the job */
export const toOrigin = ({ id, createdByUserId, requestId }: JobRow, candidateKey: string) => ({
  createdByUserId,
  requestId,
  jobId: id,
  candidateKey,
});

/** The stored text of the job is gone. */
export class SourceMissing extends Error {}

/** The rationale of a candidate; undefined when it is not valid. */
export function toRationale(candidate: unknown): Rationale | undefined {
  try {
    return readRationale(candidate);
  } catch {
    return undefined;
  }
}

/** The fields of a candidate, without those that the model left null. */
export const withoutNulls = (candidate: unknown): Record<string, unknown> =>
  Object.fromEntries(Object.entries(candidate ?? {}).filter(([, value]) => value !== null && value !== undefined));
