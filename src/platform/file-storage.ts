import { defineFailure } from '../kernel/failure.ts';
import { awaitWithinTime } from '../kernel/time-limit.ts';

/** The file storage failed, or did not answer in time. */
export const storageUnavailable = defineFailure('storage.unavailable', 'unavailable', {
  message: 'Files cannot be stored at the moment. Nothing was stored; try again later.',
  portuguese: 'Não é possível armazenar arquivos no momento. Nada foi armazenado.',
  detail: { retryAfter: 30 },
  console: 'STORAGE_UNAVAILABLE',
  'managed-tables': 'STORAGE_UNAVAILABLE',
});

/** The longest time for one storage call of a request. Milliseconds. */
const MAX_STORING_MS = 15_000;

/** Waits for a call that stores a file of a request. @throws storageUnavailable */
export const waitForStorage = <T>(call: Promise<T>): Promise<T> =>
  awaitWithinTime(MAX_STORING_MS, call).catch((error: unknown) => {
    throw storageUnavailable().addCause(error);
  });
