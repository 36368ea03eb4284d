import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { literal, plainJson, writeYaml } from '../../../src/formats/yaml/write.ts';

/** What readers of YAML 1.1 take for something else, where it stands without quotes, or for the end of a line. */
const TEXTS = [
  ...['No', 'no', 'yes', 'ON', 'off', 'y', 'n', 'True', 'null', 'Null', '~', '', '=', '<<', 'true'],
  ...['2024-01-01', '2024-01-01T10:00:00Z', '2001-12-14 21:59:43.10 -5', '1:30', '190:20:30', '1:30.5'],
  ...['012', '0o12', '0x1F', '0b101', '1_000', '685_230.15', '1e3', '.5', '5.', '.inf', '-.INF', '.NaN', '12', '+7'],
  ...[
    '- a',
    '? a',
    'a: b',
    'a #b',
    '*a',
    '&a',
    '!a',
    '%a',
    '@a',
    '`a',
    '{a',
    '[a',
    "it's",
    '"a"',
    ' a ',
    'a\tb',
    '---',
  ],
  ...[
    'a\nb',
    'a\n\n  b\n',
    '\n',
    'a\r\nb',
    'a\u0085b',
    'a\u2028b',
    'a\u007fb',
    '\ufeffa',
    'a\u0000b',
    'a\ufffeb',
    '\\',
    '❤ 🏠',
  ],
];
const VALUE = {
  texts: TEXTS,
  pairs: TEXTS.map((name) => ({ name, is: true, count: 3, none: null })),
  data: plainJson(TEXTS),
};
const WRITTEN = writeYaml({ ...VALUE, data: literal(VALUE.data) });

const python = spawnSync('python3', ['-c', 'import yaml']).status === 0;

describe('written YAML', () => {
  it.each(['1.1', '1.2'] as const)('is parsed to the same values by a reader of YAML %s', (version) => {
    expect(parse(WRITTEN, { version })).toEqual(VALUE);
    expect(JSON.parse(parse(WRITTEN, { version }).data)).toEqual(TEXTS);
  });

  it.skipIf(!python)('is parsed to the same values by PyYAML', () => {
    const script = 'import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin.buffer.read()), sys.stdout)';
    const { stdout, stderr } = spawnSync('python3', ['-c', script], { input: WRITTEN, encoding: 'utf8' });
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual(VALUE);
  });
});
