import { h, labelButton } from '../dom.ts';
import { LOCALE, TEXTS } from '../texts.ts';

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];
const COPIED_MS = 2_000;

/** The age of a page's results, with buttons that run it again and copy the page's address. */
export interface Freshness {
  element: HTMLElement;
  /** Says the age of the results (ms); undefined while there are none. */
  showAge(age: number | undefined): void;
}

/** @param isOwnPage whether the address that the browser shows is this page's */
export function freshness(runAgain: () => void, isOwnPage: boolean): Freshness {
  let since: number | undefined;
  let timer: ReturnType<typeof setInterval> | undefined;
  // A new age is nothing to interrupt a screen reader for.
  const ago = h('span', { class: 'ago' });
  const at = h('span', { class: 'at' });
  const again = h('button', { type: 'button', class: 'quiet icon again', onclick: runAgain });
  labelButton(again, TEXTS.runAgain);
  const copy = h('button', { type: 'button', class: 'quiet', onclick: () => void copyAddress() }, TEXTS.copyLink);
  // Browsers let pages copy only where nobody listens on the way.
  copy.hidden = !isOwnPage || !navigator.clipboard;
  const said = h('p', {}, ago, at);
  const element = h('div', { class: 'freshness' }, said, again, copy);

  function say(): void {
    if (!element.isConnected || since === undefined) clearInterval(timer);
    else ago.textContent = updatedText(Date.now() - since);
  }

  async function copyAddress(): Promise<void> {
    await navigator.clipboard.writeText(location.href);
    copy.textContent = TEXTS.copied;
    setTimeout(() => (copy.textContent = TEXTS.copyLink), COPIED_MS);
  }

  return {
    element,
    showAge(age) {
      clearInterval(timer);
      since = age === undefined ? undefined : Date.now() - age;
      said.hidden = again.hidden = since === undefined;
      if (since === undefined) return;
      const time = new Date(since).toLocaleString(LOCALE, { dateStyle: 'medium', timeStyle: 'short' });
      at.textContent = ago.title = TEXTS.asOf(time);
      ago.textContent = updatedText(age as number);
      timer = setInterval(say, MINUTE / 4);
    },
  };
}

function updatedText(age: number): string {
  if (age < MINUTE) return TEXTS.updatedNow;
  const ago = (unit: Intl.RelativeTimeFormatUnit, size: number) =>
    TEXTS.updated(new Intl.RelativeTimeFormat(LOCALE).format(-Math.floor(age / size), unit));
  if (age < HOUR) return ago('minute', MINUTE);
  return age < DAY ? ago('hour', HOUR) : ago('day', DAY);
}
