import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { ApiError, createClient, withKey, withToken } from '../client/client.ts';
import { Problem, runCommand } from '../operations/problem.ts';
import { type Judgement, judge, parseQuestions, type SystemAnswer } from './judge.ts';

/** Retries of a request: rate limits count by the minute, and a missing provider is not waited for long. */
const RETRY_COUNT = 2;

const USAGE = `npm run eval -- --questions FILE
  Asks the questions of FILE and prints how many were answered right, refused and wrong. FILE holds a question in each line,
  as eval/demo.ndjson does. Asks the demo of \`npm start\`, started with AI_API_KEY; any other company with EVAL_URL, the
  address of its API, and EVAL_TOKEN, a session or service token.`;

/** Makes a client for the company and the caller that the demo file names. */
async function createDemoClient(demoFile: string) {
  const { EVAL_URL: url, EVAL_TOKEN: token } = process.env;
  if (url && token) return createClient({ baseUrl: url, credential: withToken(token), retries: RETRY_COUNT });
  const text = await readFile(demoFile, 'utf8').catch(() => {
    throw new Problem(`There is no demo at ${demoFile}: run npm start, or set EVAL_URL and EVAL_TOKEN.`);
  });
  const { base_url, service_account } = JSON.parse(text);
  return createClient({ baseUrl: base_url, credential: withKey(service_account), retries: RETRY_COUNT });
}

await runCommand(async () => {
  const options = { questions: { type: 'string' }, demo: { type: 'string', default: '.local/demo.json' } } as const;
  const { values } = parseArgs({ options });
  if (values.questions === undefined) throw new Problem(USAGE);
  const questions = parseQuestions(await readFile(values.questions, 'utf8'));
  const api = await createDemoClient(values.demo);
  const counts: Record<Judgement, number> = { right: 0, refused: 0, wrong: 0 };
  for (const evalQuestion of questions) {
    const body = { question: evalQuestion.question };
    const answer = await api.post('/api/v1/domain-knowledge/ask', { body }).catch((error: unknown) => {
      throw error instanceof ApiError
        ? new Problem(`"${evalQuestion.question}" was answered ${error.status}: ${error.message}`)
        : error;
    });
    const judgement = judge(evalQuestion, answer as SystemAnswer);
    counts[judgement] += 1;
    if (judgement !== 'right')
      console.log(`${judgement.padEnd(9)}${evalQuestion.question}\n         ${answer.kind}: ${answer.explanation}`);
  }
  const { right, refused, wrong } = counts;
  console.log(`${questions.length} questions: ${right} right, ${refused} refused, ${wrong} wrong.`);
  if (wrong > 0) process.exitCode = 1;
});
