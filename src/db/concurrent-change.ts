import { defineFailure } from '../kernel/failure.ts';

const ATTEMPTS = 3;

/** Others change the same thing, again and again. */
export const concurrentChange = defineFailure('request.concurrent_change', {
  kind: 'conflict',
  detail: { message: 'Others are changing the same thing at this moment. Try again.' },
  says: {
    organization: 'AlreadyExists',
    console: 'CONFLICT',
    sharing: 'CONFLICT',
    'managed-tables': { message: 'Outras pessoas estão alterando o mesmo recurso agora. Tente novamente.' },
  },
});

/**
 * Repeats a read and the write that depends on it until nothing changed in between.
 * @param attempt answers undefined when its write found something else than it had read
 */
export async function retryOnConcurrentChange<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (let count = 0; count < ATTEMPTS; count += 1) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw concurrentChange();
}
