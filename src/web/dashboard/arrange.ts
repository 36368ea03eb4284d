import type { ViewPlace } from '../../presentation/viewing.ts';

/** The columns of a dashboard's grid, unless its layout is wider. */
const COLUMNS = 12;
/** A layout with more columns is scaled to this many. */
const MAX_COLUMNS = 48;
/** The highest card, in rows. */
const MAX_HEIGHT = 40;

/** Cards on a grid of bounded size, in reading order. */
export interface Arrangement {
  columns: number;
  places: ViewPlace[];
}

/** Makes a layout drawable: cards do not overlap, none is wider or higher than a page allows, no row is empty. */
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
    for (let other = findOverlap(next, places); other; other = findOverlap(next, places)) next.y = other.y + other.h;
    places.push(next);
  }
  return { columns, places: withoutEmptyRows(places).toSorted((a, b) => a.y - b.y || a.x - b.x) };
}

function findOverlap(place: ViewPlace, others: readonly ViewPlace[]): ViewPlace | undefined {
  return others.find(
    (other) =>
      place.x < other.x + other.w &&
      other.x < place.x + place.w &&
      place.y < other.y + other.h &&
      other.y < place.y + place.h,
  );
}

/** Removes the empty rows: the cards below them move up. */
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
