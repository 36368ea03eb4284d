import { expect, vi } from 'vitest';
import type { Company } from '../support/companies.ts';

export const EVENTS_PATH = '/api/v1/share-events';

/** Waits until the events of a query have exactly these types, in any order. */
export async function expectTypes({ as }: Pick<Company, 'as'>, query: string, types: string[]) {
  let foundEvents: Record<string, unknown>[] = [];
  await vi.waitFor(
    async () => {
      const { body } = await as.get(`${EVENTS_PATH}?per_page=100&${query}`);
      foundEvents = body.records;
      expect(foundEvents.map(({ type }) => type).sort()).toEqual([...types].sort());
    },
    { timeout: 10_000, interval: 250 },
  );
  return foundEvents;
}
