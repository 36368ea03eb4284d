/** The colour scheme in the page's address, `?theme=light` or `dark`; without one, the viewer's system decides. */

const requestedTheme = new URLSearchParams(location.search).get('theme');
if (requestedTheme === 'light' || requestedTheme === 'dark') document.documentElement.dataset.theme = requestedTheme;

/** Calls `repaint` when the scheme changes while the page is open. */
export function followScheme(repaint: () => void): void {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', repaint);
}

/** Changes the colour scheme while the page is open, unless the brand sets one; null means the scheme of the viewer's system. */
export function setScheme(theme: unknown): void {
  const { dataset } = document.documentElement;
  if (dataset.ownGround !== undefined) return;
  if (theme === 'light' || theme === 'dark') dataset.theme = theme;
  else delete dataset.theme;
}
