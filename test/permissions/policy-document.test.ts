import { describe, expect, test } from 'vitest';
import { ALL_ACTIONS } from '../../src/permissions/actions.ts';
import { findDocumentProblems, POLICY_LIMITS } from '../../src/permissions/policy-document.ts';

const statement = { effect: 'Allow', actions: ['users:list'], resources: ['*'] };
const makeDocument = (...statements: unknown[]) => ({ version: '2024-01-01', statements });
const listFields = (value: unknown): string[] => findDocumentProblems(value).map((problem) => problem.field);

test.each([
  [makeDocument(statement)],
  [makeDocument({ ...statement, effect: 'Deny', sid: 'no-users 1.a_B' })],
  [makeDocument({ ...statement, actions: ['*'] })],
  [makeDocument({ ...statement, actions: ['*:list', 'users:*', '*:List*', 'managed-tables:data-*'] })],
  [makeDocument({ ...statement, actions: ALL_ACTIONS })],
  [makeDocument({ ...statement, resources: ['arn:svc:users::0123456789abcdef01234567:user/*'] })],
  [makeDocument({ ...statement, resources: ['arn:svc:*', 'arn:*:user/*', '*:table/*', 'a*'] })],
  [
    makeDocument({
      ...statement,
      resources: ['arn:svc:iam:::policy/managed/ReadOnly', 'arn:svc:iam::c:policy/inline/Política'],
    }),
  ],
  [makeDocument(statement, { ...statement, sid: 'a' }, { ...statement, sid: 'b' })],
  [makeDocument(...Array.from({ length: 256 }, () => statement))],
])('the validation of a policy document accepts %j', (validDocument) => {
  expect(findDocumentProblems(validDocument)).toEqual([]);
});

describe('the validation of an invalid policy document', () => {
  test.each<[unknown, string[]]>([
    [null, ['document']],
    ['{}', ['document']],
    [[], ['document']],
    [{}, ['document.version', 'document.statements']],
    [{ version: '2012-10-17', statements: [statement] }, ['document.version']],
    [{ ...makeDocument(statement), id: 'x' }, ['document.id']],
    [makeDocument(), ['document.statements']],
    [{ version: '2024-01-01', statements: statement }, ['document.statements']],
    [makeDocument(...Array.from({ length: 257 }, () => statement)), ['document.statements']],
    [makeDocument('Allow'), ['document.statements.0']],
    [makeDocument({ ...statement, effect: 'allow' }), ['document.statements.0.effect']],
    [makeDocument({ ...statement, effect: undefined }), ['document.statements.0.effect']],
    [makeDocument({ ...statement, condition: {} }), ['document.statements.0.condition']],
    [makeDocument({ ...statement, notActions: ['users:list'] }), ['document.statements.0.notActions']],
    [makeDocument({ ...statement, actions: [] }), ['document.statements.0.actions']],
    [makeDocument({ ...statement, actions: 'users:list' }), ['document.statements.0.actions']],
    [makeDocument({ ...statement, resources: [] }), ['document.statements.0.resources']],
    [makeDocument({ effect: 'Allow' }), ['document.statements.0.actions', 'document.statements.0.resources']],
    [makeDocument({ ...statement, actions: ['users:list', 'users:fly'] }), ['document.statements.0.actions.1']],
    [makeDocument({ ...statement, actions: ['user:*'] }), ['document.statements.0.actions.0']],
    [
      makeDocument({ ...statement, actions: ['users:list ', 'USERS:LIST', '', 1, null] }),
      [0, 1, 2, 3, 4].map((i) => `document.statements.0.actions.${i}`),
    ],
    [makeDocument(statement, { ...statement, actions: ['*:fly'] }), ['document.statements.1.actions.0']],
    [
      makeDocument({ ...statement, resources: ['users/1', '', 'arn:aws:s3:::*', 'arn:svc', 'x*', 7] }),
      [0, 1, 2, 3, 4, 5].map((i) => `document.statements.0.resources.${i}`),
    ],
    [
      makeDocument({ ...statement, resources: ['arn:svc:a ', 'arn:svc:a\n', 'arn:svc:\u0000*'] }),
      [0, 1, 2].map((i) => `document.statements.0.resources.${i}`),
    ],
    [
      makeDocument({ ...statement, resources: [`arn:svc:${'a'.repeat(POLICY_LIMITS.pattern)}`] }),
      ['document.statements.0.resources.0'],
    ],
    [makeDocument({ ...statement, sid: '' }), ['document.statements.0.sid']],
    [makeDocument({ ...statement, sid: 'a'.repeat(129) }), ['document.statements.0.sid']],
    [makeDocument({ ...statement, sid: '<script>' }), ['document.statements.0.sid']],
    [makeDocument({ ...statement, sid: 5 }), ['document.statements.0.sid']],
    [makeDocument({ ...statement, sid: 'a' }, { ...statement, sid: 'a' }), ['document.statements.1.sid']],
    [
      makeDocument({ ...statement, actions: Array.from({ length: 257 }, () => '*') }),
      ['document.statements.0.actions'],
    ],
  ])('names each invalid member of %j', (invalid, expected) => {
    expect(listFields(invalid)).toEqual(expected);
  });

  test('reports a bounded number of problems', () => {
    const invalidStatement = { effect: 'Allow', actions: Array.from({ length: 256 }, () => 'x'), resources: ['*'] };
    expect(findDocumentProblems(makeDocument(invalidStatement, invalidStatement))).toHaveLength(POLICY_LIMITS.problems);
  });

  test('names members below the path that the caller passes', () => {
    expect(findDocumentProblems(makeDocument(), 'body.document')[0]?.field).toBe('body.document.statements');
  });
});
