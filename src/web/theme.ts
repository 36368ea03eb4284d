/** The colour scheme follows the viewer's system, unless the page's address says `?theme=light` or `dark`. */

const asked = new URLSearchParams(location.search).get('theme');
if (asked === 'light' || asked === 'dark') document.documentElement.dataset.theme = asked;

/** Calls `repaint` when the scheme changes while the page is open. */
export function followScheme(repaint: () => void): void {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', repaint);
}
