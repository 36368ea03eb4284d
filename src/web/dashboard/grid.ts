import type { ViewChart, ViewPlace } from '../../presentation/viewing.ts';
import { h } from '../dom.ts';
import { arrangeCards } from './arrangement.ts';
import { buildWidget, type CardOptions, type Widget } from './widget.ts';

export interface Grid {
  element: HTMLElement;
  /** All cards with their visualizations. A visualization may have several cards. */
  cards: { visualizationId: string; widget: Widget }[];
  /** Arranges the cards for paper, or restores the previous arrangement: a cut table gets the whole width on paper. */
  setPrinted(isPrinted: boolean): void;
}

/** The height of an A4 page in pixels; a higher card does not fit on one page. */
const PAGE_HEIGHT_PIXELS = 1031;
/** The maximum height of a card in rows of paper, which fit on a Letter page; only a higher content makes a card higher. */
const MAX_PAPER_ROWS = 11;

/**
 * Builds a grid of cards. On a narrow page they stand below each other, in the reading order of the wide page. Visualizations
 * without a place come last, over the whole width. @param isBare whether to leave out the names of cards, as the page shows them
 * already
 */
export function buildGrid(
  layout: readonly ViewPlace[],
  charts: readonly ViewChart[],
  isBare: boolean,
  options: CardOptions = {},
): Grid {
  const chartsById = new Map(charts.map((chart) => [chart.visualization_id, chart]));
  const { columnCount: columns, places } = arrangeCards(
    layout.filter(({ visualization_id: id }) => chartsById.has(id)),
  );
  const placedIds = new Set(places.map(({ visualization_id: id }) => id));
  const element = h('div', { class: 'grid' });
  element.style.setProperty('--columns', String(columns));
  const cards: Grid['cards'] = [];
  const placedCards: PlacedCard[] = [];
  function addCard(visualizationId: string): Widget {
    const widget = buildWidget(chartsById.get(visualizationId) as ViewChart, isBare, options);
    cards.push({ visualizationId, widget });
    element.append(widget.element);
    return widget;
  }
  for (const place of places) placedCards.push({ place, widget: addCard(place.visualization_id) });
  for (const id of chartsById.keys()) if (!placedIds.has(id)) addCard(id);
  placeCards(placedCards);

  function arrangeForPrint(isPrinted: boolean): void {
    const cutWidgets = new Set(isPrinted ? cards.flatMap(({ widget }) => (widget.isCut() ? widget : [])) : []);
    const focusedElement = document.activeElement;
    if (isPrinted) {
      const paperCards = placedCards.map(({ place, widget }) => ({
        widget,
        place: { ...place, h: Math.min(place.h, MAX_PAPER_ROWS) },
      }));
      const bands = splitBands(paperCards).flatMap((band) =>
        band.some(({ widget }) => cutWidgets.has(widget)) ? splitLines(band, cutWidgets, columns) : [band],
      );
      element.replaceChildren(
        ...bands.map((band) => {
          placeCards(band);
          return h('div', { class: 'band' }, ...band.map(({ widget }) => widget.element));
        }),
        ...cards.slice(placedCards.length).map(({ widget }) => widget.element),
      );
    } else {
      placeCards(placedCards);
      element.replaceChildren(...cards.map(({ widget }) => widget.element));
    }
    for (const { widget } of cards) {
      widget.setPrinted(isPrinted);
      widget.element.toggleAttribute('data-whole', cutWidgets.has(widget));
    }
    for (const { widget } of cards) {
      widget.element.toggleAttribute('data-long', isPrinted && widget.element.offsetHeight > PAGE_HEIGHT_PIXELS);
    }
    if (focusedElement instanceof HTMLElement && focusedElement.isConnected)
      focusedElement.focus({ preventScroll: true });
  }
  return { element, cards, setPrinted: arrangeForPrint };
}

interface PlacedCard {
  place: ViewPlace;
  widget: Widget;
}

function placeCards(cards: readonly PlacedCard[]): void {
  for (const { place, widget } of cards) {
    const { x, y, w, h: height } = place;
    widget.element.style.setProperty('--column', `${x + 1} / span ${w}`);
    widget.element.style.setProperty('--row', `${y + 1} / span ${height}`);
  }
}

/** Splits the grid into bands so that no card reaches beyond its band. A card's row is counted from the top of its band. */
function splitBands(cards: readonly PlacedCard[]): PlacedCard[][] {
  const { places } = arrangeCards(cards.map(({ place }, at) => ({ ...place, visualization_id: String(at) })));
  const bands: PlacedCard[][] = [];
  let [top, bottom] = [0, 0];
  for (const place of places) {
    if (place.y >= bottom) {
      top = place.y;
      bands.push([]);
    }
    bottom = Math.max(bottom, place.y + place.h);
    const { widget } = cards[Number(place.visualization_id)] as PlacedCard;
    bands.at(-1)?.push({ widget, place: { ...place, y: place.y - top } });
  }
  return bands;
}

/** Splits a band into full lines of cards in reading order; a cut table has a line of its own. */
function splitLines(band: readonly PlacedCard[], cutWidgets: ReadonlySet<Widget>, columnCount: number): PlacedCard[][] {
  const lines: PlacedCard[][] = [];
  let freeColumnCount = 0;
  for (const card of band) {
    const isCut = cutWidgets.has(card.widget);
    if (isCut || card.place.w > freeColumnCount) {
      lines.push([]);
      freeColumnCount = columnCount;
    }
    lines.at(-1)?.push(card);
    freeColumnCount = isCut ? 0 : freeColumnCount - card.place.w;
  }
  return lines.map((line) => {
    const total = line.reduce((sum, { place }) => sum + place.w, 0);
    let end = 0;
    return line.map(({ widget, place }) => {
      const x = Math.round((end * columnCount) / total);
      end += place.w;
      return { widget, place: { ...place, x, y: 0, w: Math.round((end * columnCount) / total) - x } };
    });
  });
}
