import { Failure } from '../kernel/failure.ts';

const ATTEMPTS = 3;

/**
 * Repeats a read and the write that depends on it until nothing changed in between.
 * @param attempt answers undefined when its write found something else than it had read
 * @throws Failure `request.overtaken` after three attempts
 */
export async function unlessOvertaken<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (let count = 0; count < ATTEMPTS; count += 1) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new Failure('conflict', 'request.overtaken', {
    message: 'Others are changing the same at this moment. Try again.',
  });
}
