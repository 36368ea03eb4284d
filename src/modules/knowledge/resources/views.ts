import { z } from 'zod';
import { CHANGES, type Content, STATUSES, VALIDATION_CODES } from '../../../db/schema/knowledge-resources.ts';
import { makeView } from '../../../http/wire.ts';
import { timestampSchema } from '../../../kernel/fields.ts';
import type { Resource } from './reading.ts';
import type { VersionRow } from './store.ts';

const validationError = z
  .object({
    field: z.string(),
    code: z.enum(VALIDATION_CODES),
    message: z.string(),
  })
  .meta({ id: 'KnowledgeValidationError' });

/** The response with the number of requests to a model, and the tokens that they used. */
export const usageView = z.object({ requests: z.int(), prompt_tokens: z.int(), completion_tokens: z.int() });

/** The fields that every resource shows in addition to its own. */
const commonFields = {
  _id: z.string(),
  company_id: z.string(),
  status: z.enum(STATUSES),
  version: z.int().meta({ description: '1 when new; each change adds 1.' }),
  suggestion_id: z
    .string()
    .nullable()
    .meta({ description: 'The suggestion that this version came from; null when a person wrote it.' }),
  created_by_user_id: z.string(),
  updated_by_user_id: z.string(),
  created_at: timestampSchema,
  updated_at: timestampSchema,
};

/** Makes the schema of a resource with these fields of its own. */
export const makeRecordSchema = <F extends z.ZodRawShape>(fields: F) => z.object({ ...fields, ...commonFields });

export const validationErrors = z.array(validationError).meta({
  description: 'What does not fit the mapped tables as they are now; checked again whenever one of them changes.',
});

const viewCommonFields = makeView(z.object(commonFields));
export const viewResource = <C extends Content>({ content, ...row }: Resource<C>) => ({
  ...content,
  ...viewCommonFields(row),
});

/** The schema of one version of a resource. */
export const versionRecord = z
  .object({
    version: z.int(),
    change: z.enum(CHANGES),
    changed_by_user_id: z.string(),
    changed_at: timestampSchema,
    suggestion_id: z.string().nullable().meta({ description: 'The suggestion it came from.' }),
    resource: z.record(z.string(), z.unknown()).meta({ description: 'All fields as they were from then on.' }),
  })
  .meta({ id: 'KnowledgeVersion' });

const viewVersionRecord = makeView(versionRecord);
export const viewVersion = ({ content, status, ...row }: VersionRow) =>
  viewVersionRecord({ ...row, resource: { ...content, status } });
