import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { findWording } from '../../src/http/surface.ts';
import { surface as console } from '../../src/http/surfaces/console.ts';
import { surface as directory } from '../../src/http/surfaces/directory.ts';
import { surface as knowledge } from '../../src/http/surfaces/knowledge.ts';
import { surface as managedTables } from '../../src/http/surfaces/managed-tables.ts';
import { surface as mcp } from '../../src/http/surfaces/mcp.ts';
import { surface as oauth } from '../../src/http/surfaces/oauth.ts';
import { surface as organization } from '../../src/http/surfaces/organization.ts';
import { surface as sharing } from '../../src/http/surfaces/sharing.ts';
import type { FailureType, Wording } from '../../src/kernel/failure.ts';

const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => ({ file: `src/${file}`, text: readFileSync(`src/${file}`, 'utf8') }));

/** The failures that a module exports: alone, in a list, or among the failures of its routes. */
function listFailures(value: unknown): FailureType[] {
  if (typeof value === 'function') return 'reason' in value && 'matches' in value ? [value as FailureType] : [];
  const isPlain = Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value ?? 0));
  return isPlain ? Object.values(value as object).flatMap(listFailures) : [];
}

const definers = sources.filter(({ file, text }) => file.endsWith('failures.ts') || text.includes('defineFailure('));
const modules = await Promise.all(definers.map(({ file }) => import(resolve(file))));
const defined = [...new Set(modules.flatMap(listFailures))];

it('the reason of a failure is defined once', () => {
  expect(defined.length).toBeGreaterThan(200);
  const reasons = defined.map(({ reason }) => reason);
  const twice = reasons.filter((reason, at) => reasons.indexOf(reason) !== at);
  expect(twice.map((reason) => `${reason} is defined twice: import the one there is`)).toEqual([]);
});

it('a failure repeats no wording that an API already has for its kind', () => {
  const repeated = defined.flatMap(({ kind, reason, says }) =>
    [organization, console, managedTables, sharing, directory].flatMap((surface) => {
      const own = says[surface.wordedAs];
      const family = Object.entries(findWording(surface, { kind, says: {} }));
      return family
        .filter(([part, words]) => (typeof own === 'string' ? { code: own } : own)?.[part as keyof Wording] === words)
        .map(([part]) => `${reason}: leave out its ${part} for ${surface.name}, which says this of all of its kind`);
    }),
  );
  expect(repeated).toEqual([]);
});

it('a status that a failure sets alike on the four main APIs is its status on every API', () => {
  const lost = defined.flatMap((failure) => {
    const said = [organization, console, managedTables, sharing].map(({ wordedAs }) => failure.says[wordedAs]);
    const statuses = [...new Set(said.map((own) => (typeof own === 'object' ? own.status : undefined)))];
    const [status] = statuses;
    if (statuses.length > 1 || status === undefined) return [];
    return [organization, console, managedTables, sharing, knowledge, mcp, directory, oauth]
      .map((surface) => ({ surface: surface.name, is: findWording(surface, failure).status }))
      .filter(({ is }) => is !== status)
      .map(({ surface, is }) => `${failure.reason}: is ${is} on ${surface}, and ${status} elsewhere`);
  });
  expect(lost).toEqual([]);
});

it('a failure is made only by its definition', () => {
  const made = sources.filter(({ file, text }) => file !== 'src/kernel/failure.ts' && text.includes('new Failure('));
  expect(made.map(({ file }) => `${file}: define it with defineFailure, in the module's failures.ts`)).toEqual([]);
});

it('the reason of a failure is never compared as a string, where a misspelt one would compile', () => {
  const compared = sources.flatMap(({ file, text }) =>
    [
      ...text.matchAll(
        /\breason\s*(?:===|!==|\.startsWith|\.endsWith)\s*\(?\s*'[a-z_]+\.[a-z_]*|switch \([^)]*\breason\)/g,
      ),
    ].map(([found]) => `${file}: ${found}: ask the definition, as in groupNotFound.matches(error)`),
  );
  expect(compared.filter((line) => !line.startsWith('src/kernel/failure.ts'))).toEqual([]);
});
