import { z } from 'zod';
import { isAllowedOnAll } from '../../../access/requirements.ts';
import type { PrincipalContext } from '../../../context.ts';
import { QUESTION_STATUSES } from '../../../db/schema/knowledge-questions.ts';
import { makeView } from '../../../http/wire.ts';
import { timestampSchema } from '../../../kernel/fields.ts';
import { metricQuery } from '../metrics/query.ts';
import { parseStoredQuery } from './question.ts';
import type { QuestionRow } from './store.ts';

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
    verified_at: timestampSchema,
    last_checked_at: timestampSchema.meta({ description: 'When its query was last compiled.' }),
    created_at: timestampSchema,
    updated_at: timestampSchema,
  })
  .meta({ id: 'VerifiedQuestion' });

/** The reason shown instead of one that may name a table hidden from the caller. */
const GENERIC_REASON = 'The query does not compile any more.';

/** Returns a question as the caller may read it: why it is stale is only shown to callers who may see all tables. */
export const viewQuestionFor =
  ({ actor }: PrincipalContext) =>
  (row: QuestionRow): z.input<typeof questionRecord> => {
    const isReasonVisible = row.staleReason === null || isAllowedOnAll(actor, 'managed-tables:list');
    return viewQuestion(isReasonVisible ? row : { ...row, staleReason: GENERIC_REASON });
  };

const viewQuestionRecord = makeView(questionRecord);
const viewQuestion = (row: QuestionRow) => viewQuestionRecord({ ...row, query: parseStoredQuery(row) });
