import { z } from 'zod';
import { isAllowedOnAll } from '../../../access/requirements.ts';
import type { PrincipalContext } from '../../../context.ts';
import { QUESTION_STATUSES } from '../../../db/schema/knowledge-questions.ts';
import { viewBy } from '../../../http/wire.ts';
import { timestamp } from '../../../kernel/fields.ts';
import { metricQuery } from '../metrics/query.ts';
import { parseStoredQuery, type QuestionRow } from './service.ts';

export const questionRecord = z
  .object({
    _id: z.string(),
    company_id: z.string(),
    question: z.string(),
    query: metricQuery,
    status: z.enum(QUESTION_STATUSES).meta({
      description: '`stale`: the query does not compile any more. It is verified again once it does.',
    }),
    stale_reason: z.string().nullable(),
    verified_by: z.string().meta({ description: 'The user or service account.' }),
    verified_at: timestamp,
    last_checked_at: timestamp.meta({ description: 'When its query was last compiled.' }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'VerifiedQuestion' });

/** The reason that replaces one which may name a table that the caller may not see. */
const GENERIC_REASON = 'The query does not compile any more.';

/** A question as the caller may read it: it says why it is stale only to callers who may see all tables. */
export const viewQuestionFor =
  ({ actor }: PrincipalContext) =>
  (row: QuestionRow): z.input<typeof questionRecord> => {
    const isTold = row.staleReason === null || isAllowedOnAll(actor, 'managed-tables:list');
    return viewQuestion(isTold ? row : { ...row, staleReason: GENERIC_REASON });
  };

const viewQuestionRecord = viewBy(questionRecord);
const viewQuestion = (row: QuestionRow) => viewQuestionRecord({ ...row, query: parseStoredQuery(row) });
