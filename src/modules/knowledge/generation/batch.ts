import type { CompanyContext } from '../../../context.ts';
import type { AiSettings, AiUsage } from '../../../platform/ai.ts';
import { type Rationale, rationale } from '../suggestions/model-answers.ts';
import type { NewSuggestion } from '../suggestions/store.ts';
import type { JobRow } from './store.ts';

export interface BatchInput {
  ctx: CompanyContext;
  settings: AiSettings;
  job: JobRow;
  /** The AI usage, increased by every request to the model, also when the batch fails. */
  usage: AiUsage;
}

export interface BatchResult {
  suggestions: NewSuggestion[];
  /** The number of the model's candidates that were not valid. */
  rejectedCount: number;
  /** The number of existing concepts that the prompt left out. */
  conceptsNotSent?: number;
}

/** Returns the columns for the origin of a job's suggestion. @param candidateKey unique within the job */
export const toOrigin = ({ id, createdByUserId, requestId }: JobRow, candidateKey: string) => ({
  createdByUserId,
  requestId,
  jobId: id,
  candidateKey,
});

/** The error when the stored text of the job is missing. */
export class SourceMissingError extends Error {}

/** Parses the rationale of a candidate; undefined when it is not valid. */
export const parseRationale = (candidate: unknown): Rationale | undefined => rationale.safeParse(candidate).data;

/** Returns the fields of a candidate, without those that the model left null. */
export const omitNulls = (candidate: unknown): Record<string, unknown> =>
  Object.fromEntries(Object.entries(candidate ?? {}).filter(([, value]) => value !== null && value !== undefined));
