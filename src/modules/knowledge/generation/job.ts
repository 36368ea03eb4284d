import type { BusinessDomain } from '../business-domains/domain.ts';

/** Text that a job reads, kept in R2 until the job ends. */
export interface JobSource {
  key: string;
  /** Where each batch begins, in bytes, and where the last one ends. */
  offsets: number[];
}

/** What a job was given, as it was when it was asked for. */
export interface JobInput {
  businessDomains?: BusinessDomain[];
  connectionId?: string;
  /** Base name of the file that was sent. */
  fileName?: string;
  source?: JobSource;
}
