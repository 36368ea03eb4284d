import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  findBreaches,
  findDomainWords,
  findHttpUses,
  findJoinedLists,
  findMisplacedSnapshots,
  findNamedOperations,
  findOwnFetches,
  findUsedByOne,
  LAYERS,
  listImports,
  listOperations,
} from './walls.ts';

const readSources = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
    .map((file) => ({ file, text: readFileSync(`${folder}/${file}`, 'utf8') }));
const sourceFiles = readSources('src');
const imports = sourceFiles.flatMap(({ file, text }) => listImports(file, text));

describe('the import rules between the folders of src', () => {
  it('are followed by all imports', () => {
    expect(imports.length).toBeGreaterThan(2000);
    expect(findBreaches(imports)).toEqual([]);
  });

  it.each([
    ['kernel/text.ts', "import { openControlDb } from '../db/client.ts';", 'kernel is below db'],
    ['db/client.ts', "import { log } from '../http/answer.ts';", 'db is below http'],
    ['formats/zip/unpack.ts', "import { log } from '../../platform/log.ts';", 'stand beside each other'],
    ['platform/log.ts', "import type { Context } from '../context.ts';", 'platform is below context.ts'],
    ['http/request-checks.ts', "import { selectUser } from '../modules/users/service.ts';", 'http is below modules'],
    ['modules/groups/service.ts', "import { selectUser } from '../users/store.ts';", 'another module is used through'],
    ['modules/knowledge/semantic/check.ts', "import '../../users/store.ts';", 'another module is used through'],
    ['modules/groups/service.ts', "const { limitHeaders } = await import('../../http/rate-limits.ts');", 'HTTP'],
    ['modules/groups/service.ts', "export { groupEndpoints } from './routes.console.ts';", 'only app.ts'],
    ['modules/groups/service.ts', "export { groupTools } from './tools.mcp.ts';", 'only app.ts'],
    ['modules/groups/members.ts', "import { eq } from 'drizzle-orm';", 'drizzle appears only'],
    ['modules/sign-in/service.ts', "import type { HonoRequest } from 'hono';", 'Hono appears only'],
    ['modules/uploads/load.ts', "import { Client } from '@neondatabase/serverless';", 'Neon driver appears only'],
    ['users/service.ts', "import { signed } from '../../test/support/signed.ts';", 'only src is deployed'],
    ['modules/pages/service.ts', "import { h } from '../../web/dom.ts';", 'imported by web/ alone'],
    ['web/dom.ts', "import type { Config } from '../config.ts';", 'pages know only'],
    ['helpers/text.ts', "import { cut } from '../kernel/text.ts';", 'is in no layer'],
    ['modules/users/service.ts', "import { addToGroup } from '../groups/service.ts';", 'form a circle'],
  ])('are reported as broken if %s has the line %s', (file, text, message) => {
    const [line, ...others] = findBreaches([...imports, ...listImports(file, text)]);
    expect(line).toContain(message);
    expect(others).toEqual([]);
  });
});

it('docs/architecture.md lists the folders of src in the order of the import rules', () => {
  const text = readFileSync('docs/architecture.md', 'utf8');
  const [, table = ''] = /^\| folder \| is \|\n([\s\S]*?)\n\n/m.exec(text) ?? [];
  const first = table.split('\n').map((row) => row.split('|')[1] ?? '');
  expect(first.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name))).toEqual(LAYERS.flat());
});

describe('the folder http/', () => {
  const operations = [...new Set(sourceFiles.flatMap(({ file, text }) => listOperations(file, text)))];

  it('mentions no operation of a module', () => {
    expect(operations.length).toBeGreaterThan(200);
    expect(operations).toContain('query_metrics');
    expect(sourceFiles.flatMap(({ file, text }) => findNamedOperations(file, text, operations))).toEqual([]);
  });

  it.each([
    "operation: 'listDashboards'",
    "operation: 'archiveConcept'",
    "const INSTRUCTIONS = 'Ask query_metrics first.';",
  ])('is reported if it contains %s', (text) => {
    expect(findNamedOperations('http/mcp/tools.ts', text, operations)).toHaveLength(1);
  });
});

describe('a shared module', () => {
  it('is used by more than one folder', () => expect(findUsedByOne(imports)).toEqual([]));

  it('is reported if only one folder uses it', () => {
    const singleImport = listImports('modules/uploads/load.ts', "import { kept } from '../../tenant-sql/kept.ts';");
    expect(findUsedByOne(singleImport)).toEqual([
      'src/tenant-sql/kept.ts is used by modules/uploads alone: it stands there.',
    ]);
    const other = listImports('modules/groups/service.ts', "import { kept } from '../../tenant-sql/kept.ts';");
    expect(findUsedByOne([...singleImport, ...other])).toEqual([]);
  });
});

describe('the kernel', () => {
  it('contains no words of the domain', () => {
    expect(sourceFiles.flatMap(({ file, text }) => findDomainWords(file, text))).toEqual([]);
  });

  it.each(['export interface PolicyDocument {}', 'export const companySlug = z.string();'])(
    'is reported if it contains %s',
    (text) => {
      expect(findDomainWords('kernel/fields.ts', text)).toHaveLength(1);
    },
  );
});

describe('services', () => {
  it('use nothing of HTTP, including its globals', () => {
    expect(sourceFiles.flatMap(({ file, text }) => findHttpUses(file, text))).toEqual([]);
  });

  it.each(['async (request: Request) => request.url', 'return new Response(body);'])(
    'are reported if they contain %s',
    (text) => {
      expect(findHttpUses('modules/groups/service.ts', text)).toHaveLength(1);
      expect(findHttpUses('modules/groups/routes.console.ts', text)).toEqual([]);
    },
  );
});

describe('addresses that customers choose', () => {
  it('are requested only through fetchOutside', () => {
    expect(sourceFiles.flatMap(({ file, text }) => findOwnFetches(file, text))).toEqual([]);
  });

  it.each(['const answer = await fetch(provider.jwksUri);', '(url) => fetch(url)', 'return globalThis.fetch(url);'])(
    'may not be requested by %s',
    (text) => {
      expect(findOwnFetches('modules/webhooks/service.ts', text)).toHaveLength(1);
    },
  );
});

describe('a table that is joined to a json_each list', () => {
  it('is joined by a cross join, so that SQLite looks the table up for each entry of the list', () => {
    expect(sourceFiles.flatMap(({ file, text }) => findJoinedLists(file, text))).toEqual([]);
  });

  it('is reported if the join is a plain one', () => {
    const text = `from json_each(\${list}) as given\n join \${users} on users.id = given.value`;
    expect(findJoinedLists('modules/users/store.ts', text)).toHaveLength(1);
    expect(findJoinedLists('modules/users/store.ts', text.replace('join', 'cross join'))).toEqual([]);
  });
});

describe('generated files', () => {
  const tests = readSources('test').filter(
    ({ file, text }) => !file.startsWith('architecture/') && text.includes('.toMatchFileSnapshot('),
  );

  it('are in folders of their own, each with a line about the command that writes them', () => {
    expect(tests.length).toBeGreaterThanOrEqual(3);
    expect(tests.flatMap(({ file, text }) => findMisplacedSnapshots(file, text))).toEqual([]);
    for (const folder of ['src', 'client', 'test/contract']) {
      expect(readFileSync(`${folder}/generated/README.md`, 'utf8')).toContain('npm run contract');
    }
  });

  it('are reported if they are in a folder with hand-written files', () => {
    const text = "await expect(table).toMatchFileSnapshot('routes.tsv');";
    expect(findMisplacedSnapshots('contract/routes.test.ts', text)).toHaveLength(1);
  });
});
