import { stringify } from 'yaml';
import type { System } from '../../bench/system.ts';
import { makeWordDocument, writeWorkbook } from '../knowledge/files.ts';
import type { MemoryCase } from './case.ts';

const MIB_BYTES = 1024 * 1024;
const JOBS_PATH = '/api/v1/domain-knowledge/concepts/generation/jobs';

/** Environment variables of a model that never answers: the measured work ends before the model is called. */
export const NO_MODEL_ENV = { AI_API_KEY: 'none', AI_BASE_URL: 'http://127.0.0.1:9/v1' };

const RUNNING_ERROR = 'JOB_RUNNING';

/** The id of the company's job, until the next case cancels it. */
let runningJobId: string | undefined;

/** Has concepts generated from a file. The second run is refused once its text is read, as a company has one job at a time. */
async function startGeneration({ call }: System, file: File): Promise<void> {
  const form = new FormData();
  form.append('file', file);
  const ignoreRunning = (error: Error) => {
    if (!error.message.includes(RUNNING_ERROR)) throw error;
    return null;
  };
  const job = await call('POST', JOBS_PATH, form).catch(ignoreRunning);
  if (job) runningJobId = job._id;
}

function makeDocumentCase(name: string, makeContent: () => string | Uint8Array<ArrayBuffer>): MemoryCase {
  let file: File;
  return {
    name: `concepts from ${name}`,
    prepare: async ({ call }) => {
      await call('PUT', '/api/v1/domain-knowledge/business-domains', {
        business_domains: [{ key: 'vendas', name: 'Vendas' }],
      });
      if (runningJobId) await call('POST', `/api/v1/domain-knowledge/jobs/${runningJobId}/cancel`);
      file = new File([makeContent()], name);
    },
    run: (system) => startGeneration(system, file),
  };
}

/** A text with characters outside Latin-1, so that each character takes two bytes. */
const SENTENCE = 'Ticket médio – o valor que um cliente gasta a cada compra. ';

/**
 * Makes a case that imports a document. Of two equal imports at the same time, one suggests the concepts that the other skips.
 */
function makeImportCase(name: string, type: string, makeText: () => string): MemoryCase {
  let body: string;
  return {
    name: `import of ${name}`,
    prepare: async () => {
      body = makeText();
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

const IMPORT_CASES: MemoryCase[] = [
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
    ['name,description', ...makeConcepts(4_999).map((concept) => `${concept.name},"${concept.description}"`)].join(
      '\n',
    ),
  ),
];

export const DOCUMENT_CASES: MemoryCase[] = [
  ...IMPORT_CASES,
  makeDocumentCase('10 MiB of text.txt', () => SENTENCE.repeat(MIB_BYTES / 4).slice(0, 9.4 * MIB_BYTES)),
  makeDocumentCase('19 MiB in paragraphs.docx', () =>
    makeWordDocument(...Array.from({ length: 60_000 }, (_, n) => `${n} ${SENTENCE}`)),
  ),
  makeDocumentCase('a sheet of 70,000 rows.xlsx', () =>
    writeWorkbook({ Termos: Array.from({ length: 70_000 }, (_, n) => [n, `${SENTENCE} ${n}`]) }),
  ),
];
