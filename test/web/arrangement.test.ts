import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ViewPlace } from '../../src/presentation/viewing.ts';
import { arrangeCards } from '../../src/web/dashboard/arrangement.ts';

const makePlace = (x: number, y: number, w: number, h: number, visualization_id = 'v'): ViewPlace => ({
  visualization_id,
  x,
  y,
  w,
  h,
});

const arbitraryPlaces = fc.array(
  fc.tuple(...[0, 0, 1, 1].map((min) => fc.oneof(fc.integer({ min, max: 14 }), fc.integer({ min, max: 10_000 })))),
  { maxLength: 50 },
);

describe('the arrangement of a dashboard’s cards on a page', () => {
  it('is the layout of the author if a page can draw it', () => {
    const layout = [makePlace(0, 0, 6, 4), makePlace(6, 0, 6, 4), makePlace(0, 4, 12, 3)];
    expect(arrangeCards(layout)).toEqual({ columnCount: 12, places: layout });
    expect(arrangeCards([])).toEqual({ columnCount: 12, places: [] });
    expect(arrangeCards([makePlace(0, 0, 18, 2)]).columnCount).toBe(18);
  });

  it('moves down a card that lies on another, and up a card with nothing above it', () => {
    const { places: arrangedPlaces } = arrangeCards([
      makePlace(0, 7, 4, 2, 'a'),
      makePlace(0, 7, 4, 2, 'b'),
      makePlace(4, 400, 4, 2, 'c'),
    ]);
    expect(arrangedPlaces).toEqual([
      makePlace(0, 0, 4, 2, 'a'),
      makePlace(0, 2, 4, 2, 'b'),
      makePlace(4, 4, 4, 2, 'c'),
    ]);
  });

  it('has every card once, within a bounded grid, none over another', () => {
    fc.assert(
      fc.property(arbitraryPlaces, (randomPlaces) => {
        const layout = randomPlaces.map(([x, y, w, h], at) => makePlace(x ?? 0, y ?? 0, w ?? 1, h ?? 1, String(at)));
        const { columnCount: columns, places: arrangedPlaces } = arrangeCards(layout);
        expect(columns).toBeLessThanOrEqual(48);
        expect(arrangedPlaces.map(({ visualization_id: id }) => Number(id)).sort((a, b) => a - b)).toEqual(
          layout.map((_each, at) => at),
        );
        for (const [at, a] of arrangedPlaces.entries()) {
          expect(a.x >= 0 && a.w >= 1 && a.x + a.w <= columns && a.y + a.h <= 50 * 40).toBe(true);
          for (const b of arrangedPlaces.slice(at + 1)) {
            expect(a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h).toBe(false);
          }
        }
      }),
    );
  });
});
