import { describe, expect, test } from 'vitest';
import { isCommonPassword } from '../../src/kernel/passwords.ts';

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
