import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CopyRequest, CopyResponse } from './copy.ts';
import { type Guard, removeGuard } from './guard.ts';
import { type RemovalOutcome, startTests } from './tests.ts';

// The process of a copy of the project, in whose folder it is started: see `copy.ts`.
const projectFolder = process.cwd();
const testRunner = await startTests(projectFolder);
process.on('message', async (question: CopyRequest) => process.send?.(await answerQuestion(question)));
process.once('disconnect', async () => {
  await testRunner.close();
  process.exit();
});

async function answerQuestion(question: CopyRequest): Promise<CopyResponse> {
  if ('without' in question) return runWithoutGuard(question.without);
  const findProblem = await testRunner.findUnfitGuards(question.unfit);
  return { problems: question.unfit.map((guard) => findProblem(guard) ?? null) };
}

async function runWithoutGuard(guard: Guard): Promise<RemovalOutcome> {
  const path = join(projectFolder, guard.file);
  const source = readFileSync(path, 'utf8');
  try {
    writeFileSync(path, removeGuard(guard, source));
    return await testRunner.testRemovedGuard(guard);
  } catch (error) {
    return { failure: (error as Error).message };
  } finally {
    writeFileSync(path, source);
  }
}
