import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Answer, Question } from './copy.ts';
import { type Guard, removeGuard } from './guard.ts';
import { type Outcome, openTests } from './tests.ts';

// The process of a copy of the project, in whose folder it is started: see `copy.ts`.
const folder = process.cwd();
const tests = await openTests(folder);
process.on('message', async (question: Question) => process.send?.(await answerQuestion(question)));
process.once('disconnect', async () => {
  await tests.close();
  process.exit();
});

async function answerQuestion(question: Question): Promise<Answer> {
  if ('without' in question) return runWithoutGuard(question.without);
  const unfit = await tests.unfit(question.unfit);
  return { problems: question.unfit.map((guard) => unfit(guard) ?? null) };
}

async function runWithoutGuard(guard: Guard): Promise<Outcome> {
  const path = join(folder, guard.file);
  const source = readFileSync(path, 'utf8');
  try {
    writeFileSync(path, removeGuard(guard, source));
    return await tests.outcome(guard);
  } catch (error) {
    return { failure: (error as Error).message };
  } finally {
    writeFileSync(path, source);
  }
}
