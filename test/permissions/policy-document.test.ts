import { describe, expect, test } from 'vitest';
import { ALL_ACTIONS } from '../../src/permissions/actions.ts';
import { POLICY_LIMITS, validateDocument } from '../../src/permissions/policy-document.ts';

const statement = { effect: 'Allow', actions: ['users:list'], resources: ['*'] };
const document = (...statements: unknown[]) => ({ version: '2024-01-01', statements });
const fields = (value: unknown): string[] => validateDocument(value).map((problem) => problem.field);

describe('the validation of a policy document', () => {
  test.each([
    [document(statement)],
    [document({ ...statement, effect: 'Deny', sid: 'no-users 1.a_B' })],
    [document({ ...statement, actions: ['*'] })],
    [document({ ...statement, actions: ['*:list', 'users:*', '*:List*', 'managed-tables:data-*'] })],
    [document({ ...statement, actions: ALL_ACTIONS })],
    [document({ ...statement, resources: ['arn:svc:users::0123456789abcdef01234567:user/*'] })],
    [document({ ...statement, resources: ['arn:svc:*', 'arn:*:user/*', '*:table/*', 'a*'] })],
    [
      document({
        ...statement,
        resources: ['arn:svc:iam:::policy/managed/ReadOnly', 'arn:svc:iam::c:policy/inline/Política'],
      }),
    ],
    [document(statement, { ...statement, sid: 'a' }, { ...statement, sid: 'b' })],
    [document(...Array.from({ length: 256 }, () => statement))],
  ])('accepts %j', (valid) => {
    expect(validateDocument(valid)).toEqual([]);
  });
});

describe('the validation of an invalid policy document', () => {
  test.each<[unknown, string[]]>([
    [null, ['document']],
    ['{}', ['document']],
    [[], ['document']],
    [{}, ['document.version', 'document.statements']],
    [{ version: '2012-10-17', statements: [statement] }, ['document.version']],
    [{ ...document(statement), id: 'x' }, ['document.id']],
    [document(), ['document.statements']],
    [{ version: '2024-01-01', statements: statement }, ['document.statements']],
    [document(...Array.from({ length: 257 }, () => statement)), ['document.statements']],
    [document('Allow'), ['document.statements.0']],
    [document({ ...statement, effect: 'allow' }), ['document.statements.0.effect']],
    [document({ ...statement, effect: undefined }), ['document.statements.0.effect']],
    [document({ ...statement, condition: {} }), ['document.statements.0.condition']],
    [document({ ...statement, notActions: ['users:list'] }), ['document.statements.0.notActions']],
    [document({ ...statement, actions: [] }), ['document.statements.0.actions']],
    [document({ ...statement, actions: 'users:list' }), ['document.statements.0.actions']],
    [document({ ...statement, resources: [] }), ['document.statements.0.resources']],
    [document({ effect: 'Allow' }), ['document.statements.0.actions', 'document.statements.0.resources']],
    [document({ ...statement, actions: ['users:list', 'users:fly'] }), ['document.statements.0.actions.1']],
    [document({ ...statement, actions: ['user:*'] }), ['document.statements.0.actions.0']],
    [
      document({ ...statement, actions: ['users:list ', 'USERS:LIST', '', 1, null] }),
      [0, 1, 2, 3, 4].map((i) => `document.statements.0.actions.${i}`),
    ],
    [document(statement, { ...statement, actions: ['*:fly'] }), ['document.statements.1.actions.0']],
    [
      document({ ...statement, resources: ['users/1', '', 'arn:aws:s3:::*', 'arn:svc', 'x*', 7] }),
      [0, 1, 2, 3, 4, 5].map((i) => `document.statements.0.resources.${i}`),
    ],
    [
      document({ ...statement, resources: ['arn:svc:a ', 'arn:svc:a\n', 'arn:svc:\u0000*'] }),
      [0, 1, 2].map((i) => `document.statements.0.resources.${i}`),
    ],
    [
      document({ ...statement, resources: [`arn:svc:${'a'.repeat(POLICY_LIMITS.pattern)}`] }),
      ['document.statements.0.resources.0'],
    ],
    [document({ ...statement, sid: '' }), ['document.statements.0.sid']],
    [document({ ...statement, sid: 'a'.repeat(129) }), ['document.statements.0.sid']],
    [document({ ...statement, sid: '<script>' }), ['document.statements.0.sid']],
    [document({ ...statement, sid: 5 }), ['document.statements.0.sid']],
    [document({ ...statement, sid: 'a' }, { ...statement, sid: 'a' }), ['document.statements.1.sid']],
    [document({ ...statement, actions: Array.from({ length: 257 }, () => '*') }), ['document.statements.0.actions']],
  ])('names each invalid member of %j', (invalid, expected) => {
    expect(fields(invalid)).toEqual(expected);
  });

  test('reports a bounded number of problems', () => {
    const bad = { effect: 'Allow', actions: Array.from({ length: 256 }, () => 'x'), resources: ['*'] };
    expect(validateDocument(document(bad, bad))).toHaveLength(POLICY_LIMITS.problems);
  });

  test('names members below the path that the caller passes', () => {
    expect(validateDocument(document(), 'body.document')[0]?.field).toBe('body.document.statements');
  });
});
