import type { System } from '../../bench/system.ts';
import { aWordDocument, aWrittenWorkbook } from '../knowledge/files.ts';
import type { Case } from './case.ts';

const MIB = 1024 * 1024;
const PATH = '/api/v1/domain-knowledge/concepts/generation/jobs';

/** A model that nobody answers for: what is measured is over before it is asked. */
export const NO_MODEL = { AI_API_KEY: 'none', AI_BASE_URL: 'http://127.0.0.1:9/v1' };

const RUNNING = 'JOB_RUNNING';

/** The company's job, until the next case cancels it. */
let running: string | undefined;

/** Has concepts generated from a file. The second is refused once its text is known: a company has one job at a time. */
async function generate({ call }: System, file: File): Promise<void> {
  const form = new FormData();
  form.append('file', file);
  const refused = (error: Error) => {
    if (!error.message.includes(RUNNING)) throw error;
    return null;
  };
  const job = await call('POST', PATH, form).catch(refused);
  if (job) running = job._id;
}

function document(name: string, make: () => string | Uint8Array<ArrayBuffer>): Case {
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
    run: (system) => generate(system, file),
  };
}

/** Text outside Latin-1, which takes two bytes a character. */
const SENTENCE = 'Ticket médio – o valor que um cliente gasta a cada compra. ';

export const DOCUMENTS: Case[] = [
  document('10 MiB of text.txt', () => SENTENCE.repeat(MIB / 4).slice(0, 9.4 * MIB)),
  document('19 MiB in paragraphs.docx', () =>
    aWordDocument(...Array.from({ length: 60_000 }, (_, n) => `${n} ${SENTENCE}`)),
  ),
  document('a sheet of 70,000 rows.xlsx', () =>
    aWrittenWorkbook({ Termos: Array.from({ length: 70_000 }, (_, n) => [n, `${SENTENCE} ${n}`]) }),
  ),
];
