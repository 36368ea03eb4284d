import type { CompanyContext } from '../../context.ts';
import { Places } from '../../platform/places.ts';

/**
 * An isolate's connections to one company under the reader's login, which has forty: a burst waits in the isolate, where
 * it costs nothing, instead of failing at the database. Viewers have at most 24 (see `ViewerGate`).
 */
const LIMITS = { places: 36, waiting: 1_000, waitMs: 15_000, placeMs: 60_000 };

const byCompany = new Map<string, Places>();

export function readerPlaces({ actor: { companyId } }: CompanyContext): Places {
  for (const [id, places] of byCompany) if (places.isIdle) byCompany.delete(id);
  let places = byCompany.get(companyId);
  if (!places) {
    places = new Places(LIMITS);
    byCompany.set(companyId, places);
  }
  return places;
}
