/** Something that the operator can mend: its message says what to do next, and no stack is shown. */
export class Problem extends Error {
  override name = 'Problem';
}

/** Runs a command's work: a `Problem`, or options that nobody knows, end it with a message and exit code 1. */
export async function runCommand(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Problem || isAboutOptions(error))) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}

/** `parseArgs` did not understand what was typed. */
const isAboutOptions = (error: unknown): error is Error =>
  error instanceof Error && String((error as NodeJS.ErrnoException).code).startsWith('ERR_PARSE_ARGS');
