import type { ViewBranding } from '../../presentation/viewing.ts';
import { h } from '../dom.ts';
import { type ChartColours, makeTheme, type Scheme, STANDARD_CHART_COLOURS } from './theme.ts';

/** The colours of charts in the brand of the page, by colour scheme. */
let chartsByScheme: Record<Scheme, ChartColours> = STANDARD_CHART_COLOURS;

export const getChartColours = (scheme: Scheme): ChartColours => chartsByScheme[scheme];

/** Reads the brand that the server put into the page; an empty brand if there is none. */
export const readPageBranding = (): ViewBranding =>
  JSON.parse(document.getElementById('branding')?.textContent ?? '{}') as ViewBranding;

let appliedBrand: ViewBranding = {};

/** Shows the page in a brand's colours. */
export function applyBranding(brand: ViewBranding): void {
  appliedBrand = brand;
  applyTheme(brand);
}

/** Applies the brand on a white background for printing; with false, restores the page's own theme. */
export function applyPrintBranding(isPrinted: boolean): void {
  const { style, dataset } = document.documentElement;
  if (isPrinted) {
    const { background: _background, text_color: _textColour, ...onWhite } = appliedBrand;
    dataset.print = dataset.theme ?? '';
    for (const name of Object.keys(makeTheme(appliedBrand).properties)) style.removeProperty(name);
    applyTheme(onWhite);
    dataset.theme = 'light';
  } else {
    if (dataset.print) dataset.theme = dataset.print;
    else delete dataset.theme;
    delete dataset.print;
    applyTheme(appliedBrand);
  }
}

function applyTheme(brand: ViewBranding): void {
  const { style, dataset } = document.documentElement;
  const { scheme, properties, chartColours: charts } = makeTheme(brand);
  if (scheme !== undefined) {
    dataset.theme = scheme;
    // Its colours are read on its own background only, also within another page.
    dataset.ownGround = '';
  }
  for (const [name, value] of Object.entries(properties)) style.setProperty(name, value);
  if (brand.font !== undefined) dataset.font = brand.font;
  if (brand.radius !== undefined) style.setProperty('--radius', `${brand.radius}px`);
  chartsByScheme = charts;
}

/** Builds the company's logo, or its name if the brand has no logo; undefined if the brand has neither. */
export function buildLogo({ name, logo_url: logo }: ViewBranding): HTMLElement | undefined {
  if (logo !== undefined) {
    // The page's own origin serves it, whatever the system is called outside.
    return h('img', { class: 'mark', src: new URL(logo, location.href).pathname, alt: name ?? '' });
  }
  return name === undefined ? undefined : h('span', { class: 'mark' }, name);
}
