import { describe, expect, it } from 'vitest';
import { toSafeFileName } from '../../src/modules/uploads/receive.ts';

describe('the name of an uploaded file', () => {
  it.each([
    ['vendas.csv', 'vendas.csv'],
    ['../../etc/passwd.csv', 'passwd.csv'],
    ['C:\\Users\\eu\\vendas.csv', 'vendas.csv'],
    ['a\u0000b\r\n.csv', 'ab.csv'],
    ['evil\u202Evsc.exe.csv', 'evilvsc.exe.csv'],
    ['数据.csv', '数据.csv'],
    ['cafe\u0301.csv', 'café.csv'],
    ['pasta/', ''],
  ])('%j is kept as %j', (fileName, expected) => {
    expect(toSafeFileName(fileName)).toBe(expected);
  });

  it('is cut to 255 characters, which include its extension', () => {
    expect(toSafeFileName(`a${'\u0301'.repeat(40)}.csv`)).toBe(`á${'\u0301'.repeat(29)}.csv`);
    const name = toSafeFileName(`${'😀'.repeat(1000)}.csv`);
    expect(Array.from(name)).toHaveLength(255);
    expect(name.endsWith('😀.csv')).toBe(true);
  });
});
