import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const files = execFileSync('git', ['ls-files', '*.ts'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => file !== '' && !file.includes('generated/') && !file.endsWith('.d.ts'));

/** Returns the parameters of the function after a docstring: the code in its first parentheses. */
function getParameters(code: string): string {
  const start = code.indexOf('(');
  let depth = 0;
  for (let at = start; at < code.length; at++) {
    depth += ({ '(': 1, ')': -1 } as Record<string, number>)[code[at] as string] ?? 0;
    if (depth === 0) return code.slice(start, at);
  }
  return '';
}

const docstrings = files.flatMap((file) => {
  const text = readFileSync(file, 'utf8');
  return [...text.matchAll(/\/\*\*[\s\S]*?\*\//g)].map(({ 0: docstring, index }) => ({
    place: `${file}:${text.slice(0, index).split('\n').length}`,
    docstring,
    code: text.slice(index + docstring.length, index + docstring.length + 5_000),
  }));
});

it('a docstring describes only parameters that the function has', () => {
  const describedParameters = docstrings.flatMap(({ place, docstring, code }) =>
    [...docstring.matchAll(/@param\s+(?:\*\s+)?([\w.]+)/g)].map(([, name = '']) => ({ place, name, code })),
  );
  expect(describedParameters.length).toBeGreaterThan(300);
  const problems = describedParameters
    // Of a destructured parameter, the docstring describes a member: `options.limit`.
    .filter(({ name, code }) => !new RegExp(`\\b${name.split('.').at(-1)}\\b`).test(getParameters(code)))
    .map(({ place, name }) => `${place}: @param ${name} is not there any more: name the parameter as the code does`);
  expect(problems).toEqual([]);
});

it('a docstring names only code that is there', () => {
  const names = new Set(
    files.flatMap(
      (file) =>
        readFileSync(file, 'utf8')
          .replaceAll(/\/\*\*[\s\S]*?\*\//g, '')
          .match(/\w+/g) ?? [],
    ),
  );
  const problems = docstrings.flatMap(({ place, docstring }) =>
    [...docstring.matchAll(/`#?([a-z]+[A-Z]\w*)(?:\(\))?`|\{@link (\w+)\}/g)]
      .map(([, name, linkedName]) => (name ?? linkedName) as string)
      .filter((name) => !names.has(name))
      .map((name) => `${place}: \`${name}\` is not there any more: write the name that it has now`),
  );
  expect(problems).toEqual([]);
});
