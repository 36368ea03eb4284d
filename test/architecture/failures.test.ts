import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => ({ file: `src/${file}`, text: readFileSync(`src/${file}`, 'utf8') }));

/** Every failure that is defined: its reason, the name it is exported under, and where. */
const defined = sources.flatMap(({ file, text }) =>
  [...text.matchAll(/(?:(\w+)(?: =|:) )?defineFailure\(\s*'([^']+)'/g)].map(([, name, reason]) => ({
    file,
    name,
    reason,
  })),
);

it('a reason of a failure is written once', () => {
  expect(defined.length).toBeGreaterThan(100);
  const reasons = defined.map(({ reason }) => reason);
  const twice = defined.filter(({ reason }) => reasons.indexOf(reason) !== reasons.lastIndexOf(reason));
  expect(twice.map(({ file, reason }) => `${file}: ${reason} is defined elsewhere too: import that one`)).toEqual([]);
});

it('a failure is made only by its definition', () => {
  const made = sources.filter(({ file, text }) => file !== 'src/kernel/failure.ts' && text.includes('new Failure('));
  expect(made.map(({ file }) => `${file}: define the failure with defineFailure, in the module's failures.ts`)).toEqual(
    [],
  );
});

it('a reason is never compared as a text, where a misspelt one would compile', () => {
  const compared = sources.flatMap(({ file, text }) =>
    [
      ...text.matchAll(
        /\breason\s*(?:===|!==|\.startsWith|\.endsWith)\s*\(?\s*'[a-z_]+\.[a-z_]*|switch \([^)]*\breason\)/g,
      ),
    ].map(([found]) => `${file}: ${found}: ask the definition, as in groupNotFound.matches(error)`),
  );
  expect(compared.filter((line) => !line.startsWith('src/kernel/failure.ts'))).toEqual([]);
});
