import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ViewPlace } from '../../src/presentation/viewing.ts';
import { arrange } from '../../src/web/dashboard/arrange.ts';

const place = (x: number, y: number, w: number, h: number, visualization_id = 'v'): ViewPlace => ({
  visualization_id,
  x,
  y,
  w,
  h,
});

const places = fc.array(
  fc.tuple(...[0, 0, 1, 1].map((min) => fc.oneof(fc.integer({ min, max: 14 }), fc.integer({ min, max: 10_000 })))),
  { maxLength: 50 },
);

describe('the arrangement of a dashboard’s cards on a page', () => {
  it('is the layout of the author if a page can draw it', () => {
    const layout = [place(0, 0, 6, 4), place(6, 0, 6, 4), place(0, 4, 12, 3)];
    expect(arrange(layout)).toEqual({ columns: 12, places: layout });
    expect(arrange([])).toEqual({ columns: 12, places: [] });
    expect(arrange([place(0, 0, 18, 2)]).columns).toBe(18);
  });

  it('moves down a card that lies on another, and up a card with nothing above it', () => {
    const { places: arranged } = arrange([place(0, 7, 4, 2, 'a'), place(0, 7, 4, 2, 'b'), place(4, 400, 4, 2, 'c')]);
    expect(arranged).toEqual([place(0, 0, 4, 2, 'a'), place(0, 2, 4, 2, 'b'), place(4, 4, 4, 2, 'c')]);
  });

  it('has every card once, within a bounded grid, none over another', () => {
    fc.assert(
      fc.property(places, (given) => {
        const layout = given.map(([x, y, w, h], at) => place(x ?? 0, y ?? 0, w ?? 1, h ?? 1, String(at)));
        const { columns, places: arranged } = arrange(layout);
        expect(columns).toBeLessThanOrEqual(48);
        expect(arranged.map(({ visualization_id: id }) => Number(id)).sort((a, b) => a - b)).toEqual(
          layout.map((_each, at) => at),
        );
        for (const [at, a] of arranged.entries()) {
          expect(a.x >= 0 && a.w >= 1 && a.x + a.w <= columns && a.y + a.h <= 50 * 40).toBe(true);
          for (const b of arranged.slice(at + 1)) {
            expect(a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h).toBe(false);
          }
        }
      }),
    );
  });
});
