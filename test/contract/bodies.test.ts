import { expect, it } from 'vitest';
import { z } from 'zod';
import { SURFACES } from '../../src/app.ts';
import { makeFailureResponse } from '../../src/http/answer.ts';
import type { Contract } from '../../src/http/endpoint.ts';
import { REPORT_INPUT_VALUES } from '../../src/http/field-words.ts';
import { readJson } from '../../src/http/json-body.ts';
import type { Surface } from '../../src/http/surface.ts';
import { Failure } from '../../src/kernel/failure.ts';
import { findUnknownMembers } from '../../src/kernel/members.ts';
import { type BodyPath, COSTLY_VALUES, listParts, makeBody } from './costly.ts';
import type { JsonSchema } from './random/values.ts';

/** Every route that takes JSON, with the schema of its body. */
const BODIES = SURFACES.flatMap(({ surface, endpoints }) =>
  endpoints.flatMap(({ contract }) => {
    if (!contract.body) return [];
    const { $defs = {}, ...schema } = z.toJSONSchema(contract.body, { unrepresentable: 'any', io: 'input' });
    const resolve = (memberSchema: JsonSchema): JsonSchema =>
      memberSchema.$ref ? ($defs[memberSchema.$ref.split('/').at(-1) as string] as JsonSchema) : memberSchema;
    return [
      [`${contract.method.toUpperCase()} ${contract.path}`, contract, surface, schema as JsonSchema, resolve],
    ] as [string, Contract, Surface, JsonSchema, typeof resolve][];
  }),
);

const hasType = ({ type }: JsonSchema, expectedType: string): boolean => [type].flat().includes(expectedType);

/** Returns true for a pattern that limits the length of a text. */
const isBoundedPattern = (pattern: string): boolean => !/[*+]|,\}/.test(pattern.replaceAll(/\\.|\[[^\]]*\]/g, ''));

it.each(BODIES)('%s bounds each list and each string of its body', (_route, _contract, _surface, schema, resolve) => {
  const unboundedPaths = [...listParts(schema, resolve)].flatMap(([path, part]) => {
    const isUnboundedList = hasType(part, 'array') && part.maxItems === undefined;
    const isUnboundedText =
      hasType(part, 'string') &&
      part.maxLength === undefined &&
      !part.enum &&
      !('const' in part) &&
      !['date-time', 'date'].includes(part.format ?? '') &&
      !(part.pattern && isBoundedPattern(part.pattern));
    return isUnboundedList || isUnboundedText ? [path.join('.')] : [];
  });
  expect(unboundedPaths).toEqual([]);
});

/** The size of the tested bodies in bytes: twice the longest refusal, and longer than what may be normalized. */
const BODY_BYTES = 128 * 1024;
/** The maximum size of a refusal in bytes: room for a hundred problems. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** The maximum length of a text that may be normalized before `limitCombiningMarks` has reduced its combining marks. */
const MAX_NORMALIZED_LENGTH = 10_000;

const COSTLY_JSON = COSTLY_VALUES.map(([title, makeJson]) => [title, makeJson(BODY_BYTES)] as const);

/** Reads a body like a request. @returns the length of the refusal, and of the longest text that was normalized */
async function measureCost(contract: Contract, surface: Surface, text: string) {
  let longestNormalized = 0;
  const { normalize } = String.prototype;
  String.prototype.normalize = function (this: string, form) {
    longestNormalized = Math.max(longestNormalized, this.length);
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
      findUnknownProblems: async () => [],
      removeUnchanged: async () => null,
    })(c as never, async () => undefined);
    return { answer: 0, normalized: longestNormalized };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { answer: (await makeFailureResponse(surface, error).text()).length, normalized: longestNormalized };
  } finally {
    String.prototype.normalize = normalize;
  }
}

it.each(BODIES)(
  '%s refuses a body that is costly to validate with a short answer, and without normalizing long strings',
  async (_route, contract, surface, schema, resolve) => {
    const pathsByName = new Map([...listParts(schema, resolve)].map(([path]) => [path.join('.'), path]));
    const costs: Record<string, unknown> = {};
    for (const [name, path] of pathsByName) {
      for (const [title, json] of COSTLY_JSON) {
        const cost = await measureCost(contract, surface, makeBody(path, json));
        if (cost.answer > MAX_ANSWER_BYTES || cost.normalized > MAX_NORMALIZED_LENGTH)
          costs[`${title} in ${name}`] = cost;
      }
    }
    expect(costs).toEqual({});
  },
);

const throwOnRead = (): never => {
  throw new Error('an entry was read');
};
const UNREADABLE_ENTRY = new Proxy(
  {},
  { get: throwOnRead, has: throwOnRead, ownKeys: throwOnRead, getOwnPropertyDescriptor: throwOnRead },
);

const placeValue = (path: BodyPath, value: unknown): unknown =>
  path.reduceRight((innerValue, step) => (typeof step === 'number' ? [innerValue] : { [step]: innerValue }), value);

it.each(BODIES)(
  '%s reads no entry of a list that is too long',
  async (_route, { body: schema }, _surface, json, resolve) => {
    const lengths = new Map<string, [BodyPath, number]>();
    for (const [path, part] of listParts(json, resolve)) {
      const [, known = 0] = lengths.get(path.join('.')) ?? [];
      if (hasType(part, 'array')) lengths.set(path.join('.'), [path, Math.max(known, part.maxItems ?? 0)]);
    }
    for (const [place, [path, length]] of lengths) {
      const body = placeValue(
        path,
        Array.from({ length: length + 1 }, () => UNREADABLE_ENTRY),
      );
      expect([place, [...findUnknownMembers(schema as z.ZodType, body)]]).toEqual([place, []]);
      await schema?.safeParseAsync(body, REPORT_INPUT_VALUES);
    }
  },
);
