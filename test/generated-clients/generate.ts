import { readFile, writeFile } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import openapiTS, { astToString } from 'openapi-typescript';
import { generate as generateByOrval } from 'orval';
import ts from 'typescript';

// Generators need the compiler's interface of TypeScript 5, of which @hey-api/openapi-ts would find 7.
registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier, specifier === 'typescript' ? { ...context, parentURL: import.meta.url } : context),
});

/** Generates types for openapi-fetch, with files as `Blob`, as the documentation of openapi-typescript shows it. */
async function generateOpenapiTypes(document: string, folder: string): Promise<void> {
  const blob = ts.factory.createTypeReferenceNode('Blob');
  const types = await openapiTS(await readFile(document, 'utf8'), {
    transform: ({ format }) => (format === 'binary' ? blob : undefined),
  });
  await writeFile(join(folder, 'openapi-typescript.ts'), astToString(types));
}

async function generateWithHeyApi(document: string, folder: string): Promise<void> {
  const { createClient } = await import('@hey-api/openapi-ts');
  await createClient({
    input: document,
    output: { path: join(folder, 'hey-api'), module: { extension: '.js' } },
    logs: { level: 'warn', file: false },
    plugins: ['@hey-api/typescript', '@hey-api/sdk', '@hey-api/client-fetch'],
  });
}

const generateWithOrval = (document: string, folder: string): Promise<void> =>
  generateByOrval({
    input: { target: document },
    output: {
      target: join(folder, 'orval-client.ts'),
      client: 'fetch',
      baseUrl: { getBaseUrlFromSpecification: true },
    },
  });

const [document = '', folder = ''] = process.argv.slice(2);
for (const make of [generateOpenapiTypes, generateWithHeyApi, generateWithOrval]) await make(document, folder);
