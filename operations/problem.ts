/** Problem that the person at the command can solve: its message says what to do next, and no stack is printed. */
export class Problem extends Error {
  override name = 'Problem';
}

/** Returns true if the work succeeds, false if it fails for any reason. */
export const isSuccessful = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

/** Runs a command. A `Problem` or unknown options end it with a message and exit code 1. */
export async function runCommand(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Problem || isOptionsError(error))) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}

/** Returns true if `parseArgs` refused the options. */
const isOptionsError = (error: unknown): error is Error =>
  error instanceof Error && String((error as NodeJS.ErrnoException).code).startsWith('ERR_PARSE_ARGS');
