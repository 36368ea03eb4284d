import { describe, expect, test } from 'vitest';
import { makeNewPasswordField, signInPasswordField } from '../../src/modules/users/fields.ts';
import { isCommonPassword } from '../../src/modules/users/passwords.ts';

describe('common passwords', () => {
  test.each(['123456', 'password', 'Password', 'PASSWORD1', 'qwertyuiop', 'iloveyou', 'trustno1', 'letmein'])(
    'include %s',
    (password) => {
      expect(isCommonPassword(password)).toBe(true);
    },
  );

  test.each(['correct horse battery staple', 'vK3#pQz81!mm', 'password of somebody', ' password', 'pássword'])(
    'do not include %j',
    (password) => {
      expect(isCommonPassword(password)).toBe(false);
    },
  );
});

test.each([
  ['chosen', makeNewPasswordField(8)],
  ['tried', signInPasswordField],
])('a password that is much too long is not normalized, which would take quadratic time: %s', (_what, schema) => {
  const password = `a${'\u0301'.repeat(2_000)}${'\u0323'.repeat(2_000)}`;
  const { normalize } = String.prototype;
  let longestLength = 0;
  String.prototype.normalize = function (this: string, form) {
    longestLength = Math.max(longestLength, this.length);
    return normalize.call(this, form);
  };
  try {
    expect(schema.safeParse(password).error?.issues).toMatchObject([{ message: 'must have at most 128 characters' }]);
  } finally {
    String.prototype.normalize = normalize;
  }
  expect(longestLength).toBeLessThanOrEqual(1_024);
});
