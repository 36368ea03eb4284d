import { stringify } from 'yaml';
import type { System } from '../../bench/system.ts';
import { makeWordDocument, writeWorkbook } from '../knowledge/files.ts';
import type { Case } from './case.ts';

const MIB = 1024 * 1024;
const PATH = '/api/v1/domain-knowledge/concepts/generation/jobs';

/** A model that nobody answers for: what is measured is over before it is asked. */
export const NO_MODEL = { AI_API_KEY: 'none', AI_BASE_URL: 'http://127.0.0.1:9/v1' };

const RUNNING = 'JOB_RUNNING';

/** The company's job, until the next case cancels it. */
let running: string | undefined;

/** Has concepts generated from a file. The second is refused once its text is known: a company has one job at a time. */
async function startGeneration({ call }: System, file: File): Promise<void> {
  const form = new FormData();
  form.append('file', file);
  const refused = (error: Error) => {
    if (!error.message.includes(RUNNING)) throw error;
    return null;
  };
  const job = await call('POST', PATH, form).catch(refused);
  if (job) running = job._id;
}

function makeDocumentCase(name: string, make: () => string | Uint8Array<ArrayBuffer>): Case {
  let file: File;
  return {
    name: `concepts from ${name}`,
    prepare: async ({ call }) => {
      await call('PUT', '/api/v1/domain-knowledge/business-domains', {
        business_domains: [{ key: 'vendas', name: 'Vendas' }],
      });
      if (running) await call('POST', `/api/v1/domain-knowledge/jobs/${running}/cancel`);
      file = new File([make()], name);
    },
    run: (system) => startGeneration(system, file),
  };
}

/** Text outside Latin-1, which takes two bytes a character. */
const SENTENCE = 'Ticket médio – o valor que um cliente gasta a cada compra. ';

/** Imports a document. Of two of the same at once, one suggests what the other skips. */
function makeImportCase(name: string, type: string, make: () => string): Case {
  let body: string;
  return {
    name: `import of ${name}`,
    prepare: async () => {
      body = make();
    },
    run: async ({ baseUrl, logIn }) => {
      const answer = await fetch(`${baseUrl}/api/v1/domain-knowledge/import`, {
        method: 'POST',
        headers: { authorization: `Bearer ${await logIn()}`, 'content-type': type },
        body,
      });
      if (!answer.ok) throw new Error(`${answer.status}: ${(await answer.text()).slice(0, 300)}`);
      await answer.arrayBuffer();
    },
  };
}

const makeConcept = (n: number) => ({
  name: `Termo ${n}`,
  description: SENTENCE.repeat(16).trim(),
  type: 'term',
  tags: ['a', 'b'],
});
const makeConcepts = (count: number) => Array.from({ length: count }, (_, n) => makeConcept(n));

const IMPORTS: Case[] = [
  makeImportCase('5 MiB of JSON', 'application/json', () => JSON.stringify({ concepts: makeConcepts(4_900) })),
  makeImportCase(
    '490,000 lists in JSON',
    'application/json',
    () => `{"concepts":[{"name":[${'[],'.repeat(244_000)}0],"tags":[${'[],'.repeat(1_000)}0]}]}`,
  ),
  makeImportCase('290,000 tokens of YAML', 'application/yaml', () => `concepts: [{name: [${'[],'.repeat(72_000)}0]}]`),
  makeImportCase('5 MiB of YAML', 'application/yaml', () =>
    stringify({ concepts: makeConcepts(4_800) }, { lineWidth: 0 }),
  ),
  makeImportCase('a million characters in quotes in YAML', 'application/yaml', () =>
    JSON.stringify({ concepts: makeConcepts(940) }),
  ),
  makeImportCase('5,000 lines of CSV', 'text/csv', () =>
    ['name,description', ...makeConcepts(4_999).map((each) => `${each.name},"${each.description}"`)].join('\n'),
  ),
];

export const DOCUMENTS: Case[] = [
  ...IMPORTS,
  makeDocumentCase('10 MiB of text.txt', () => SENTENCE.repeat(MIB / 4).slice(0, 9.4 * MIB)),
  makeDocumentCase('19 MiB in paragraphs.docx', () =>
    makeWordDocument(...Array.from({ length: 60_000 }, (_, n) => `${n} ${SENTENCE}`)),
  ),
  makeDocumentCase('a sheet of 70,000 rows.xlsx', () =>
    writeWorkbook({ Termos: Array.from({ length: 70_000 }, (_, n) => [n, `${SENTENCE} ${n}`]) }),
  ),
];
