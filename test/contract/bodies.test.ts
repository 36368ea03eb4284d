import { expect, it } from 'vitest';
import { z } from 'zod';
import { SURFACES } from '../../src/app.ts';
import { makeFailureResponse } from '../../src/http/answer.ts';
import type { Contract } from '../../src/http/endpoint.ts';
import { REPORT_INPUT_VALUES } from '../../src/http/field-words.ts';
import { readJson } from '../../src/http/json-body.ts';
import type { Surface } from '../../src/http/surface.ts';
import { Failure } from '../../src/kernel/failure.ts';
import { unknownMembers } from '../../src/kernel/members.ts';
import { COSTLY, listParts, makeBody, type Path } from './costly.ts';
import type { JsonSchema } from './random/values.ts';

/** Every route that takes JSON, with the schema of its body. */
const BODIES = SURFACES.flatMap(({ surface, endpoints }) =>
  endpoints.flatMap(({ contract }) => {
    if (!contract.body) return [];
    const { $defs = {}, ...schema } = z.toJSONSchema(contract.body, { unrepresentable: 'any', io: 'input' });
    const resolve = (part: JsonSchema): JsonSchema =>
      part.$ref ? ($defs[part.$ref.split('/').at(-1) as string] as JsonSchema) : part;
    return [
      [`${contract.method.toUpperCase()} ${contract.path}`, contract, surface, schema as JsonSchema, resolve],
    ] as [string, Contract, Surface, JsonSchema, typeof resolve][];
  }),
);

const hasType = ({ type }: JsonSchema, wanted: string): boolean => [type].flat().includes(wanted);

/** A pattern that says how long a text is at most. */
const isBoundedPattern = (pattern: string): boolean => !/[*+]|,\}/.test(pattern.replaceAll(/\\.|\[[^\]]*\]/g, ''));

it.each(BODIES)('%s bounds each list and each string of its body', (_route, _contract, _surface, schema, resolve) => {
  const unbounded = [...listParts(schema, resolve)].flatMap(([path, part]) => {
    const isList = hasType(part, 'array') && part.maxItems === undefined;
    const isText =
      hasType(part, 'string') &&
      part.maxLength === undefined &&
      !part.enum &&
      !('const' in part) &&
      !['date-time', 'date'].includes(part.format ?? '') &&
      !(part.pattern && isBoundedPattern(part.pattern));
    return isList || isText ? [path.join('.')] : [];
  });
  expect(unbounded).toEqual([]);
});

/** What costs the square of its length shows sooner than at a mebibyte. */
const BYTES = 256 * 1024;
/** What a refusal may tell: a hundred problems. */
const MAX_ANSWER = 64 * 1024;
/** The longest text that may be normalized whose marks were not made few before: see `limitMarks`. */
const MAX_NORMALIZED = 10_000;

const WRITTEN_BODIES = COSTLY.map(([what, json]) => [what, json(BYTES)] as const);

/** Reads a body as a request does. @returns how long the answer is that refuses it, and the longest text that was normalized */
async function measureCost(contract: Contract, surface: Surface, text: string) {
  let longest = 0;
  const { normalize } = String.prototype;
  String.prototype.normalize = function (this: string, form) {
    longest = Math.max(longest, this.length);
    return normalize.call(this, form);
  };
  const request = new Request('https://api.test', { method: 'POST', body: text });
  const c = {
    req: {
      raw: request,
      text: () => request.text(),
      arrayBuffer: () => request.arrayBuffer(),
      header: () => 'application/json',
    },
    set: () => undefined,
  };
  try {
    await readJson(contract, {
      unknownProblems: async () => [],
      withoutKept: async () => null,
    })(c as never, async () => undefined);
    return { answer: 0, normalized: longest };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { answer: (await makeFailureResponse(surface, error).text()).length, normalized: longest };
  } finally {
    String.prototype.normalize = normalize;
  }
}

it.each(BODIES)(
  '%s refuses a body that is costly to validate with a short answer, and without normalizing long strings',
  async (_route, contract, surface, schema, resolve) => {
    const places = new Map([...listParts(schema, resolve)].map(([path]) => [path.join('.'), path]));
    const costs: Record<string, unknown> = {};
    for (const [name, path] of places) {
      for (const [what, json] of WRITTEN_BODIES) {
        const cost = await measureCost(contract, surface, makeBody(path, json));
        if (cost.answer > MAX_ANSWER || cost.normalized > MAX_NORMALIZED) costs[`${what} in ${name}`] = cost;
      }
    }
    expect(costs).toEqual({});
  },
);

const failToRead = (): never => {
  throw new Error('an entry was read');
};
const UNREADABLE = new Proxy(
  {},
  { get: failToRead, has: failToRead, ownKeys: failToRead, getOwnPropertyDescriptor: failToRead },
);

/** A value in one place of a body. */
const placeValue = (path: Path, value: unknown): unknown =>
  path.reduceRight((inner, step) => (typeof step === 'number' ? [inner] : { [step]: inner }), value);

it.each(BODIES)(
  '%s reads no entry of a list that is too long',
  async (_route, { body: schema }, _surface, json, resolve) => {
    const lengths = new Map<string, [Path, number]>();
    for (const [path, part] of listParts(json, resolve)) {
      const [, known = 0] = lengths.get(path.join('.')) ?? [];
      if (hasType(part, 'array')) lengths.set(path.join('.'), [path, Math.max(known, part.maxItems ?? 0)]);
    }
    for (const [place, [path, length]] of lengths) {
      const body = placeValue(
        path,
        Array.from({ length: length + 1 }, () => UNREADABLE),
      );
      expect([place, [...unknownMembers(schema as z.ZodType, body)]]).toEqual([place, []]);
      await schema?.safeParseAsync(body, REPORT_INPUT_VALUES);
    }
  },
);
