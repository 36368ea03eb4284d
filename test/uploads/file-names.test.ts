import { describe, expect, it } from 'vitest';
import { toSafeFileName, toSafePath } from '../../src/modules/uploads/receive.ts';

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

describe('the path of a file in an archive', () => {
  it.each([
    ['dados.csv', 'dados.csv'],
    ['fev/dados.csv', 'fev/dados.csv'],
    ['fev\\2024\\dados.csv', 'fev/2024/dados.csv'],
    ['/fe\u0000v//evil\u202Evsc.csv', 'fev/evilvsc.csv'],
  ])('%j is kept as %j', (givenName, expected) => {
    expect(toSafePath(givenName)).toBe(expected);
  });

  it('has only the last folders if it is long', () => {
    const folder = 'x'.repeat(300);
    expect(toSafePath(`${`${folder}/`.repeat(200)}a.csv`)).toBe(`${`${'x'.repeat(255)}/`.repeat(3)}a.csv`);
  });
});
