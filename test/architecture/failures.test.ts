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

const sourceFiles = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => ({ file: `src/${file}`, text: readFileSync(`src/${file}`, 'utf8') }));

/** Lists the failure types that a module exports: singly, in a list, or among the failures of its routes. */
function listFailures(value: unknown): FailureType[] {
  if (typeof value === 'function') return 'reason' in value && 'matches' in value ? [value as FailureType] : [];
  const isPlain = Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value ?? 0));
  return isPlain ? Object.values(value as object).flatMap(listFailures) : [];
}

const definingFiles = sourceFiles.filter(
  ({ file, text }) => file.endsWith('failures.ts') || text.includes('defineFailure('),
);
const modules = await Promise.all(definingFiles.map(({ file }) => import(resolve(file))));
const failureTypes = [...new Set(modules.flatMap(listFailures))];

it('the reason of a failure is defined once', () => {
  expect(failureTypes.length).toBeGreaterThan(200);
  const reasons = failureTypes.map(({ reason }) => reason);
  const duplicateReasons = reasons.filter((reason, at) => reasons.indexOf(reason) !== at);
  expect(duplicateReasons.map((reason) => `${reason} is defined twice: import the one there is`)).toEqual([]);
});

it("a failure repeats no wording that an API already has for the failure's kind", () => {
  const repeatedWordings = failureTypes.flatMap(({ kind, reason, wordings: says }) =>
    [organization, console, managedTables, sharing, directory].flatMap((surface) => {
      const ownWording = says[surface.wordedAs];
      const kindWording = Object.entries(findWording(surface, { kind, wordings: {} }));
      return kindWording
        .filter(
          ([part, words]) =>
            (typeof ownWording === 'string' ? { code: ownWording } : ownWording)?.[part as keyof Wording] === words,
        )
        .map(([part]) => `${reason}: leave out its ${part} for ${surface.name}, which says this of all of its kind`);
    }),
  );
  expect(repeatedWordings).toEqual([]);
});

it('a status that a failure sets on all four main APIs is its status on every API', () => {
  const lostStatuses = failureTypes.flatMap((failure) => {
    const wordings = [organization, console, managedTables, sharing].map(({ wordedAs }) => failure.wordings[wordedAs]);
    const statuses = [
      ...new Set(wordings.map((eachWording) => (typeof eachWording === 'object' ? eachWording.status : undefined))),
    ];
    const [status] = statuses;
    if (statuses.length > 1 || status === undefined) return [];
    return [organization, console, managedTables, sharing, knowledge, mcp, directory, oauth]
      .map((surface) => ({ surface: surface.name, is: findWording(surface, failure).status }))
      .filter(({ is }) => is !== status)
      .map(({ surface, is }) => `${failure.reason}: is ${is} on ${surface}, and ${status} elsewhere`);
  });
  expect(lostStatuses).toEqual([]);
});

it('a failure is constructed only through its definition', () => {
  const constructingFiles = sourceFiles.filter(
    ({ file, text }) => file !== 'src/kernel/failure.ts' && text.includes('new Failure('),
  );
  expect(
    constructingFiles.map(({ file }) => `${file}: define it with defineFailure, in the module's failures.ts`),
  ).toEqual([]);
});

it('the reason of a failure is never compared as a string, where a misspelt reason would compile', () => {
  const comparisons = sourceFiles.flatMap(({ file, text }) =>
    [
      ...text.matchAll(
        /\breason\s*(?:===|!==|\.startsWith|\.endsWith)\s*\(?\s*'[a-z_]+\.[a-z_]*|switch \([^)]*\breason\)/g,
      ),
    ].map(([found]) => `${file}: ${found}: ask the definition, as in groupNotFound.matches(error)`),
  );
  expect(comparisons.filter((line) => !line.startsWith('src/kernel/failure.ts'))).toEqual([]);
});
