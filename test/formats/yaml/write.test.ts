import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { formatPlainJson, makeTextScalar, writeYaml } from '../../../src/formats/yaml/write.ts';

/** Texts that YAML 1.1 readers take for another type, or for the end of a line, if they are not quoted. */
const AMBIGUOUS_TEXTS = [
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
const SAMPLE_VALUE = {
  texts: AMBIGUOUS_TEXTS,
  pairs: AMBIGUOUS_TEXTS.map((name) => ({ name, is: true, count: 3, none: null })),
  data: formatPlainJson(AMBIGUOUS_TEXTS),
};
const WRITTEN_YAML = writeYaml({ ...SAMPLE_VALUE, data: makeTextScalar(SAMPLE_VALUE.data) });

const hasPyYaml = spawnSync('python3', ['-c', 'import yaml']).status === 0;

describe('written YAML', () => {
  it.each(['1.1', '1.2'] as const)('is parsed to the same values by a reader of YAML %s', (version) => {
    expect(parse(WRITTEN_YAML, { version })).toEqual(SAMPLE_VALUE);
    expect(JSON.parse(parse(WRITTEN_YAML, { version }).data)).toEqual(AMBIGUOUS_TEXTS);
  });

  it.skipIf(!hasPyYaml)('is parsed to the same values by PyYAML', () => {
    const pythonScript = 'import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin.buffer.read()), sys.stdout)';
    const { stdout, stderr } = spawnSync('python3', ['-c', pythonScript], { input: WRITTEN_YAML, encoding: 'utf8' });
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual(SAMPLE_VALUE);
  });
});
