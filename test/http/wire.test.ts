import { expect, it } from 'vitest';
import { z } from 'zod';
import { toBodyFields, viewBy } from '../../src/http/wire.ts';

const view = viewBy(
  z.object({
    _id: z.string(),
    organization_id: z.string(),
    require_2fa: z.boolean(),
    used_at: z.string().nullable(),
    note: z.string().optional(),
  }),
);
const record = { id: '1', companyId: 'c', require2fa: true, usedAt: 0, secretDigest: 'a digest' };

it('a view shows only the fields of its schema, in snake case, and times as ISO 8601', () => {
  const shown = view(record);
  expect(shown).toStrictEqual({
    _id: '1',
    organization_id: 'c',
    require_2fa: true,
    used_at: '1970-01-01T00:00:00.000Z',
  });
});

it('a view shows a time that is null or already a text as it is', () => {
  expect(view({ ...record, usedAt: null }).used_at).toBeNull();
  expect(view({ ...record, usedAt: '2026-01-31T12:00:00Z' }).used_at).toBe('2026-01-31T12:00:00Z');
});

it('a request body is read under the camel-case names of the code', () => {
  expect(toBodyFields({ _id: '1', account_id: 'a', require_2fa: false, name: undefined })).toStrictEqual({
    id: '1',
    accountId: 'a',
    require2fa: false,
    name: undefined,
  });
});
