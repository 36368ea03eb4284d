import type { ViewPlace } from '../../presentation/viewing.ts';

/** The number of columns of a dashboard's grid, unless its layout is wider. */
const STANDARD_COLUMNS = 12;
/** The maximum number of columns: a wider layout is scaled down. */
const MAX_COLUMNS = 48;
/** The maximum height of a card, in rows. */
const MAX_CARD_ROWS = 40;

/** The cards on a grid of bounded size, in reading order. */
export interface Arrangement {
  columnCount: number;
  places: ViewPlace[];
}

/** Makes a layout drawable: cards do not overlap, none is wider or higher than a page allows, no row is empty. */
export function arrangeCards(layout: readonly ViewPlace[]): Arrangement {
  const layoutColumnCount = Math.max(STANDARD_COLUMNS, ...layout.map(({ x, w }) => x + w));
  const scale = Math.min(1, MAX_COLUMNS / layoutColumnCount);
  const columns = Math.min(layoutColumnCount, MAX_COLUMNS);
  const places: ViewPlace[] = [];
  for (const place of layout.toSorted((a, b) => a.y - b.y || a.x - b.x)) {
    const w = Math.max(1, Math.round(place.w * scale));
    const scaledPlace = {
      ...place,
      x: Math.min(Math.floor(place.x * scale), columns - w),
      w,
      h: Math.min(place.h, MAX_CARD_ROWS),
    };
    for (
      let overlappingPlace = findOverlap(scaledPlace, places);
      overlappingPlace;
      overlappingPlace = findOverlap(scaledPlace, places)
    )
      scaledPlace.y = overlappingPlace.y + overlappingPlace.h;
    places.push(scaledPlace);
  }
  return { columnCount: columns, places: removeEmptyRows(places).toSorted((a, b) => a.y - b.y || a.x - b.x) };
}

function findOverlap(place: ViewPlace, otherPlaces: readonly ViewPlace[]): ViewPlace | undefined {
  return otherPlaces.find(
    (other) =>
      place.x < other.x + other.w &&
      other.x < place.x + place.w &&
      place.y < other.y + other.h &&
      other.y < place.y + place.h,
  );
}

/** Removes the empty rows: the cards below them move up. */
function removeEmptyRows(places: readonly ViewPlace[]): ViewPlace[] {
  let bottom = 0;
  let emptyRowCount = 0;
  const movedPlaces: ViewPlace[] = [];
  for (const place of places.toSorted((a, b) => a.y - b.y)) {
    emptyRowCount += Math.max(0, place.y - bottom);
    bottom = Math.max(bottom, place.y + place.h);
    movedPlaces.push({ ...place, y: place.y - emptyRowCount });
  }
  return movedPlaces;
}
