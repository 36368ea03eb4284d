/** The colour scheme follows the viewer's system, unless the page's address says `?theme=light` or `dark`. */

const requestedTheme = new URLSearchParams(location.search).get('theme');
if (requestedTheme === 'light' || requestedTheme === 'dark') document.documentElement.dataset.theme = requestedTheme;

/** Calls `repaint` when the scheme changes while the page is open. */
export function followScheme(repaint: () => void): void {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', repaint);
}

/** Takes another scheme while the page is open, unless its brand has one; null for that of the viewer's system. */
export function setScheme(theme: unknown): void {
  const { dataset } = document.documentElement;
  if (dataset.ownGround !== undefined) return;
  if (theme === 'light' || theme === 'dark') dataset.theme = theme;
  else delete dataset.theme;
}
