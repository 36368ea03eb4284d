import { z } from 'zod';
import { administratorsOnly, peopleOnly } from '../../../access/failures.ts';
import { ok, prepared } from '../../../http/endpoint.ts';
import { endpoint } from '../../../http/surfaces/console.ts';
import { email } from '../../../kernel/fields.ts';
import { MEDIA_TYPES, streamText } from '../../../kernel/files.ts';
import { userActive } from '../failures.ts';
import { erasePerson, readOwnPersonalData, readPersonalData } from './people.ts';

const data = z
  .object({
    email: z.string(),
    records: z
      .array(
        z.object({
          kind: z.string().meta({ examples: ['users', 'sessions', 'audit_records', 'named_in'] }),
          record: z.record(z.string(), z.unknown()),
        }),
      )
      .meta({ description: 'Grouped by kind. `named_in`: where somebody else’s record names the person.' }),
  })
  .meta({ id: 'PersonalData' });

export const personalDataEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/personal-data',
      recordedAs: 'personal-data:get',
      access: 'authenticated',
      operationId: 'getPersonalData',
      summary: 'Get what is kept about a person',
      description:
        'As user, outsider, recipient or invited, in every store of the company, without secrets. With `email`: of anybody, for administrators. Without: the caller’s own. Rows of managed tables are not searched.',
      query: z.strictObject({ email: email.optional() }),
      returns: prepared(data),
      fails: [administratorsOnly, peopleOnly],
    },
    async ({ ctx, query }) =>
      streamText(
        query.email === undefined ? await readOwnPersonalData(ctx) : await readPersonalData(ctx, query.email),
        {
          'Content-Type': MEDIA_TYPES.json,
        },
      ),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/personal-data',
      recordedAs: 'personal-data:delete',
      access: 'authenticated',
      only: 'administrators',
      operationId: 'erasePersonalData',
      summary: 'Erase a person',
      description:
        'What is about the person is deleted; where others rely on it (audit records, share events, who made what), a pseudonym takes the place of ids and address, and IP addresses and browsers go, archived days included. A user must be inactive or deleted before. May take minutes where the log is long; broken off, it can be repeated.',
      query: z.strictObject({ email }),
      returns: ok(
        z.object({
          erased: z
            .record(z.string(), z.int())
            .meta({ description: 'How many records of each kind were deleted or changed.' }),
        }),
      ),
      fails: [userActive],
    },
    async ({ ctx, query }) => ({ erased: await erasePerson(ctx, query.email) }),
  ),
];
