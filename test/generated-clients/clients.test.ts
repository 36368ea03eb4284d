import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningSystem, startSystem } from '../pages/system.ts';
import type { Given, Told } from './drivers/story.ts';
import { makeClients, redocly, spectral } from './tools.ts';

const FOR_LONG = 600_000;

let system: RunningSystem;
let folder: string;
/** The path of the file with the OpenAPI document of a running system. */
let file: string;
let described: { paths: Record<string, Record<string, { responses: Record<string, unknown> }>> };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-console-clients-'));
  file = join(folder, 'openapi.json');
  system = await startSystem();
  const text = await (await fetch(`${system.demo.base_url}/openapi.json`)).text();
  described = JSON.parse(text);
  await writeFile(file, text);
}, FOR_LONG);
afterAll(async () => {
  await system?.stop();
  await rm(folder, { recursive: true, force: true });
});

describe('/openapi.json', () => {
  it('has no problem that Spectral finds', { timeout: FOR_LONG }, async () => {
    expect(await spectral(file)).toEqual([]);
  });

  it('has no problem that Redocly finds', { timeout: FOR_LONG }, async () => {
    const isRedirect = ([, path = '', method = '']: string[]) => {
      const { responses = {} } = described.paths[path]?.[method] ?? {};
      return Object.keys(responses)[0] === '302';
    };
    // It takes a redirect for no success.
    const found = (await redocly(file)).filter(({ rule, at }) => rule !== 'operation-2xx-response' || !isRedirect(at));
    expect(found).toEqual([]);
  });
});

describe('a client made of /openapi.json, compiled strictly', () => {
  let drive: Awaited<ReturnType<typeof makeClients>>;
  beforeAll(async () => {
    drive = await makeClients(file, join(folder, 'clients'));
  }, FOR_LONG);

  it.each(['openapi-fetch', 'hey-api', 'orval'])(
    'signs in, creates, lists, uploads, pages, filters and reads errors by its types: %s',
    async (name) => {
      const { base_url: baseUrl, company, owner } = system.demo;
      const given: Given = { baseUrl, companySlug: company.slug, ...owner, name };
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
      expect(await drive(name, given)).toEqual(told);
    },
  );
});
