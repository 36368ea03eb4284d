import { Places } from '../../../platform/places.ts';
import { tooManyFiles } from './failures.ts';

/**
 * A file of 10 MiB takes some 70 MB while its text is taken out and stored, of the 128 MB that an isolate has: it reads one at a
 * time.
 */
const places = new Places({ places: 1, waiting: 20, waitMs: 20_000, placeMs: 60_000 });

/**
 * Does work that holds the text of a file.
 * @throws Failure where too many others wait to
 */
export async function inReadingPlace<T>(work: () => Promise<T>): Promise<T> {
  const leave = await places.take();
  if (!leave) throw tooManyFiles();
  try {
    return await work();
  } finally {
    leave();
  }
}
