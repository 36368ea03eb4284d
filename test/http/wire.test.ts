import { expect, it } from 'vitest';
import { z } from 'zod';
import { makeView, toBodyFields } from '../../src/http/wire.ts';

const viewRecord = makeView(
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
  const recordView = viewRecord(record);
  expect(recordView).toStrictEqual({
    _id: '1',
    organization_id: 'c',
    require_2fa: true,
    used_at: '1970-01-01T00:00:00.000Z',
  });
});

it('a view leaves a time unchanged that is null or already a text', () => {
  expect(viewRecord({ ...record, usedAt: null }).used_at).toBeNull();
  expect(viewRecord({ ...record, usedAt: '2026-01-31T12:00:00Z' }).used_at).toBe('2026-01-31T12:00:00Z');
});

it("a request body is read under the code's camel-case names", () => {
  expect(toBodyFields({ _id: '1', account_id: 'a', require_2fa: false, name: undefined })).toStrictEqual({
    id: '1',
    accountId: 'a',
    require2fa: false,
    name: undefined,
  });
});
