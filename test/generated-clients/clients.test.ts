import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type System, startSystem } from '../../bench/system.ts';
import type { Given, Told } from './drivers/story.ts';
import { lintWithRedocly, lintWithSpectral, makeClients } from './tools.ts';

const LONG_TIMEOUT_MS = 600_000;

let system: System;
let folder: string;
/** The path of the file with the OpenAPI document of a running system. */
let file: string;
let apiDescription: { paths: Record<string, Record<string, { responses: Record<string, unknown> }>> };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-console-clients-'));
  file = join(folder, 'openapi.json');
  system = await startSystem();
  const text = await (await fetch(`${system.baseUrl}/openapi.json`)).text();
  apiDescription = JSON.parse(text);
  await writeFile(file, text);
}, LONG_TIMEOUT_MS);
afterAll(async () => {
  await system?.stop();
  await rm(folder, { recursive: true, force: true });
});

describe('/openapi.json', () => {
  it('has no problem that Spectral finds', { timeout: LONG_TIMEOUT_MS }, async () => {
    expect(await lintWithSpectral(file)).toEqual([]);
  });

  it('has no problem that Redocly finds', { timeout: LONG_TIMEOUT_MS }, async () => {
    const isRedirect = ([, path = '', method = '']: string[]) => {
      const { responses = {} } = apiDescription.paths[path]?.[method] ?? {};
      return Object.keys(responses)[0] === '302';
    };
    // It takes a redirect for no success.
    const problems = (await lintWithRedocly(file)).filter(
      ({ rule, documentPath }) => rule !== 'operation-2xx-response' || !isRedirect(documentPath),
    );
    expect(problems).toEqual([]);
  });
});

describe('a client made of /openapi.json, compiled strictly', () => {
  let runDriver: Awaited<ReturnType<typeof makeClients>>;
  beforeAll(async () => {
    runDriver = await makeClients(file, join(folder, 'clients'));
  }, LONG_TIMEOUT_MS);

  it.each(['openapi-fetch', 'hey-api', 'orval'])(
    'signs in, creates, lists, uploads, pages, filters and reads errors by its types: %s',
    async (name) => {
      const { company_slug: companySlug, email, password } = system.owner;
      const driverInput: Given = { baseUrl: system.baseUrl, companySlug, email, password, name };
      const told: Told = {
        refused: 'INVALID_CREDENTIALS',
        created: name,
        listed: [name],
        taken: 'GROUP_SLUG_DUPLICATE',
        problems: ['name too_short'],
        columns: ['city text', 'age integer'],
        pages: [['Paris', 'Lima'], ['Porto', 'Quito'], ['Oslo']],
        filtered: ['Quito', 'Oslo'],
        missing: 'NOT_FOUND',
      };
      expect(await runDriver(name, driverInput)).toEqual(told);
    },
  );
});
