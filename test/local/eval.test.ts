import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const QUESTIONS_FILE = `${[
  { question: 'How much?', kind: 'answer', rows: [[1]] },
  { question: 'How many?', kind: 'answer', rows: [[2]] },
  { question: 'How old?', kind: 'answer', rows: [[3]] },
  { question: 'Who?', kind: 'refusal' },
]
  .map((eachQuestion) => JSON.stringify(eachQuestion))
  .join('\n')}\n`;

/** The answers of a company's API, by question. */
const API_ANSWERS: Record<string, object> = {
  'How much?': { kind: 'answer', result: { rows: [[1]] }, explanation: 'Much.' },
  'How many?': { kind: 'answer', result: { rows: [[7]] }, explanation: 'Many.' },
  'How old?': { kind: 'refusal', result: null, explanation: 'Nothing fits.' },
  'Who?': { kind: 'refusal', result: null, explanation: 'Nothing fits.' },
};

describe('npm run eval', () => {
  let server: Server;
  let folder: string;
  let apiAnswers = API_ANSWERS;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'data-console-eval-'));
    await writeFile(join(folder, 'questions.ndjson'), QUESTIONS_FILE);
    server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      const answer =
        request.headers.authorization === 'Bearer the-token' ? apiAnswers[JSON.parse(body).question] : undefined;
      const status = answer ? 200 : 503;
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer ?? { error: 'AI_PROVIDER_NOT_CONFIGURED', message: 'No AI provider.' }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true, force: true });
  });

  const runEval = (...options: string[]) => {
    const EVAL_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const env = { ...process.env, EVAL_URL, EVAL_TOKEN: 'the-token' };
    return new Promise<{ code: number; output: string }>((resolve) => {
      execFile(process.execPath, ['eval/run.ts', ...options], { env }, (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), output: stdout + stderr }),
      );
    });
  };

  it('prints which answers were right, refused and wrong, and fails if any was wrong', async () => {
    const { code, output } = await runEval('--questions', join(folder, 'questions.ndjson'));
    expect(output).toContain('wrong    How many?\n         answer: Many.');
    expect(output).toContain('refused  How old?\n         refusal: Nothing fits.');
    expect(output).toContain('4 questions: 2 right, 1 refused, 1 wrong.');
    expect(code).toBe(1);
    apiAnswers = { ...API_ANSWERS, 'How many?': { kind: 'refusal', result: null, explanation: '' } };
    expect(await runEval('--questions', join(folder, 'questions.ndjson'))).toMatchObject({ code: 0 });
    apiAnswers = API_ANSWERS;
  });

  it('requires a file of questions', async () => {
    expect(await runEval()).toMatchObject({ code: 1, output: expect.stringContaining('--questions FILE') });
  });
});
