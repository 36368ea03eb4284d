import type { ViewPlace } from '../../kernel/viewing.ts';

/** Columns of a dashboard, unless something stands further to the right. */
const COLUMNS = 12;
/** Finer grids are drawn on this many columns. */
const MAX_COLUMNS = 48;
/** The highest card, in rows. */
const MAX_HEIGHT = 40;

/** Cards on a grid whose size is bounded, in the order in which one reads it. */
export interface Arrangement {
  columns: number;
  places: ViewPlace[];
}

/**
 * Places as a page can draw them, whatever an author wrote: none over another (the later one moves down), none wider or
 * higher than anyone can see, no rows that all are empty.
 */
export function arrange(layout: readonly ViewPlace[]): Arrangement {
  const asked = Math.max(COLUMNS, ...layout.map(({ x, w }) => x + w));
  const scale = Math.min(1, MAX_COLUMNS / asked);
  const columns = Math.min(asked, MAX_COLUMNS);
  const places: ViewPlace[] = [];
  for (const place of layout.toSorted((a, b) => a.y - b.y || a.x - b.x)) {
    const w = Math.max(1, Math.round(place.w * scale));
    const next = {
      ...place,
      x: Math.min(Math.floor(place.x * scale), columns - w),
      w,
      h: Math.min(place.h, MAX_HEIGHT),
    };
    for (let other = inTheWay(next, places); other; other = inTheWay(next, places)) next.y = other.y + other.h;
    places.push(next);
  }
  return { columns, places: withoutEmptyRows(places).toSorted((a, b) => a.y - b.y || a.x - b.x) };
}

function inTheWay(place: ViewPlace, others: readonly ViewPlace[]): ViewPlace | undefined {
  return others.find(
    (other) =>
      place.x < other.x + other.w &&
      other.x < place.x + place.w &&
      place.y < other.y + other.h &&
      other.y < place.y + place.h,
  );
}

/** The places, with all that stands below rows that nothing stands on moved up. */
function withoutEmptyRows(places: readonly ViewPlace[]): ViewPlace[] {
  let bottom = 0;
  let empty = 0;
  const moved: ViewPlace[] = [];
  for (const place of places.toSorted((a, b) => a.y - b.y)) {
    empty += Math.max(0, place.y - bottom);
    bottom = Math.max(bottom, place.y + place.h);
    moved.push({ ...place, y: place.y - empty });
  }
  return moved;
}
