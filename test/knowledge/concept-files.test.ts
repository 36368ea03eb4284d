import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Company, createOwnedCompany } from '../support/companies.ts';
import { readStatusAndCode } from '../support/console.ts';
import {
  addByteOrderMarks,
  formatNotedParagraph,
  formatTable,
  formatTextBox,
  makeWordDocument,
  makeWordDocumentFromXml,
  makeWorkbook,
  makeZipBomb,
  splitParagraph,
  writeWorkbook,
} from './files.ts';
import { createJobRunner, makeConceptCandidate, makeConceptsAnswer } from './jobs.ts';
import { KNOWLEDGE_PATH, readInvalidFields } from './support.ts';

const JOBS_PATH = `${KNOWLEDGE_PATH}/concepts/generation/jobs`;
const MIB_BYTES = 1024 * 1024;
let runner: Awaited<ReturnType<typeof createJobRunner>>;

const company = await createOwnedCompany();
const ownerCaller = company.as;
const business_domains = ['one', 'two'].map((key) => ({ key, name: key }));
await ownerCaller.put(`${KNOWLEDGE_PATH}/business-domains`, { json: { business_domains } });

beforeEach(async () => {
  runner = await createJobRunner(ownerCaller, makeConceptsAnswer(makeConceptCandidate('A')));
});

type FileContent = string | Uint8Array<ArrayBuffer>;
const makeFile = (name: string, content: FileContent) => new File([content], name);

function postForm(fields: [string, string | File][]) {
  const form = new FormData();
  for (const [name, value] of fields) form.append(name, value);
  return ownerCaller.post(JOBS_PATH, { body: form, env: runner.env });
}

/** Returns the text of the file that the model receives. */
async function readPromptText(name: string, content: FileContent): Promise<string> {
  const { status, body } = await postForm([['file', makeFile(name, content)]]);
  if (status !== 202) throw new Error(`Answered ${status}: ${JSON.stringify(body)}`);
  expect(body.file_name).toBe(name);
  await runner.run();
  expect((await runner.job(body._id)).status).toBe('succeeded');
  return (await runner.model.asked()).map(({ messages }) => messages[1]?.content).join('\n');
}

const readRefusal = async (name: string, content: FileContent): Promise<string[]> =>
  readInvalidFields(await postForm([['file', makeFile(name, content)]]));

describe('the file of a generation of concepts', () => {
  it('may be a Word document', async () => {
    const promptText = await readPromptText(
      'Glossário.DOCX',
      makeWordDocument('Churn & Ticket <médio>', 'Second paragraph.'),
    );
    expect(promptText).toContain('Churn & Ticket <médio>\nSecond paragraph.');
    expect(promptText).not.toContain('w:t');
  });

  it('may be a workbook', async () => {
    const promptText = await readPromptText(
      'terms.xlsx',
      makeWorkbook('Terms', [
        ['term', 'count'],
        ['Churn & more', 42],
      ]),
    );
    expect(promptText).toContain('Terms\nterm\tcount\nChurn & more\t42');
  });

  it.each([
    [
      'tables.docx',
      makeWordDocumentFromXml([
        splitParagraph('Above'),
        formatTable(['Top left', 'Top right'], ['Bottom left', 'Bottom right']),
      ]),
      'Above\nTop left\nTop right\nBottom left\nBottom right\n',
    ],
    ['text-box.docx', makeWordDocumentFromXml([formatTextBox('Datum plane')]), '>\nDatum plane\n\n\n</data'],
    [
      'footnotes.docx',
      makeWordDocumentFromXml(
        [formatNotedParagraph('Ouch.', 1), formatNotedParagraph('Again.', 2)],
        ['A tachyon walks into a bar.', 'Fin.'],
      ),
      'Ouch.\nAgain.\n\nA tachyon walks into a bar.\nFin.\n',
    ],
    [
      'marked.docx',
      addByteOrderMarks(makeWordDocument('This XML has a byte order mark.')),
      'This XML has a byte order mark.\n',
    ],
    [
      'written.xlsx',
      writeWorkbook({
        Values: [
          ['Text', 'I am text'],
          ['Number', 3.14],
          ['Date', new Date('2016-05-17T00:00:00Z')],
          ['Formula', { t: 's', f: 'B1', v: 'I am text' }],
        ],
        More: [['BEGIN', 'END']],
      }),
      'Values\nText\tI am text\nNumber\t3.14\nDate\t2016-05-17\nFormula\tI am text\n\nMore\nBEGIN\tEND',
    ],
  ])('may be written as office programs write it: %s', async (name, content, text) => {
    expect(await readPromptText(name, content)).toContain(text);
  });

  it.each(['terms.csv', 'terms.tsv', 'terms.txt', 'terms.md'])('may be plain text: %s', async (name) => {
    expect(await readPromptText(name, '# Açúcar,definition')).toContain('# Açúcar,definition');
  });

  it('may have an encoding other than UTF-8', async () => {
    expect(await readPromptText('a.txt', new Uint8Array([0x41, 0xe7, 0xfa]))).toContain('Açú');
    expect(await readPromptText('b.txt', new Uint8Array([0xff, 0xfe, 0x41, 0, 0xe7, 0]))).toContain('Aç');
    expect(await readPromptText('c.txt', `\ufeffAção`)).toContain('\nAção');
  });

  it('may come with text and business domains', async () => {
    const { status, body } = await postForm([
      ['business_domains', 'two'],
      ['text', 'Written by hand.'],
      ['file', makeFile('a.txt', 'From the file.')],
    ]);
    expect([status, body.business_domains]).toEqual([202, ['two']]);
    await runner.run();
    const promptText = (await runner.model.asked())[0]?.messages[1]?.content;
    expect(promptText).toContain('Written by hand.\n\nFrom the file.');
  });

  it('may be omitted, even by a form with an empty file field', async () => {
    const { status, body } = await postForm([
      ['business_domains', 'one'],
      ['business_domains', 'two'],
      ['file', makeFile('', '')],
    ]);
    expect([status, body.business_domains, body.file_name]).toEqual([202, ['one', 'two'], null]);
    await runner.run();
  });

  it('may have up to 10 MiB', async () => {
    const { status, body } = await postForm([['file', makeFile('big.txt', 'word '.repeat((10 * MIB_BYTES) / 5))]]);
    expect(status).toBe(202);
    expect(body.total_count).toBeGreaterThan(400);
    await ownerCaller.post(`${KNOWLEDGE_PATH}/jobs/${body._id}/cancel`);
    const largeAnswer = await postForm([['file', makeFile('big.txt', new Uint8Array(10 * MIB_BYTES + 1).fill(65))]]);
    expect(readStatusAndCode(largeAnswer)).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    const hugeAnswer = await postForm([['file', makeFile('big.txt', new Uint8Array(12 * MIB_BYTES).fill(65))]]);
    expect(readStatusAndCode(hugeAnswer)).toEqual([413, 'PAYLOAD_TOO_LARGE']);
  });

  it.each([
    [10, 400, 'BAD_REQUEST'],
    [12, 413, 'PAYLOAD_TOO_LARGE'],
  ])('in a malformed form of %i MiB is refused with %i', async (size, status, code) => {
    const body = new Uint8Array(size * MIB_BYTES).fill(65);
    body.set(new TextEncoder().encode('--b then text\r\n'));
    const headers = { 'content-type': 'multipart/form-data; boundary=b' };
    expect(readStatusAndCode(await ownerCaller.post(JOBS_PATH, { body, headers, env: runner.env }))).toEqual([
      status,
      code,
    ]);
  });

  it.each(['terms.pdf', 'terms', 'terms.docx.exe', 'terms.doc', 'terms.xls', 'csv'])(
    'is refused with the file name %s',
    async (name) => {
      expect(await readRefusal(name, 'text')).toEqual(['file']);
    },
  );

  it('is refused together with a second file', async () => {
    const twoFilesAnswer = await postForm([
      ['file', makeFile('a.txt', 'a')],
      ['file', makeFile('b.txt', 'b')],
    ]);
    expect(readInvalidFields(twoFilesAnswer)).toEqual(['file']);
  });

  it('is refused together with unknown form fields, and under a field name other than its own', async () => {
    const unknownFieldAnswer = await postForm([
      ['file', makeFile('a.txt', 'a')],
      ['other', makeFile('b.txt', 'b')],
      ['busines_domains', 'one'],
    ]);
    expect(readInvalidFields(unknownFieldAnswer)).toEqual(['other', 'busines_domains']);
    expect(unknownFieldAnswer.body.details[0]).toMatchObject({
      reason: 'unknown',
      message: 'is not a field of this request',
    });
    expect(readInvalidFields(await postForm([['document', makeFile('a.txt', 'a')]]))).toEqual(['document']);
  });

  it.each([
    ['empty', 'a.txt', ''],
    ['without text', 'a.csv', ' \n\n '],
    ['binary', 'a.txt', new Uint8Array([1, 0, 2, 0, 0, 3])],
    ['no archive', 'a.docx', 'This is no Word document.'],
    ['no archive', 'a.xlsx', 'term,count'],
    ['a workbook named as a document', 'a.docx', makeWorkbook('S', [['x']])],
    ['a document named as a workbook', 'a.xlsx', makeWordDocument('x')],
    ['cut off', 'a.docx', makeWordDocument('x'.repeat(500)).slice(0, 400)],
    ['cut off', 'a.xlsx', makeWorkbook('S', [['x']]).slice(0, 600)],
    ['a document without words', 'a.docx', makeWordDocument('', '')],
    ['far larger when unpacked', 'a.docx', makeZipBomb(64 * MIB_BYTES)],
  ] as [string, string, FileContent][])('is refused when it is %s: %s', async (_, name, content) => {
    expect(await readRefusal(name, content)).toEqual(['file']);
  });

  it('is refused as a text field, and so is a text that is sent as a file', async () => {
    expect(readInvalidFields(await postForm([['file', 'terms.csv']]))).toEqual(['file']);
    expect(readInvalidFields(await postForm([['text', makeFile('a.txt', 'a')]]))).toEqual(['text']);
  });

  it('is refused together with a text that is sent twice', async () => {
    const answer = await postForm([
      ['file', makeFile('a.txt', 'a')],
      ['text', 'first'],
      ['text', 'second'],
    ]);
    expect(answer.body.details).toEqual([{ field: 'text', message: 'must be sent once', reason: 'too_many' }]);
    expect(answer.status).toBe(422);
  });

  it('is refused in a truncated multipart body, and so is a text that is too long', async () => {
    const headers = { 'content-type': 'multipart/form-data; boundary=x' };
    const answer = await ownerCaller.post(JOBS_PATH, {
      body: '--x\r\nContent-Disposition: form-data; name="te',
      headers,
      env: runner.env,
    });
    expect(answer.status).toBe(400);
    const text = await postForm([['text', 'x'.repeat(100_001)]]);
    expect(readInvalidFields(text)).toEqual(['text']);
  });

  /** Creates a bucket that stores the texts of form files only after `goOn`, and a function that sends such a form. */
  function createBlockingBucket() {
    const { promise: mayStore, resolve: goOn } = Promise.withResolvers<void>();
    const blockingBucket = { stored: 0, goOn, begin: sendFile };
    const put = async (...callArguments: Parameters<R2Bucket['put']>) => {
      blockingBucket.stored += 1;
      await mayStore;
      return env.FILES.put(...callArguments);
    };
    const variables = { ...runner.env, FILES: { put } } as unknown as Record<string, string>;
    function sendFile(caller: Company['as']) {
      const form = new FormData();
      form.append('file', makeFile('a.txt', 'one'));
      return caller.post(JOBS_PATH, { body: form, env: variables });
    }
    return blockingBucket;
  }

  it('is read only after the text of the previous file is stored', async () => {
    const blockingBucket = createBlockingBucket();
    const other = await createOwnedCompany();
    await other.as.put(`${KNOWLEDGE_PATH}/business-domains`, {
      json: { business_domains: [{ key: 'one', name: 'one' }] },
    });
    const [first, second] = [blockingBucket.begin(ownerCaller), blockingBucket.begin(other.as)];
    await expect.poll(() => blockingBucket.stored).toBe(1);
    await scheduler.wait(100);
    expect(blockingBucket.stored).toBe(1);
    blockingBucket.goOn();
    expect([(await first).status, (await second).status, blockingBucket.stored]).toEqual([202, 202, 2]);
  });

  it('is refused with 503 when too many files wait for memory', async () => {
    const blockingBucket = createBlockingBucket();
    const answers = Array.from({ length: 5 }, () => blockingBucket.begin(ownerCaller));
    const firstAnswer = await Promise.race(answers);
    expect(readStatusAndCode(firstAnswer)).toEqual([503, 'SERVICE_UNAVAILABLE']);
    expect(firstAnswer.headers.get('retry-after')).toBe('5');
    blockingBucket.goOn();
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 503)).toHaveLength(1);
  });
});
