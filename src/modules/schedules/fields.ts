import { z } from 'zod';
import {
  CONDITION_OPS,
  RUN_KINDS,
  RUN_PROBLEMS,
  SCHEDULE_FORMATS,
  SCHEDULE_STATUSES,
} from '../../db/schema/schedules.ts';
import { displayNameSchema, email, timestampSchema } from '../../kernel/fields.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import { TARGET_TYPES } from '../../sharing/share-event.ts';
import { makeValuesBySlugField } from '../../sql-templates/fields.ts';
import type { Recipient } from './store.ts';

const MAX_RECIPIENTS = 50;
/** The maximum number of characters of the parameters, as JSON. */
const MAX_PARAMETERS_LENGTH = 16_000;

const EXACTLY_ONE_MEMBER = { minProperties: 1, maxProperties: 1 };
const RECIPIENT_DESCRIPTIONS = {
  user: 'A user, who is sent what they may see.',
  email:
    'The email address of a member of a share context that grants the target, who is sent what the context lets them see. An address that is no user’s gets its first email only after it has agreed, by the link that it is mailed once or by signing in to the portal, and at most 50 scheduled emails a day from all companies.',
};

const recipientInput = z
  .object({
    user_id: z.string().min(1).max(100).optional().meta({ description: RECIPIENT_DESCRIPTIONS.user }),
    email: email.optional().meta({ description: RECIPIENT_DESCRIPTIONS.email }),
  })
  .refine(({ user_id, email: address }) => user_id !== undefined || address !== undefined, 'must hold user_id or email')
  .refine(({ user_id, email: address }) => user_id === undefined || address === undefined, {
    message: 'must hold exactly one of user_id and email',
  })
  .meta(EXACTLY_ONE_MEMBER);

/** A recipient in the API's responses. */
export const recipientView = z
  .object({ user_id: z.string().optional(), email: z.string().optional() })
  .meta({ id: 'ScheduleRecipient', ...EXACTLY_ONE_MEMBER });

const recipientsInput = z
  .array(recipientInput)
  .min(1)
  .max(MAX_RECIPIENTS)
  .superRefine((recipientList, context) => {
    const seenRecipients = new Set<string>();
    for (const [at, { user_id, email: address }] of recipientList.entries()) {
      const name = user_id ?? address ?? '';
      if (seenRecipients.has(name)) context.addIssue({ code: 'custom', path: [at], message: 'is in the list already' });
      seenRecipients.add(name);
    }
  });

const conditionInput = z
  .object({
    visualization_id: z.string().regex(ID_PATTERN, 'must be the id of a visualization'),
    column: z.string().min(1).max(200),
    op: z.enum(CONDITION_OPS),
    value: z.union([z.string().max(1000), z.number(), z.boolean(), z.null()]).default(null),
  })
  .superRefine(({ op, value }, context) => {
    const addValueIssue = (message: string) => context.addIssue({ code: 'custom', path: ['value'], message });
    if (op === 'changed' && value !== null) addValueIssue('must be null or left out with changed');
    if (op !== 'changed' && value === null) addValueIssue('is required: what to compare with');
  })
  .meta({
    id: 'ScheduleCondition',
    description:
      'A recipient is sent an email only if the condition holds for the data that they may see: a comparison must hold in at least one row of the result; `changed` holds if the values of the column differ from the previous run, so never on the first run, and cannot be judged where a result without `ORDER BY` was cut. Dates and times are ISO 8601, compared to the microsecond; without an offset they are UTC.',
  });

export const scheduleFields = {
  name: displayNameSchema,
  target_type: z.enum(TARGET_TYPES),
  target_id: z.string().min(1).max(100),
  parameters: makeValuesBySlugField('Values of filters or parameters, by slug.').refine(
    (values) => JSON.stringify(values).length <= MAX_PARAMETERS_LENGTH,
    `must have at most ${MAX_PARAMETERS_LENGTH} characters as JSON`,
  ),
  cron: z
    .string()
    .trim()
    .max(100)
    .meta({
      description:
        'Five fields: minute, hour, day of the month, month, day of the week, in `time_zone`. A day that either of the day fields names is meant, but both must name it where one begins with `*` (`*/2`), as in Vixie cron. Runs must be at least 15 minutes apart. When the clocks change, a time that is skipped runs right after the gap, and a time that occurs twice runs the first time; schedules with `*` or a step keep their interval.',
      examples: ['0 8 * * 1-5'],
    }),
  time_zone: z
    .string()
    .min(1)
    .max(64)
    .meta({ description: 'The name of an IANA time zone.', examples: ['America/Sao_Paulo'] }),
  recipients: recipientsInput,
  format: z.enum(SCHEDULE_FORMATS).meta({
    description:
      '`summary`: the numbers and first rows of each widget. `csv`, `xlsx`: one file for each table on the target, or for each widget of a dashboard without tables; at most 10 MiB together, or what the mail service accepts. Of a file that is too large, the email shows the first rows and a link.',
  }),
  condition: conditionInput.nullable(),
  status: z.enum(SCHEDULE_STATUSES),
};

export const newScheduleInput = z.object({
  ...scheduleFields,
  parameters: scheduleFields.parameters.default({}),
  time_zone: scheduleFields.time_zone.default('UTC'),
  format: scheduleFields.format.default('summary'),
  condition: scheduleFields.condition.default(null),
  status: scheduleFields.status.default('active'),
});

export const scheduleChangesInput = z.object(scheduleFields).partial();

type SentScheduleFields = z.output<z.ZodObject<typeof scheduleFields>>;

export const toRecipient = ({ user_id, email: address }: SentScheduleFields['recipients'][number]): Recipient =>
  user_id === undefined ? { kind: 'email', subject: address ?? '' } : { kind: 'user', subject: user_id };

export const lastRunView = z
  .object({
    id: z.string(),
    kind: z.enum(RUN_KINDS),
    occurrence: timestampSchema.meta({ description: 'The time that the run was due.' }),
    ended_at: timestampSchema,
    status: z.enum(['done', 'failed']).meta({ description: '`failed`: an email was due, and none was sent.' }),
    sent: z.int(),
    skipped: z.int(),
    failed: z.int(),
    problems: z.array(z.enum(RUN_PROBLEMS)).meta({
      description:
        'The reasons why recipients got no email, or no files because these are too large (`files_too_large`), each once. `not_agreed`: an address has not agreed yet; `too_many_mails`: an address had its 50 emails of the day; `quota_exceeded`: the organization had those of its quota.',
    }),
  })
  .meta({ id: 'ScheduleRun' });
